import { assertEquals, assertThrows } from "@std/assert";
import { encodeTape } from "../../../../fixtures/encode_whole.ts";
import { CliError } from "../../../../src/cli_error.ts";
import type { TapeEntry } from "../../../../src/recording/cassette/cassette_format.ts";
import { parseTape, readTape } from "../../../../src/recording/cassette/read/read_tape.ts";

const options = { path: "run/tape.jsonl" };

Deno.test("a tape is written and read again without loss", () => {
  const tape: readonly TapeEntry[] = [
    { at: 0, dir: "write", data: '{"type":"user","é":"\u2028"}\n' },
    {
      at: 0.125,
      dir: "read",
      frame: { type: "system", subtype: "init", nested: { "\u2028": [1, null] } },
    },
    { at: 1e6, dir: "read", frame: { type: "result", result: "é\n\x85👩‍💻\ud800" } },
  ];
  assertEquals(parseTape(encodeTape(tape), options), tape);
  assertEquals(parseTape("", options), []);
});

Deno.test("a tape is written in ASCII", () => {
  const text = encodeTape([{ at: 1, dir: "read", frame: { type: "é\u2028\u2029\x85\x7f👩" } }]);
  assertEquals(
    text,
    '{"dir":"read","at":1,"frame":{"type":"\\u00e9\\u2028\\u2029\\u0085\\u007f\\ud83d\\udc69"}}\n',
  );
});

Deno.test("all three forms of tape lines are read", () => {
  const lines = [
    '{"dir": "write", "data": "{}\\n"}',
    '{"dir": "read", "frame": {"type": "system"}, "at": 2.5}',
    "",
    '{"dir": "write", "data": "no JSON"}',
    '{"at":3,"frame":{"type":"assistant"}}',
    '{"type":"result","frame":1,"at":"then","__proto__":{"polluted":true}}',
  ];
  const tape = parseTape(lines.join("\n"), options);
  assertEquals(tape.map(({ at, dir }) => [at, dir]), [
    [0, "write"],
    [2.5, "read"],
    [2.5, "write"],
    [3, "read"],
    [3, "read"],
  ]);
  const last = tape.at(-1);
  assertEquals(last?.dir === "read" && Object.hasOwn(last.frame, "__proto__"), true);
  assertEquals("polluted" in {}, false);
});

Deno.test("a damaged tape is refused by the line", () => {
  const good = '{"dir":"read","at":1,"frame":{"type":"system"}}\n';
  const strange = "it is neither a frame nor a line of the caller";
  const rows = [
    ["{", "line 1 of run/tape.jsonl: it was cut short"],
    [`${good}{\n`, "line 2 of run/tape.jsonl: it is not JSON"],
    [`${good}{"at":1,"frame":{}}\n`, `line 2 of run/tape.jsonl: ${strange}`],
    [`${good}\n${good}[]\n`, `line 4 of run/tape.jsonl: ${strange}`],
    ['{"dir":"read","type":"system"}\n', `line 1 of run/tape.jsonl: ${strange}`],
    ['{"dir":"write","data":{}}\n', `line 1 of run/tape.jsonl: ${strange}`],
    ['{"dir":"up","data":""}\n', `line 1 of run/tape.jsonl: ${strange}`],
    [
      `{"type":"x","a":${"[".repeat(600)}${"]".repeat(600)}}\n`,
      "line 1 of run/tape.jsonl: it is nested too deeply",
    ],
  ] as const;
  for (const [text, what] of rows) {
    const error = assertThrows(() => parseTape(text, options), CliError);
    assertEquals(error.message, `Cannot read ${what}`);
  }
});

Deno.test("impossible times count as missing", () => {
  const lines = ["5", "1e999", "-1", "1e300", '"7"', "6"]
    .map((at) => `{"dir":"write","data":"","at":${at}}\n`);
  assertEquals(parseTape(lines.join(""), options).map(({ at }) => at), [5, 5, 5, 5, 5, 6]);
});

Deno.test("a tape that is too large is refused", () => {
  const path = Deno.makeTempFileSync();
  try {
    const line = '{"dir":"write","data":"hello"}\n';
    Deno.writeTextFileSync(path, line.repeat(3));
    assertEquals(readTape(path, { largest: 3 * line.length })?.length, 3);
    const error = assertThrows(() => readTape(path, { largest: 3 * line.length - 1 }), CliError);
    assertEquals(error.message, `Cannot read ${path}: it is larger than 0.000092 MB`);
    assertEquals(readTape(`${path}.gone`), undefined);
  } finally {
    Deno.removeSync(path);
  }
});
