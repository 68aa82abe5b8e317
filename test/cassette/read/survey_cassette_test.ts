import { assert, assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { readCassette } from "../read_cassette.ts";
import { surveyCassette } from "../../../src/cassette/read/survey_cassette.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";

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

Deno.test("surveyCassette() tells of each recorded run what reading it whole tells", () => {
  for (const { folder, cassette: { meta, cast, tape } } of RECORDED_RUNS) {
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

Deno.test("surveyCassette() takes a tape of another program for a cassette without the other parts", () => {
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

Deno.test("surveyCassette() tells of a tape alone, of exchanges that have broken off, and of further Claude Codes", () => {
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

Deno.test("surveyCassette() counts no exchanges behind a link that leads out of the cassette", () => {
  const folder = Deno.makeTempDirSync();
  try {
    Deno.symlinkSync("/etc", `${folder}/api`);
    assertThrows(() => surveyCassette(folder), CliError, "the link leads out of the cassette");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("surveyCassette() refuses what is no cassette, a later format and damaged parts", () => {
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

Deno.test("a later format is refused whatever is to be done with it", () => {
  inFolder({ "meta.json": '{"format":2}' }, (folder) => {
    assertThrows(() => readCassette(folder), CliError, "says that it is of format 2");
  });
});
