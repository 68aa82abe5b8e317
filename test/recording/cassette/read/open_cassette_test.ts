import { assert, assertEquals, assertThrows } from "@std/assert";
import { makeFifo } from "../../../../ffi/descriptors/pipe.ts";
import {
  openConversation,
  openForReplay,
  openRereadable,
} from "../../../../src/recording/cassette/read/open_cassette.ts";
import { surveyCassette } from "../../../../src/recording/cassette/read/survey_cassette.ts";
import { replayCassette } from "../../../../src/recording/cassette/replay_cassette.ts";
import { readTurns } from "../../../../src/recording/cassette/recorded_turns.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { readExchanges } from "../../../../src/recording/relay/exchange_folder.ts";
import { tempFolder } from "../../../temp_folder.ts";
import { readCassette, RECORDED_RUNS } from "../recorded_runs.ts";

const RUNS = new URL("../../../../fixtures/recordings/runs/2.1.332/", import.meta.url).pathname;

/** Some parts of a recorded run, as files below a folder. */
function partsOf(run: string, names: readonly string[], below = ""): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [`${below}${name}`, Deno.readTextFileSync(`${RUNS}${run}/${name}`)]),
  );
}

/** The error for a folder with these files, without its path. */
function refusal(files: Readonly<Record<string, string>>, open: (folder: string) => unknown) {
  using folder = tempFolder(files);
  const { message, suggestion } = assertThrows(() => open(folder.path), CliError);
  assert(suggestion !== undefined);
  return message.replaceAll(folder.path, "it");
}

Deno.test("openConversation() opens the cast or tape of each child", () => {
  using elsewhere = tempFolder(partsOf("tools", ["child.cast"]));
  using folder = tempFolder({
    ...partsOf("conversation", ["child.cast", "meta.json"]),
    ...partsOf("resumed", ["child.cast", "tape.jsonl"], "2/"),
    ...partsOf("answer", ["tape.jsonl"], "3/"),
  });
  // A link leads out of the folder.
  Deno.symlinkSync(elsewhere.path, `${folder.path}/4`);
  const { meta, children } = openConversation(folder.path);
  assertEquals(meta?.claude_code, "2.1.332");
  const found = children.map((child) =>
    "cast" in child ? readTurns(child.cast).turns.length : child.tape.length > 0
  );
  assertEquals(found, [4, 1, true]);
});

Deno.test("openConversation() opens a tape alone", () => {
  const [child, ...more] = openConversation(`${RUNS}conversation/tape.jsonl`).children;
  assertEquals([child !== undefined && "tape" in child && child.tape.length > 0, more], [true, []]);
});

Deno.test("openConversation() says why a folder is no recording", () => {
  const cast = partsOf("answer", ["child.cast"]);
  const rows: readonly (readonly [Readonly<Record<string, string>>, string, string])[] = [
    [{}, "/none", "Cannot read it/none: it has neither child.cast nor tape.jsonl"],
    [cast, "/child.cast", "it is neither a frame nor a line of the caller"],
    [{ ...cast, "meta.json": '{"format":99}' }, "", "says that it is of format 99"],
    [{ ...cast, "meta.json": "[".repeat(100_000) }, "", "it does not say what the cassette is"],
    [{ "child.cast": cast["child.cast"]?.slice(0, -10) ?? "" }, "", "it was cut short"],
    [{ "child.cast": "" }, "", "the header is missing"],
  ];
  const read = (path: string) => {
    for (const child of openConversation(path).children) {
      if ("cast" in child) readTurns(child.cast);
    }
  };
  for (const [files, below, why] of rows) {
    const message = refusal(files, (folder) => read(`${folder}${below}`));
    assert(message.includes(why), message);
  }
  using folder = tempFolder();
  makeFifo(`${folder.path}/child.cast`);
  assertThrows(() => read(folder.path), CliError, "Cannot read");
});

Deno.test("a missing cast, a FIFO and later formats are refused", () => {
  assertEquals(refusal({}, readCassette), "Cannot read it/child.cast: it does not exist");
  using folder = tempFolder();
  makeFifo(`${folder.path}/child.cast`);
  assertThrows(() => readCassette(folder.path), CliError, "child.cast: it is not a regular file");
  const later = refusal({ "meta.json": '{"format":2}' }, readCassette);
  assert(later.includes("says that it is of format 2"), later);
});

Deno.test("a recording without its tape still replays", () => {
  using folder = tempFolder(partsOf("tools", ["child.cast"]));
  const { tape, ...rest } = openForReplay(folder.path);
  assertEquals(tape, undefined);
  const { frames, differences } = replayCassette(rest);
  assertEquals([frames.at(-1)?.frame.type, differences], ["result", []]);
  assertThrows(() => readCassette(folder.path), CliError, "tape.jsonl: it does not exist");
});

Deno.test("a cassette can be read again and again", () => {
  using folder = tempFolder(partsOf("tools", ["child.cast", "tape.jsonl", "meta.json"]));
  const { cast, tape } = openRereadable(folder.path);
  const whole = readCassette(folder.path);
  for (let time = 0; time < 2; time++) {
    assertEquals([...cast.events], whole.cast.events);
    assertEquals([...tape], whole.tape);
  }
  Deno.removeSync(`${folder.path}/tape.jsonl`);
  assertThrows(() => openRereadable(folder.path), CliError, "tape.jsonl: it does not exist");
});

Deno.test("a missing cast names another way to replay", () => {
  const rows = [
    [
      partsOf("tools", ["tape.jsonl"]),
      'It replays in the place of claude: write "--" behind it, and what a caller gives claude',
    ],
    [{ "api/": "" }, "It replays as the API: give it to claude-print relay --cache"],
  ] as const;
  for (const [files, suggestion] of rows) {
    using folder = tempFolder(files);
    const why = "child.cast: it does not exist";
    const error = assertThrows(() => openForReplay(folder.path), CliError, why);
    assertEquals(error.suggestion, suggestion);
  }
});

Deno.test("links out of the cassette are refused", () => {
  using other = tempFolder(partsOf("tools", ["tape.jsonl"]));
  using folder = tempFolder(partsOf("tools", ["child.cast"]));
  const tape = `${folder.path}/tape.jsonl`;
  const api = `${folder.path}/api`;
  const why = "the link leads out of the cassette";
  Deno.symlinkSync(`${other.path}/tape.jsonl`, tape);
  assertThrows(() => readCassette(folder.path), CliError, `Cannot read ${tape}: ${why}`);
  Deno.removeSync(tape);
  Deno.renameSync(`${other.path}/tape.jsonl`, `${folder.path}/other.jsonl`);
  Deno.symlinkSync("other.jsonl", tape);
  assertEquals(replayCassette(readCassette(folder.path)).differences, []);

  const read = () => [...readExchanges(api)];
  Deno.symlinkSync(other.path, api);
  assertThrows(read, CliError, `Cannot read ${api}: ${why}`);
  assertThrows(() => surveyCassette(folder.path), CliError, why);
  Deno.removeSync(api);
  Deno.mkdirSync(api);
  const exchange = `${api}/0123456789abcdef-0.json`;
  const rows = [
    [() => Deno.symlinkSync("/etc/passwd", exchange), "the link leads out of the cassette"],
    [() => Deno.symlinkSync("/nowhere", exchange), "the link leads nowhere"],
    [() => makeFifo(exchange), "it is not a regular file"],
  ] as const;
  for (const [make, why] of rows) {
    make();
    assertThrows(read, CliError, `-0.json: ${why}`);
    Deno.removeSync(exchange);
  }
});

Deno.test("a survey counts what a full read counts", () => {
  for (const { folder, cassette: { meta, cast, tape } } of RECORDED_RUNS.slice(-20)) {
    const survey = surveyCassette(folder);
    assertEquals(survey.meta, meta);
    assertEquals(survey.parts["child.cast"]?.events, cast.events.length);
    const { frames = 0, lines = 0 } = survey.parts["tape.jsonl"] ?? {};
    assertEquals(frames + lines, tape.length);
    const results = Object.entries(survey.frames).filter(([kind]) => kind.startsWith("result/"));
    assertEquals(survey.turns, results.reduce((sum, [, count]) => sum + count, 0));
    assertEquals(survey.durationMs, cast.events.at(-1)?.at);
    assert(survey.ended !== undefined);
  }
});

const RESULT = '{"dir":"read","at":5,"frame":{"type":"result","subtype":"success"}}\n';

Deno.test("a survey reads a tape of another program", () => {
  using folder = tempFolder({
    "tape.jsonl": '{"dir": "write", "data": "{}\\n"}\n' +
      '{"dir": "read", "frame": {"type": "__proto__"}}\n' +
      `{"dir": "read", "frame": {"type": "\\u001b[2J"}}\n${RESULT}`,
  });
  const { turns, parts, ended, frames, durationMs } = surveyCassette(folder.path);
  assertEquals([turns, parts["tape.jsonl"]?.lines, ended, durationMs], [1, 1, undefined, 5]);
  assertEquals(Object.entries(frames), [["__proto__", 1], ["\x1b[2J", 1], ["result/success", 1]]);
});

Deno.test("a survey reads a tape, but no folder of tapes", () => {
  using folder = tempFolder({ "input.jsonl": RESULT });
  const { parts, turns, frames } = surveyCassette(`${folder.path}/input.jsonl`);
  assertEquals([Object.keys(parts), turns, frames], [["tape.jsonl"], 1, { "result/success": 1 }]);
  const { message, suggestion } = assertThrows(() => surveyCassette(folder.path), CliError);
  assertEquals(
    message,
    `Cannot read ${folder.path}: it is no cassette, but a folder with 1 of them, or of tapes`,
  );
  assertEquals(suggestion, `Name one of them, such as ${folder.path}/input.jsonl`);
});

Deno.test("a survey counts broken exchanges and further children", () => {
  const exchanges = ["a-0.json", "b-1.part", ".c", "notes"].map((name) => [`api/${name}`, ""]);
  const numbers = Array.from({ length: 12 }, (_, index) => `${index + 1}`);
  const children = numbers.map((number) => [`${number}/child.cast`, ""]);
  using folder = tempFolder({
    "tape.jsonl": RESULT,
    "notes/": "",
    ...Object.fromEntries([...exchanges, ...children]),
  });
  const { parts, further } = surveyCassette(folder.path);
  assertEquals([parts.api, further], [{ exchanges: 2, broken: 1 }, numbers.slice(1)]);
});

Deno.test("a survey refuses other folders, formats and damaged parts", () => {
  const cast = Deno.readTextFileSync(`${RUNS}answer/child.cast`);
  const lines = cast.split("\n").length;
  const rows: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [
      { "notes.txt": "" },
      "Cannot read it: it is no cassette, and has none of child.cast, tape.jsonl, meta.json and api",
    ],
    [
      { "meta.json": '{"format":2}' },
      "Cannot read the cassette: it/meta.json says that it is of format 2, and this claude-print knows those up to 1",
    ],
    [
      { "meta.json": "[".repeat(1000) },
      "Cannot read it/meta.json: it does not say what the cassette is",
    ],
    [
      { "tape.jsonl": '{"type":"system"}\n{"type":"res' },
      "Cannot read line 2 of it/tape.jsonl: it was cut short",
    ],
    [
      { "child.cast": '{"version":2}\n' },
      "Cannot read line 1 of it/child.cast: it was not recorded by claude-print",
    ],
    [
      { "child.cast": `${cast}${cast.slice(-40, -1)}` },
      `Cannot read line ${lines} of it/child.cast: it was cut short`,
    ],
  ];
  for (const [files, message] of rows) assertEquals(refusal(files, surveyCassette), message);
  const nothing = (path: string) => assertThrows(() => surveyCassette(path), CliError).message;
  assertEquals(nothing("/dev/null"), "Cannot read /dev/null: it is not a folder");
  assertEquals(nothing("/nowhere"), "Cannot read /nowhere: it does not exist");
});
