import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { createLineSplitter } from "../../../src/transcript/files/line_splitter.ts";
import { readRecording, recordingNames } from "../recording.ts";

const TEXT = '{"a":"é😀"}\n\n日本\r\n\ufeff{"b":1}\nrest ü';
const LINES = ['{"a":"é😀"}', "", "日本\r", '\ufeff{"b":1}'];

Deno.test("createLineSplitter: cuts alike at every split of the bytes", () => {
  const bytes = new TextEncoder().encode(TEXT);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const splitter = createLineSplitter();
      const lines = [
        bytes.subarray(0, first),
        bytes.subarray(first, second),
        bytes.subarray(second),
      ].flatMap(splitter.push);
      assertEquals(lines, LINES);
      assertEquals(splitter.remainder(), "rest ü");
    }
  }
});

Deno.test("createLineSplitter: gives the lines of a recorded transcript however it is chunked", () => {
  for (const name of recordingNames().filter((name) => name.endsWith("/bash"))) {
    const { transcript } = readRecording(name);
    const expected = new TextDecoder().decode(transcript).split("\n").slice(0, -1);
    fc.assert(fc.property(fc.array(fc.nat(transcript.length), { maxLength: 50 }), (cuts) => {
      const splitter = createLineSplitter();
      const places = [0, ...cuts.sort((a, b) => a - b), transcript.length];
      const lines = places.flatMap((place, index) =>
        splitter.push(transcript.subarray(places[index - 1] ?? 0, place))
      );
      assertEquals(lines, expected);
      assertEquals(splitter.remainder(), "");
    }));
  }
});

Deno.test("createLineSplitter: keeps what it was given when the caller reuses the buffer", () => {
  const splitter = createLineSplitter();
  const buffer = new TextEncoder().encode("ab");
  splitter.push(buffer);
  buffer.fill(0x58);
  assertEquals(splitter.push(new TextEncoder().encode("c\n")), ["abc"]);
});

Deno.test("createLineSplitter: replaces invalid UTF-8 and goes on", () => {
  const splitter = createLineSplitter();
  assertEquals(splitter.push(Uint8Array.of(0x61, 0xff, 0x0a, 0x62, 0x0a)), ["a\ufffd", "b"]);
});
