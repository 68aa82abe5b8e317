import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { encodeTape } from "../../../src/cassette/record/encode_cassette.ts";
import { parseTape } from "../../../src/cassette/read/parse_tape.ts";

const options = { path: "run/tape.jsonl" };

Deno.test("a tape is written and read again without loss", () => {
  const tape = [
    { at: 0.125, frame: { type: "system", subtype: "init", nested: { "\u2028": [1, null] } } },
    { at: 1e6, frame: { type: "result", result: "é\n" } },
  ];
  assertEquals(parseTape(encodeTape(tape), options), tape);
  assertEquals(parseTape("", options), []);
});

Deno.test("a damaged tape is refused by the line", () => {
  const good = '{"at":1,"frame":{"type":"system"}}\n';
  for (
    const [text, what] of [
      ["{", "line 1 of run/tape.jsonl: it was cut short"],
      [`${good}{\n`, "line 2 of run/tape.jsonl: it is not JSON"],
      [`${good}{"at":1,"frame":{}}\n`, "line 2 of run/tape.jsonl: it is no frame with its time"],
      [`${good}${good}[]\n`, "line 3 of run/tape.jsonl: it is no frame with its time"],
    ] as const
  ) {
    const error = assertThrows(() => parseTape(text, options), CliError);
    assertEquals(error.message, `Cannot read ${what}`);
  }
});
