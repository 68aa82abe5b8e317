import { assertEquals } from "@std/assert";
import { createHeldStreams } from "../../../src/cassette/record/held_streams.ts";

/** Streams whose pieces are known once they are settled, and which were begun. */
function streams() {
  const begun: (string | undefined)[] = [];
  const settled: string[] = [];
  const held = createHeldStreams((tool) => {
    begun.push(tool);
    return (text) => ({ redacted: undefined, settle: () => void settled.push(text) });
  });
  return { ...held, begun, settled };
}

function event(event: Readonly<Record<string, unknown>>) {
  return { type: "stream_event", session_id: "s", parent_tool_use_id: "p", event };
}

Deno.test("a text comes to its end with its block, and another of that place begins anew", () => {
  const { take, heed, begun, settled } = streams();
  const stream = "frame s p 1 partial_json";
  const block = { type: "tool_use", name: "Bash" };
  heed(event({ type: "content_block_start", index: 1, content_block: block }));
  take({ stream, text: "one" });
  take({ stream: "frame s p 2 text", text: "other" });
  take({ stream, text: "two" });
  heed(event({ type: "content_block_stop", index: 1 }));
  take({ stream, text: "three" });
  assertEquals([begun, settled], [["Bash", undefined, undefined], ["two"]]);
});

Deno.test("of very many texts that never end those are let go that began first", () => {
  const { take, begun, settled } = streams();
  for (let number = 0; number < 3000; number++) take({ stream: `${number}`, text: `${number}` });
  assertEquals([begun.length, settled.length, settled.at(-1)], [3000, 1000, "999"]);
  take({ stream: "1000", text: "more" });
  assertEquals(begun.length, 3000);
});
