import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { eventReader, type ServerSentEvent } from "../../src/relay/event_stream.ts";

const encoder = new TextEncoder();

function read(...pieces: readonly string[]): readonly ServerSentEvent[] {
  const reader = eventReader();
  return pieces.flatMap((piece) => reader(encoder.encode(piece)));
}

Deno.test("eventReader() reads names, data of several lines, and skips what is neither", () => {
  assertEquals(read(": remark\nevent: a\nid: 1\ndata: x\ndata:y\ndata\n\n\ndata:  z\n\n"), [
    { name: "a", data: "x\ny\n" },
    { name: "message", data: " z" },
  ]);
  assertEquals(read("event: a\n\ndata: x"), []);
});

Deno.test("eventReader() takes every end of a line, however it is cut", () => {
  const events = [{ name: "a", data: "é 👩‍👩‍👧‍👦" }, { name: "message", data: "2" }];
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = ["event: a", "data: é 👩‍👩‍👧‍👦", "", "data: 2", "", ""].join(end);
    const bytes = encoder.encode(text);
    fc.assert(fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const reader = eventReader();
      const read = places.slice(1).flatMap((to, index) =>
        reader(bytes.subarray(places[index], to))
      );
      assertEquals(read, events);
    }));
  }
});
