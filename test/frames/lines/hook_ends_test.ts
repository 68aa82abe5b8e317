import { assertEquals } from "@std/assert";
import { behindSubagents, besideEachOther } from "../../../src/frames/lines/hook_ends.ts";
import type { Frame } from "../../../src/wire/frame.ts";

/** Frames by short names: `+Pre` and `-Pre` are the start and the end of a hook, `!` is what one says to the user. */
function framesOf(names: string): readonly Frame[] {
  return names.split(" ").map((name) => {
    const [mark, hook_name] = [name[0], name.slice(1)];
    const subtype = mark === "+" ? "hook_started" : "hook_response";
    const frame = "+-".includes(mark ?? "")
      ? { type: "system", subtype, hook_name }
      : name === "!"
      ? { type: "system", subtype: "informational" }
      : name.startsWith("task_")
      ? { type: "system", subtype: name }
      : { type: name };
    return frame as Frame;
  });
}

function ordered(names: string, order = besideEachOther): string {
  return order(framesOf(names)).map((frame) => {
    const { type, subtype, hook_name: name } = frame as Readonly<Record<string, unknown>>;
    if (subtype === "informational") return "!";
    if (`${subtype}`.startsWith("task_")) return subtype;
    return name === undefined ? type : `${subtype === "hook_started" ? "+" : "-"}${name}`;
  }).join(" ");
}

Deno.test("besideEachOther() starts all hooks of an event before the first ends, and tells what they say behind", () => {
  for (
    const [told, expected] of [
      ["assistant +P -P ! +P -P ! user", "assistant +P +P -P -P ! ! user"],
      ["+P -P +P -P +P -P", "+P +P +P -P -P -P"],
      ["+P -P +Q -Q +Q -Q", "+P -P +Q +Q -Q -Q"],
      // The model is told in between what a Stop hook has said.
      ["+Stop -Stop user +Stop -Stop", "+Stop +Stop -Stop user -Stop"],
      // Each has said it by the time that the next one ends.
      ["+Stop -Stop ! +Stop -Stop !", "+Stop +Stop -Stop ! -Stop !"],
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

Deno.test("behindSubagents() tells that a subagent is over before the hooks that are run behind its call", () => {
  const pre = "assistant +PreToolUse:Agent -PreToolUse:Agent";
  const post = "+PostToolUse:Agent +PostToolUse:Agent -PostToolUse:Agent -PostToolUse:Agent";
  const over = "task_updated task_notification";
  for (
    const [told, expected] of [
      [`${pre} ${post} ! ${over} user !`, `${pre} ${over} ${post} ! user !`],
      [`${post} ${over} user ${post} ${over} user`, `${over} ${post} user ${over} ${post} user`],
      [`${over} ${post} user`, `${over} ${post} user`],
      [`${post} user ${over} user`, `${post} user ${over} user`],
      [`${pre} ! ${over} user`, `${pre} ! ${over} user`],
      ["+PostToolUse:Bash -PostToolUse:Bash task_notification user"].flatMap((one) => [one, one]),
    ]
  ) assertEquals(ordered(told ?? "", behindSubagents), expected);
});
