import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type ShellStream,
  writtenParts,
  type WrittenSince,
} from "../../src/driver/sources/shells/written_parts.ts";

/** What was written, a write each, and what is known of it. */
function since(
  writes: readonly (readonly [ShellStream, string])[],
  { known = true }: { readonly known?: boolean } = {},
): { readonly text: string; readonly since: WrittenSince } {
  const ends = { stdout: 0, stderr: 0 };
  let text = "";
  for (const [stream, piece] of writes) {
    text += piece;
    ends[stream] = text.length;
  }
  const runs = known ? { runs: writes.map(([stream]) => stream) } : {};
  const lineEnds = (to: number) =>
    [...text.slice(0, to)].flatMap((letter, index) => letter === "\n" ? [index + 1] : []);
  return { text, since: { from: 0, size: text.length, ...ends, ...runs, lineEnds } };
}

/** The parts as texts. */
function textsOf(...given: Parameters<typeof since>): readonly (readonly [string, string])[] {
  const { text, since: facts } = since(...given);
  let from = 0;
  return writtenParts(facts).map(({ end, stream = "either" }) => {
    const part = text.slice(from, end);
    from = end;
    return [stream, part] as const;
  });
}

const OUT = "stdout";
const ERR = "stderr";

Deno.test("writtenParts() knows what one stream alone has written", () => {
  for (const known of [true, false]) {
    assertEquals(textsOf([[OUT, "a"], [OUT, "b\n"]], { known }), [[OUT, "ab\n"]]);
    assertEquals(textsOf([[ERR, "a"]], { known }), [[ERR, "a"]]);
  }
  assertEquals(textsOf([]), []);
});

Deno.test("writtenParts() knows two turns, and the last of many", () => {
  assertEquals(textsOf([[OUT, "a"], [OUT, "b"], [ERR, "c"]]), [[OUT, "ab"], [ERR, "c"]]);
  assertEquals(textsOf([[ERR, "a"], [OUT, "b"], [OUT, "c"]]), [[ERR, "a"], [OUT, "bc"]]);
  assertEquals(textsOf([[OUT, "a"], [ERR, "b"], [OUT, "c"]]), [["either", "ab"], [OUT, "c"]]);
  const two = [[OUT, "a"], [ERR, "b"]] as const;
  assertEquals(textsOf(two, { known: false }), [["either", "a"], [ERR, "b"]]);
});

Deno.test("writtenParts() knows many turns of a line each", () => {
  const lines = [[OUT, "a\n"], [ERR, "b\n"], [OUT, "c\n"], [ERR, "d"]] as const;
  assertEquals(textsOf(lines), lines.map((line) => [...line]));
  const more = [[OUT, "a\nb\n"], [ERR, "c\n"], [OUT, "d\n"]] as const;
  assertEquals(textsOf(more), [["either", "a\nb\nc\n"], [OUT, "d\n"]]);
});

Deno.test("writtenParts() knows no positions of who opened the file a third time, but lines", () => {
  const { since: facts } = since([[ERR, "a\n"], [OUT, "b\n"]]);
  assertEquals(writtenParts({ ...facts, stderr: 0 }), [
    { end: 2, stream: ERR },
    { end: 4, stream: OUT },
  ]);
  const { since: long } = since([[ERR, "a\na\n"], [OUT, "b\n"]]);
  assertEquals(writtenParts({ ...long, stderr: 0 }), [{ end: 6 }]);
});

Deno.test("writtenParts() gives no stream what another has written, as long as turns are whole lines", () => {
  const line = fc.tuple(fc.constantFrom<ShellStream>(OUT, ERR), fc.constantFrom("a\n", "bc\n"));
  fc.assert(fc.property(fc.array(line), (writes) => {
    const { text, since: facts } = since(writes);
    const owners = writes.flatMap(([stream, piece]) => [...piece].map(() => stream));
    let from = 0;
    for (const { end, stream } of writtenParts(facts)) {
      if (stream !== undefined) {
        assertEquals(owners.slice(from, end).every((owner) => owner === stream), true);
      }
      from = end;
    }
    assertEquals(from, text.length);
  }));
});
