import { assertEquals, assertThrows } from "@std/assert";
import { encodeTape } from "../../../fixtures/encode_whole.ts";
import { CliError } from "../../../src/cli_error.ts";
import type { TapeEntry } from "../../../src/cassette/cassette.ts";
import { readProgram } from "../../../src/cassette/program/read_program.ts";
import { read, RESULT, says, user, wrote } from "./played_tape.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/2.1.332", import.meta.url).pathname;

/** Reads what is in a folder of these files. */
function programOf(files: Readonly<Record<string, readonly TapeEntry[] | string>>) {
  const folder = Deno.makeTempDirSync();
  try {
    for (const [name, content] of Object.entries(files)) {
      if (name.includes("/")) Deno.mkdirSync(`${folder}/${name.replace(/\/[^/]*$/u, "")}`);
      const text = typeof content === "string" ? content : encodeTape(content);
      Deno.writeTextFileSync(`${folder}/${name}`, text);
    }
    const { path, ...rest } = readProgram(folder);
    return { ...rest, path: path.slice(folder.length + 1) };
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const FIRST = [wrote(user("One")), read(says("first"), { at: 100 })];
const SECOND = [wrote(user("Two"), { at: 5 }), read(RESULT, { at: 10 })];

Deno.test("of a cassette it is known what the run was asked, how it ended, and of which version it is", () => {
  const { prompts, exit, inputEnded, version, tape } = readProgram(`${RUNS}/api-error`);
  assertEquals([prompts, inputEnded, version], [["Hi [[error 529]]"], true, "2.1.332"]);
  assertEquals(exit?.code, 75);
  assertEquals(exit?.stderr?.startsWith("claude-print: The API is overloaded: 529"), true);
  assertEquals(tape.length > 2, true);
});

Deno.test("a tape alone is read, as is that of a nested layout", () => {
  const { tape, path } = programOf({ "input.jsonl": FIRST, "expected.jsonl": SECOND });
  assertEquals([tape, path], [FIRST, "input.jsonl"]);
  const flat = programOf({ "tape.jsonl": FIRST, "input.jsonl": SECOND });
  assertEquals([flat.tape, flat.path], [FIRST, "tape.jsonl"]);
});

Deno.test("a conversation that went on with another Claude Code is one program", () => {
  const { tape } = programOf({
    "tape.jsonl": FIRST,
    "2/tape.jsonl": SECOND,
    "4/tape.jsonl": FIRST,
  });
  assertEquals(tape, [
    ...FIRST,
    wrote(user("Two"), { at: 105 }),
    read(RESULT, { at: 110 }),
  ]);
});

Deno.test("a link in a cassette leads to no further tape", () => {
  const folder = Deno.makeTempDirSync();
  const line = `${JSON.stringify({ dir: "read", frame: RESULT })}\n`;
  for (const name of ["talk", "other"]) {
    Deno.mkdirSync(`${folder}/${name}`);
    Deno.writeTextFileSync(`${folder}/${name}/tape.jsonl`, line);
  }
  Deno.symlinkSync(`${folder}/other`, `${folder}/talk/2`);
  assertEquals(readProgram(`${folder}/talk`).tape.length, 1);
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("how a program is to end stands in the last line of its tape", () => {
  const end = { at: 0, dir: "write", data: "", exit: { code: 3, stderr: "boom\n" } } as const;
  assertEquals(programOf({ "tape.jsonl": [...FIRST, end] }).tape.at(-1), end);
  for (const exit of ['"x"', "{}", '{"code":1.5}', '{"code":256}', '{"code":1,"stderr":2}']) {
    const text = `{"dir":"write","data":"","exit":${exit}}\n`;
    assertThrows(() => programOf({ "tape.jsonl": text }), CliError, "neither a frame nor");
  }
});

Deno.test("where there is no tape, nothing is played", () => {
  assertThrows(() => programOf({ "notes.txt": "" }), CliError, "tape.jsonl: it does not exist");
  assertThrows(() => readProgram("/proc/nowhere"), CliError, "it does not exist");
  assertThrows(() => readProgram("/dev/null"), CliError, "Cannot read /dev/null");
});
