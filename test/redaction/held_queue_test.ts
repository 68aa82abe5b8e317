import { assertEquals } from "@std/assert";
import { createHeldQueue } from "../../src/redaction/held_queue.ts";

/** A piece that is known once it is settled. */
function piece(redacted: string) {
  let isKnown = false;
  return {
    get redacted() {
      return isKnown ? redacted : undefined;
    },
    settle: () => {
      isKnown = true;
    },
  };
}

Deno.test("items go out in their order, as soon as those before them are known", () => {
  const out: string[] = [];
  const queue = createHeldQueue<string>((item) => void out.push(item));
  queue.add("a");
  assertEquals(out, ["a"]);
  const held = piece("b");
  queue.addMade(held, (text) => `${text}!`);
  queue.add("c");
  assertEquals(out, ["a"]);
  held.settle();
  queue.add("d");
  assertEquals(out, ["a", "b!", "c", "d"]);
  queue.addMade(piece(""), () => undefined);
  queue.addMade(piece("e"), (text) => text);
  queue.end();
  assertEquals(out, ["a", "b!", "c", "d", "e"]);
});

Deno.test("no more than some items wait for a piece", () => {
  const out: number[] = [];
  const queue = createHeldQueue<number>((item) => void out.push(item));
  queue.addMade(piece(""), () => 0);
  for (let item = 1; item < 2000; item++) queue.add(item);
  assertEquals(out, []);
  queue.add(2000);
  assertEquals(out.length, 2001);
});
