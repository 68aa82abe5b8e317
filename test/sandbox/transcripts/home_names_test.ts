import { assertEquals } from "@std/assert";
import { homeNames, named, namedPortions } from "../../../src/sandbox/transcripts/home_names.ts";

const ID = "0b5e3a52-5a2f-4c41-9a55-3a0f5f6a1d11";
const NAMES = homeNames({ from: "/run/.claude", to: "/home", given: new Map([[ID, "given"]]) });

Deno.test("namedPortions() names what named() does, wherever a portion ends", () => {
  const quoting = {
    uuid: ID,
    parentUuid: ID,
    text: `He says: "${ID}`,
    path: "/run/.claude/projects/x",
  };
  const bytes = new TextEncoder().encode(`${JSON.stringify(quoting)}\n`.repeat(2));
  const expected = new TextDecoder().decode(named(bytes, NAMES));
  assertEquals(
    expected,
    `${
      JSON.stringify({ ...quoting, uuid: "given", parentUuid: "given", path: "/home/projects/x" })
    }\n`
      .repeat(2),
  );
  for (let full = 1; full <= bytes.length + 1; full++) {
    const portions: Uint8Array<ArrayBuffer>[] = [];
    for (let from = 0; from <= bytes.length; from += full) {
      portions.push(bytes.slice(from, from + full));
    }
    const decoder = new TextDecoder();
    const said = [...namedPortions(portions, { names: NAMES, full })]
      .map((each) => decoder.decode(each, { stream: true })).join("");
    assertEquals(said, expected, `${full} bytes a portion`);
  }
});
