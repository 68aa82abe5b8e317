import { assert, assertEquals } from "@std/assert";
import { eventReader, type ServerSentEvent } from "../../../src/recording/relay/event_stream.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import { createSecretScrubber } from "../../../src/recording/redaction/redact_pieces.ts";
import { runToEnd } from "../../../src/recording/relay/exchange_folder.ts";
import { scrubEventStream } from "../../../src/recording/relay/scrub_exchange.ts";
import { createEventRedactor } from "../../../src/recording/relay/event_lines.ts";
import fc from "fast-check";

const encoder = new TextEncoder();

function read(...pieces: readonly string[]): readonly ServerSentEvent[] {
  const reader = eventReader();
  return pieces.flatMap((piece) => reader(encoder.encode(piece)));
}

Deno.test("events have a name and lines of data", () => {
  assertEquals(read(": remark\nevent: a\nid: 1\ndata: x\ndata:y\ndata\n\n\ndata:  z\n\n"), [
    { name: "a", data: "x\ny\n" },
    { name: "message", data: " z" },
  ]);
  assertEquals(read("event: a\n\ndata: x"), []);
});

Deno.test("every kind of line end works wherever it is cut", () => {
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

const SECRET = "swordfish-42";
const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: SECRET } });

const delta = (index: number, type: string, text: string) =>
  `event: content_block_delta\r\ndata: ${
    JSON.stringify({ type: "content_block_delta", index, delta: { type: "d", [type]: text } })
  }\r\n\r\n`;
const STREAM = [
  'event: message_start\ndata: {"type":"message_start","message":{"id":"swordfish-42"}}\n\n',
  ": a comment\n\n",
  delta(0, "thinking", "It is swor"),
  delta(1, "partial_json", '{"door":"swordfish'),
  delta(0, "thinking", "dfi"),
  delta(0, "thinking", "sh-42, says ü"),
  'data: {"type":"content_block_stop","index":0}\n\n',
  delta(1, "partial_json", '-42"}'),
  'data: {"type":"content_block_stop","index":1}\n\n',
  "data: no JSON\n\n",
].join("");

/** Checks that a stream that arrives in pieces of a size is scrubbed like the complete stream. */
function assertLive(
  stream: string,
  size: number,
  { redact, check = () => {}, ...options }: {
    readonly redact: (text: string) => string;
    readonly openFrom: (text: string) => number;
    readonly waits?: number;
    readonly check?: (known: string) => void;
  },
) {
  let [before, after] = ["", ""];
  const decoder = new TextDecoder();
  const { push, end } = createEventRedactor({
    redact,
    ...options,
    take: (one, other) => {
      before += decoder.decode(one);
      after += decoder.decode(other);
    },
  });
  const bytes = encoder.encode(stream);
  for (let at = 0; at < bytes.length; at += size) {
    push(bytes.subarray(at, at + size));
    check(after);
  }
  end();
  const whole = runToEnd(scrubEventStream(stream, createSecretScrubber(redact))).map(([, after]) =>
    after
  );
  assertEquals([before, after], [stream, whole.join("")]);
}

for (const size of [1, 7, 64, 10_000]) {
  Deno.test(`pieces of ${size} bytes: long waits show no secret`, () => {
    const redact = (text: string) => text.replaceAll("sk-secret", "[redacted]");
    const stream = delta(0, "text", "It is s") + delta(0, "text", "k-sec") +
      delta(0, "text", "ret, and ") + delta(0, "text", "so on. ".repeat(100)) +
      delta(0, "text", "Not s") + delta(0, "text", "k-") +
      'data: {"type":"content_block_stop","index":0}\n\ndata: it is cut off, sk-secret';
    assertLive(stream, size, { redact, openFrom: () => Infinity, waits: 64 });
  });

  Deno.test(`pieces of ${size} bytes: no secret ever shows`, () => {
    assertLive(STREAM, size, {
      redact,
      openFrom,
      check: (known) => assert(!known.includes("swor"), known),
    });
  });
}
