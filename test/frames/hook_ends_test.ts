import { assertEquals } from "@std/assert";
import { besideEachOther } from "../../src/frames/hook_ends.ts";
import type { Frame } from "../../src/wire/frame.ts";

/** Frames by short names: `+Pre` and `-Pre` are the start and the end of a hook, `!` is what one says to the user. */
function framesOf(names: string): readonly Frame[] {
  return names.split(" ").map((name) => {
    const [mark, hook_name] = [name[0], name.slice(1)];
    const subtype = mark === "+" ? "hook_started" : "hook_response";
    const frame = "+-".includes(mark ?? "")
      ? { type: "system", subtype, hook_name }
      : name === "!"
      ? { type: "system", subtype: "informational" }
      : { type: name };
    return frame as Frame;
  });
}

function ordered(names: string): string {
  return besideEachOther(framesOf(names)).map((frame) => {
    const { type, subtype, hook_name: name } = frame as Readonly<Record<string, unknown>>;
    if (subtype === "informational") return "!";
    return name === undefined ? type : `${subtype === "hook_started" ? "+" : "-"}${name}`;
  }).join(" ");
}

Deno.test("besideEachOther() starts all hooks of an event before the first ends, and tells what they say behind", () => {
  for (
    const [told, expected] of [
      ["assistant +P -P ! +P -P ! user", "assistant +P +P -P -P ! ! user"],
      ["+P -P +P -P +P -P", "+P +P +P -P -P -P"],
      ["+P -P +Q -Q +Q -Q", "+P -P +Q +Q -Q -Q"],
      // 2.1.197 tells the model in between what a Stop hook has said.
      ["+Stop -Stop user +Stop -Stop", "+Stop +Stop -Stop user -Stop"],
    ] as const
  ) assertEquals(ordered(told), expected);
});

Deno.test("besideEachOther() leaves hooks alone that did not run side by side", () => {
  for (
    const told of [
      "+P -P",
      "+P -P user +P -P",
      "+Stop -Stop assistant +Stop -Stop",
      "+P -P ! assistant ! user",
    ]
  ) assertEquals(ordered(told), told);
});
