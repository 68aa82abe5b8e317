import { assertEquals } from "@std/assert";
import { serverEvents } from "../../../src/serve/asking/server_events.ts";

/** What comes of a stream in pieces of so many bytes. */
async function eventsIn(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from(
    { length: Math.ceil(bytes.length / size) },
    (_, at) => bytes.slice(at * size, (at + 1) * size),
  );
  return await Array.fromAsync(serverEvents(ReadableStream.from(pieces)));
}

Deno.test("events are taken from a stream, wherever it is cut", async () => {
  const text = ': hello\n\nid: 1\ndata: {"a":"ü"}\n\nevent: end\r\ndata:x\r\ndata: y\r\n\r\n' +
    "id: 2\n\ndata\n\ndata: cut off";
  const expected = [
    { id: "1", event: "message", data: '{"a":"ü"}' },
    { id: "1", event: "end", data: "x\ny" },
    { id: "2", event: "message", data: "" },
  ];
  for (const size of [1, 2, 3, 7, 1000]) assertEquals(await eventsIn(text, size), expected);
});
