import { assert, assertEquals, assertThrows } from "@std/assert";
import { openRecorded } from "../../../src/cassette/read/open_recorded.ts";
import { recordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";
import { CliError } from "../../../src/cli_error.ts";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { openToReplay, rereadCassette } from "../../../src/cassette/read/open_cassette.ts";
import { readCassette } from "../read_cassette.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { readExchanges } from "../../../src/relay/exchanges/exchange_folder.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";
import { surveyCassette } from "../../../src/cassette/read/survey_cassette.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/2.1.332/", import.meta.url).pathname;

/** A folder with some of the parts of a recording. */
async function folderWith(run: string, names: readonly string[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const name of names) await Deno.copyFile(`${RUNS}${run}/${name}`, `${folder}/${name}`);
  return folder;
}

Deno.test("openRecorded() opens the cast or tape of each child", async () => {
  const folder = await folderWith("conversation", ["child.cast", "meta.json"]);
  const second = await folderWith("resumed", ["child.cast", "tape.jsonl"]);
  const third = await folderWith("answer", ["tape.jsonl"]);
  const elsewhere = await folderWith("tools", ["child.cast"]);
  try {
    await Deno.rename(second, `${folder}/2`);
    await Deno.rename(third, `${folder}/3`);
    // A link leads out of the folder.
    await Deno.symlink(elsewhere, `${folder}/4`);
    const { meta, children } = openRecorded(folder);
    assertEquals(meta?.claude_code, "2.1.332");
    const found = children.map((child) =>
      "cast" in child ? recordedTurns(child.cast).turns.length : child.tape.length > 0
    );
    assertEquals(found, [4, 1, true]);
  } finally {
    for (const each of [folder, elsewhere]) await Deno.remove(each, { recursive: true });
  }
});

Deno.test("openRecorded() opens a tape alone", () => {
  const [child, ...more] = openRecorded(`${RUNS}conversation/tape.jsonl`).children;
  assertEquals([child !== undefined && "tape" in child && child.tape.length > 0, more], [true, []]);
});

Deno.test("openRecorded() says why a folder is no recording", async () => {
  const folder = await folderWith("answer", ["child.cast"]);
  const refused = (what: string, message: string) => {
    const error = assertThrows(() => {
      for (const child of openRecorded(what).children) {
        if ("cast" in child) recordedTurns(child.cast);
      }
    }, CliError);
    assert(error.message.includes(message), error.message);
    assert(error.suggestion !== "");
  };
  try {
    refused(`${folder}/none`, "it has neither child.cast nor tape.jsonl");
    refused(`${folder}/child.cast`, "it is neither a frame nor a line of the caller");
    await Deno.writeTextFile(`${folder}/meta.json`, '{"format":99}');
    refused(folder, "says that it is of format 99");
    await Deno.writeTextFile(`${folder}/meta.json`, "[".repeat(100_000));
    refused(folder, "it does not say what the cassette is");
    await Deno.remove(`${folder}/meta.json`);
    const cast = await Deno.readTextFile(`${folder}/child.cast`);
    await Deno.writeTextFile(`${folder}/child.cast`, cast.slice(0, -10));
    refused(folder, "it was cut short");
    await Deno.writeTextFile(`${folder}/child.cast`, "");
    refused(folder, "the header is missing");
    await Deno.remove(`${folder}/child.cast`);
    await new Deno.Command("mkfifo", { args: [`${folder}/child.cast`] }).output();
    refused(folder, "Cannot read");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a missing cast and a FIFO are refused without waiting", () => {
  const folder = Deno.makeTempDirSync();
  const read = () => readCassette(folder);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it does not exist`);
  makeFifo(`${folder}/child.cast`);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it is no regular file`);
  Deno.removeSync(folder, { recursive: true });
});

/** A folder with some of the parts of a recorded run. */
function someOf(...parts: readonly string[]) {
  const folder = Deno.makeTempDirSync();
  const run = RECORDED_RUNS.find(({ name }) => name === "2.1.332/tools");
  for (const part of parts) Deno.copyFileSync(`${run?.folder}/${part}`, `${folder}/${part}`);
  return { folder, [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
}

Deno.test("a recording without its tape still replays", () => {
  using there = someOf("child.cast");
  const { tape, ...rest } = openToReplay(there.folder);
  assertEquals(tape, undefined);
  const { frames, differences } = replayCassette(rest);
  assertEquals([frames.at(-1)?.frame.type, differences], ["result", []]);
  assertThrows(() => readCassette(there.folder), CliError, "tape.jsonl: it does not exist");
});

Deno.test("a cassette can be read again and again", () => {
  using there = someOf("child.cast", "tape.jsonl", "meta.json");
  const { cast, tape } = rereadCassette(there.folder);
  const whole = readCassette(there.folder);
  for (let time = 0; time < 2; time++) {
    assertEquals([...cast.events], whole.cast.events);
    assertEquals([...tape], whole.tape);
  }
  Deno.removeSync(`${there.folder}/tape.jsonl`);
  assertThrows(() => rereadCassette(there.folder), CliError, "tape.jsonl: it does not exist");
});

Deno.test("a missing cast names another way to replay", () => {
  const suggested = (folder: string) =>
    assertThrows(() => openToReplay(folder), CliError, "child.cast: it does not exist").suggestion;
  using taped = someOf("tape.jsonl");
  assertEquals(
    suggested(taped.folder),
    'It replays in the place of claude: write "--" behind it, and what a caller gives claude',
  );
  using api = someOf();
  Deno.mkdirSync(`${api.folder}/api`);
  assertEquals(
    suggested(api.folder),
    "It replays as the API: give it to claude-print relay --cache",
  );
});

Deno.test("links out of the cassette are refused", () => {
  using other = someOf("tape.jsonl");
  using there = someOf("child.cast");
  const tape = `${there.folder}/tape.jsonl`;
  Deno.symlinkSync(`${other.folder}/tape.jsonl`, tape);
  const why = "the link leads out of the cassette";
  assertThrows(() => readCassette(there.folder), CliError, `Cannot read ${tape}: ${why}`);
  Deno.removeSync(tape);
  Deno.renameSync(`${other.folder}/tape.jsonl`, `${there.folder}/other.jsonl`);
  Deno.symlinkSync("other.jsonl", tape);
  assertEquals(replayCassette(readCassette(there.folder)).differences, []);

  const api = `${there.folder}/api`;
  Deno.symlinkSync(other.folder, api);
  assertThrows(() => [...readExchanges(api)], CliError, `Cannot read ${api}: ${why}`);
  Deno.removeSync(api);
  Deno.mkdirSync(api);
  Deno.symlinkSync("/etc/passwd", `${api}/0123456789abcdef-0.json`);
  assertThrows(() => [...readExchanges(api)], CliError, `-0.json: ${why}`);
  Deno.removeSync(`${api}/0123456789abcdef-0.json`);
  Deno.symlinkSync("/nowhere", `${api}/0123456789abcdef-0.json`);
  const read = () => [...readExchanges(api)];
  assertThrows(read, CliError, "-0.json: there is nothing behind it");
  Deno.removeSync(`${api}/0123456789abcdef-0.json`);
  makeFifo(`${api}/0123456789abcdef-0.json`);
  assertThrows(read, CliError, "-0.json: it is no regular file");
});

const README = new URL("../../../fixtures/recordings/readme", import.meta.url).pathname;

function inFolder(files: Readonly<Record<string, string>>, test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    for (const [name, text] of Object.entries(files)) {
      Deno.writeTextFileSync(`${folder}/${name}`, text);
    }
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** What is wrong with a cassette of these files, without its folder. */
function refused(files: Readonly<Record<string, string>>): string {
  let said = "";
  inFolder(files, (folder) => {
    const { message, suggestion } = assertThrows(() => surveyCassette(folder), CliError);
    assert(suggestion !== undefined);
    said = message.replaceAll(folder, "it");
  });
  return said;
}

Deno.test("a survey counts what a full read counts", () => {
  for (const { folder, cassette: { meta, cast, tape } } of RECORDED_RUNS.slice(-20)) {
    const survey = surveyCassette(folder);
    assertEquals(survey.meta, meta);
    assertEquals(survey.parts["child.cast"]?.events, cast.events.length);
    const { frames, lines } = survey.parts["tape.jsonl"] ?? {};
    assertEquals((frames ?? 0) + (lines ?? 0), tape.length);
    assertEquals(
      survey.turns,
      Object.entries(survey.frames).reduce(
        (sum, [kind, count]) => kind.startsWith("result/") ? sum + count : sum,
        0,
      ),
    );
    assertEquals(survey.durationMs, cast.events.at(-1)?.at);
    assert(survey.ended !== undefined);
  }
});

Deno.test("a survey reads a tape of another program", () => {
  const tape = [
    '{"dir": "write", "data": "{}\\n"}',
    '{"dir": "read", "frame": {"type": "__proto__"}}',
    '{"dir": "read", "frame": {"type": "\\u001b[2J"}}',
    '{"dir": "read", "frame": {"type": "result", "subtype": "success"}}',
  ];
  inFolder({ "tape.jsonl": tape.join("\n") }, (folder) => {
    const survey = surveyCassette(folder);
    assertEquals([survey.turns, survey.parts["tape.jsonl"]?.lines, survey.ended], [
      1,
      1,
      undefined,
    ]);
    assertEquals(Object.entries(survey.frames), [
      ["__proto__", 1],
      ["\x1b[2J", 1],
      ["result/success", 1],
    ]);
  });
});

Deno.test("a survey counts broken exchanges and further children", () => {
  const tape = '{"dir": "read", "frame": {"type": "result", "subtype": "success"}}\n';
  inFolder({ "input.jsonl": tape }, (folder) => {
    const { parts, turns, frames } = surveyCassette(`${folder}/input.jsonl`);
    assertEquals([Object.keys(parts), turns, frames], [["tape.jsonl"], 1, { "result/success": 1 }]);
    const { message, suggestion } = assertThrows(() => surveyCassette(folder), CliError);
    assertEquals(
      message,
      `Cannot read ${folder}: it is no cassette, but a folder with 1 of them, or of tapes`,
    );
    assertEquals(suggestion, `Name one of them, such as ${folder}/input.jsonl`);
  });
  inFolder({ "tape.jsonl": tape }, (folder) => {
    for (const name of ["api", "2", "10", "1", "notes"]) Deno.mkdirSync(`${folder}/${name}`);
    for (const name of ["a-0.json", "b-1.part", ".c", "notes"]) {
      Deno.writeTextFileSync(`${folder}/api/${name}`, "");
    }
    for (const name of ["2", "10", "1"]) Deno.writeTextFileSync(`${folder}/${name}/child.cast`, "");
    const { parts, further } = surveyCassette(folder);
    assertEquals([parts.api, further], [{ exchanges: 2, broken: 1 }, ["2", "10"]]);
  });
});

Deno.test("a survey refuses an outward link to exchanges", () => {
  const folder = Deno.makeTempDirSync();
  try {
    Deno.symlinkSync("/etc", `${folder}/api`);
    assertThrows(() => surveyCassette(folder), CliError, "the link leads out of the cassette");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("a survey refuses other folders, formats and damaged parts", () => {
  const { message } = assertThrows(() => surveyCassette("/dev/null"), CliError);
  assertEquals(message, "Cannot read /dev/null: it is no folder");
  assertThrows(
    () => surveyCassette("/nowhere"),
    CliError,
    "Cannot read /nowhere: it does not exist",
  );
  assertEquals(
    refused({ "notes.txt": "" }),
    "Cannot read it: it is no cassette, and has none of child.cast, tape.jsonl, meta.json and api",
  );
  assertEquals(
    refused({ "meta.json": '{"format":2}' }),
    "Cannot read the cassette: it/meta.json says that it is of format 2, and this claude-print knows those up to 1",
  );
  assertEquals(
    refused({ "meta.json": "[".repeat(1000) }),
    "Cannot read it/meta.json: it does not say what the cassette is",
  );
  assertEquals(
    refused({ "tape.jsonl": '{"type":"system"}\n{"type":"res' }),
    "Cannot read line 2 of it/tape.jsonl: it was cut short",
  );
  assertEquals(
    refused({ "child.cast": '{"version":2}\n' }),
    "Cannot read line 1 of it/child.cast: it was not recorded by claude-print",
  );
  const cast = Deno.readTextFileSync(`${README}/child.cast`);
  assertEquals(
    refused({ "child.cast": `${cast}${cast.slice(-40, -1)}` }),
    "Cannot read line 1000 of it/child.cast: it was cut short".replace(
      "1000",
      `${cast.split("\n").length}`,
    ),
  );
});

Deno.test("readCassette() refuses a later format", () => {
  inFolder({ "meta.json": '{"format":2}' }, (folder) => {
    assertThrows(() => readCassette(folder), CliError, "says that it is of format 2");
  });
});
