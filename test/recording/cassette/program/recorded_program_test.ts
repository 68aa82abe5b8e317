import { assert, assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../../src/cli_error.ts";
import { framesOn, type TapeEntry } from "../../../../src/recording/cassette/cassette_format.ts";
import { recordedProgram } from "../../../../src/recording/cassette/program/recorded_program.ts";
import {
  answer,
  playedTape,
  read,
  request,
  RESULT,
  says,
  SESSION,
  user,
  wrote,
} from "./played_tape.ts";
import { tempFolder } from "../../../temp_folder.ts";
import { encodeTape } from "../../../../fixtures/encode_whole.ts";
import { readProgram } from "../../../../src/recording/cassette/program/read_program.ts";
import { foreignNames } from "../../../../fixtures/foreign_names.ts";
import { parseCallerLine } from "../../../../src/recording/cassette/program/caller_lines.ts";
import type { AnyFrame } from "../../../../src/claude/wire/any_frame.ts";

const OPTIONS = { mode: "verify", path: "tape.jsonl" } as const;
const QUESTION = request("q1", { subtype: "can_use_tool" });

Deno.test("unknown entries are refused before the play begins", () => {
  const rows: readonly (readonly [string, readonly TapeEntry[]])[] = [
    ['a question of the kind "elicitation"', [read(request("q1", { subtype: "elicitation" }))]],
    ['a line of type "wish"', [wrote({ type: "wish" })]],
    ["a line that is not JSON", [{ at: 0, dir: "write", data: "{" }]],
    ["a line that is nested too deeply", [{ at: 0, dir: "write", data: "[".repeat(10_000) }]],
    ["a line that is no object", [wrote([])]],
    ["a message without any content", [wrote({ type: "user" })]],
    ["a control request without a subtype", [read({ type: "control_request", request_id: "q" })]],
    ["a control request without an id", [read({ ...QUESTION, request_id: 1 })]],
    ["a control response to nothing that was asked", [wrote(answer("q1", {}))]],
    [
      "a control response to a request that is not on the tape",
      [wrote(user("One")), read(answer("req_1"))],
    ],
    ["a question with the id of another one", [read(QUESTION), read(QUESTION)]],
  ];
  for (const [what, tape] of rows) {
    const { message } = assertThrows(() => recordedProgram(tape, OPTIONS), CliError);
    assertEquals(
      message,
      `Cannot replay tape.jsonl: entry ${tape.length} is ${what}, which cannot be replayed`,
    );
  }
});

Deno.test("inert takes a tape with any question", () => {
  const tape = [wrote(user("One")), read(request("q1", { subtype: "elicitation" })), read(RESULT)];
  const { steps } = recordedProgram(tape, { ...OPTIONS, mode: "inert" });
  assertEquals(steps.map(({ kind }) => kind), ["message", "frame"]);
});

Deno.test("stub needs a decision for each open question", () => {
  const stub = { ...OPTIONS, mode: "stub" } as const;
  const failed = { type: "control_response", response: { subtype: "error", request_id: "q1" } };
  const rows = [
    ["the tape has no answer to it", []],
    ["its answer is an error", [wrote(failed)]],
  ] as const;
  for (const [why, more] of rows) {
    const tape = [wrote(user("One")), read(QUESTION), ...more, read(RESULT)];
    const { message } = assertThrows(() => recordedProgram(tape, stub), CliError);
    assertEquals(message.endsWith(`has no decision, ${why}`), true, message);
  }
  const taken = read({ type: "control_cancel_request", request_id: "q1" });
  const tape = [wrote(user("One")), read(QUESTION), taken, read(RESULT)];
  assertEquals(recordedProgram(tape, stub).steps.length, 2);
});

Deno.test("session and version come from the tape", () => {
  const init = { type: "system", subtype: "init", session_id: SESSION };
  const tape = [
    wrote(user("One")),
    read({ ...init, claude_code_version: "2.1.332" }),
    read(RESULT),
  ];
  const { sessionId, version } = recordedProgram(tape, OPTIONS);
  assertEquals([sessionId, version], [SESSION, "2.1.332"]);
  const named = recordedProgram(tape, { ...OPTIONS, version: "2.1.197" });
  assertEquals(named.version, "2.1.197");
});

Deno.test("keys such as __proto__ are plain data", () => {
  const hostile = JSON.parse('{"type":"assistant","__proto__":{"polluted":1},"constructor":2}');
  const tape = [wrote(user("One")), read(hostile), read(RESULT)];
  const [, step] = recordedProgram(tape, OPTIONS).steps;
  assertEquals(JSON.stringify(step?.kind === "frame" && step.frame), JSON.stringify(hostile));
  assertEquals(({} as Readonly<Record<string, unknown>>)["polluted"], undefined);
});

const RUNS = new URL("../../../../fixtures/recordings/runs/2.1.332", import.meta.url).pathname;

/** Reads what is in a folder of these files. */
function programOf(files: Readonly<Record<string, readonly TapeEntry[] | string>>) {
  const texts = Object.entries(files).map(([name, content]) =>
    [name, typeof content === "string" ? content : encodeTape(content)] as const
  );
  using folder = tempFolder(Object.fromEntries(texts));
  const { path, ...rest } = readProgram(folder.path);
  return { ...rest, path: path.slice(folder.path.length + 1) };
}

const FIRST = [wrote(user("One")), read(says("first"), { at: 100 })];
const SECOND = [wrote(user("Two"), { at: 5 }), read(RESULT, { at: 10 })];

Deno.test("a cassette gives prompts, exit and version", () => {
  const { prompts, exit, inputEnded, version, tape } = readProgram(`${RUNS}/api-error`);
  assertEquals([prompts, inputEnded, version], [["Hi [[error 529]]"], true, "2.1.332"]);
  assertEquals(exit?.code, 75);
  assertEquals(exit?.stderr?.startsWith("claude-print: The API is overloaded: 529"), true);
  assertEquals(tape.length > 2, true);
});

Deno.test("a tape is read alone and from a nested layout", () => {
  const { tape, path } = programOf({ "input.jsonl": FIRST, "expected.jsonl": SECOND });
  assertEquals([tape, path], [FIRST, "input.jsonl"]);
  const flat = programOf({ "tape.jsonl": FIRST, "input.jsonl": SECOND });
  assertEquals([flat.tape, flat.path], [FIRST, "tape.jsonl"]);
});

Deno.test("tapes of further children are appended", () => {
  const { tape } = programOf({
    "tape.jsonl": FIRST,
    "2/tape.jsonl": SECOND,
    "4/tape.jsonl": FIRST,
  });
  assertEquals(tape, [...FIRST, wrote(user("Two"), { at: 105 }), read(RESULT, { at: 110 })]);
});

Deno.test("prompts of further children are appended", () => {
  const partsOf = (run: string, folder: string) =>
    ["child.cast", "tape.jsonl"].map((name) =>
      [`${folder}${name}`, Deno.readTextFileSync(`${RUNS}/${run}/${name}`)] as const
    );
  const { prompts } = programOf(
    Object.fromEntries([...partsOf("resumed", ""), ...partsOf("api-error", "2/")]),
  );
  assertEquals(prompts, ["And again [[say again]]", "Hi [[error 529]]"]);
});

Deno.test("a link in a cassette is no further tape", () => {
  const line = `${JSON.stringify({ dir: "read", frame: RESULT })}\n`;
  using folder = tempFolder({ "talk/tape.jsonl": line, "other/tape.jsonl": line });
  Deno.symlinkSync(`${folder.path}/other`, `${folder.path}/talk/2`);
  assertEquals(readProgram(`${folder.path}/talk`).tape.length, 1);
});

Deno.test("the last line of a tape sets the exit", () => {
  const end = { at: 0, dir: "write", data: "", exit: { code: 3, stderr: "boom\n" } } as const;
  assertEquals(programOf({ "tape.jsonl": [...FIRST, end] }).tape.at(-1), end);
  for (const exit of ['"x"', "{}", '{"code":1.5}', '{"code":256}', '{"code":1,"stderr":2}']) {
    const text = `{"dir":"write","data":"","exit":${exit}}\n`;
    assertThrows(() => programOf({ "tape.jsonl": text }), CliError, "neither a frame nor");
  }
});

Deno.test("a folder without a tape is refused", () => {
  assertThrows(() => programOf({ "notes.txt": "" }), CliError, "tape.jsonl: it does not exist");
  assertThrows(() => readProgram("/proc/nowhere"), CliError, "it does not exist");
  assertThrows(() => readProgram("/dev/null"), CliError, "Cannot read /dev/null");
  assertThrows(() => readProgram("/dev/null/x"), CliError, "Not a directory");
});

const SDKS = new URL("../../../../fixtures/recordings/sdk", import.meta.url).pathname;

/** The tapes of users of both SDKs, by their paths. */
const TAPES: ReadonlyMap<string, readonly TapeEntry[]> = new Map(
  [...tapesBelow(SDKS)].map((path) => [path.slice(SDKS.length), readProgram(path).tape]),
);

function* tapesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* tapesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

function written(tape: readonly TapeEntry[]): readonly string[] {
  return tape.flatMap((entry) => entry.dir === "write" && entry.data !== "" ? [entry.data] : []);
}

Deno.test("a caller that repeats a tape reads all of it", () => {
  assert(TAPES.size >= 20);
  for (const [path, tape] of TAPES) {
    const frames = framesOn(tape).map(({ frame }) => frame);
    const { said, divergences } = playedTape(tape, written(tape), { stops: true });
    assertEquals([apart(said), divergences], [apart(frames), []], path);
    const rest = frames.filter(({ type }) =>
      type !== "control_request" && type !== "control_cancel_request"
    );
    const inert = playedTape(tape, written(tape), { mode: "inert", stops: true });
    assertEquals(apart(inert.said), apart(rest), path);
    assertEquals(inert.divergences.filter(isOfNoQuestion), [], path);
  }
});

/** The replies among some frames, and the other frames: a reply may come earlier than on the tape. */
function apart(frames: readonly AnyFrame[]): readonly (readonly AnyFrame[])[] {
  const isReply = ({ type }: AnyFrame) => type === "control_response";
  return [frames.filter(isReply), frames.filter((frame) => !isReply(frame))];
}

/** The divergence of a caller that answers a question which it was not asked. */
function isOfNoQuestion(divergence: string): boolean {
  return !divergence.endsWith("that it was not asked");
}

Deno.test("no tape names the machine that it was recorded on", () => {
  for (const path of tapesBelow(SDKS)) assertEquals(foreignNames(Deno.readTextFileSync(path)), []);
});

Deno.test("every omitted or changed line is a divergence", () => {
  let changed = 0;
  for (const [path, tape] of TAPES) {
    const lines = written(tape);
    for (const [index, line] of lines.entries()) {
      const left = playedTape(tape, lines.toSpliced(index, 1), { last: "closed" });
      assert(left.divergences.length > 0, `${path}: ${line}`);
      const other = changedLine(line);
      if (other === undefined) continue;
      changed++;
      const { divergences } = playedTape(tape, lines.with(index, other));
      assert(divergences.length > 0, `${path}: ${other}`);
    }
  }
  assert(changed > 100, `${changed}`);
});

/** A line with a word changed in a field that is compared; undefined if it has none. */
function changedLine(line: string): string | undefined {
  const value = JSON.parse(line);
  switch (parseCallerLine(line)?.kind) {
    case "message":
      return JSON.stringify({ ...value, message: { ...value.message, content: "Another" } });
    case "request":
      if (value.request.subtype === "initialize") return undefined;
      return JSON.stringify({ ...value, request: { ...value.request, another: 1 } });
    case "answer": {
      const { subtype, response } = value.response;
      if (subtype === "error") return undefined;
      const other = { ...value.response, response: { ...response, another: 1 } };
      return JSON.stringify({ ...value, response: other });
    }
    default:
      return undefined;
  }
}

Deno.test("2,000 lines written ahead are played in order", () => {
  const numbers = Array.from({ length: 2_000 }, (_, index) => index);
  const model = { subtype: "set_model", model: "haiku" };
  const uuidOf = (number: number) => `00000000-0000-4000-8000-${`${number}`.padStart(12, "0")}`;
  const allow = { behavior: "allow" };
  const tape = [
    wrote(request("wait", model)),
    ...numbers.map((number) => wrote(request(`${number}`, model))),
    read(says("done")),
    ...numbers.map((number) => read(answer(`${number}`))),
    ...numbers.flatMap((number) => [
      wrote(user("Go on", { uuid: uuidOf(number) })),
      read({ ...says("on it"), uuid: uuidOf(number) }),
    ]),
    ...numbers.map((number) => read(request(`${number}`, { subtype: "can_use_tool" }))),
    ...numbers.map((number) => wrote(answer(`${number}`, allow))),
  ];
  const { said, divergences } = playedTape(tape, [
    ...numbers.map((number) => user("Go on", { uuid: uuidOf(2_000 + number) })),
    ...numbers.map((number) => answer(`${number}`, allow)),
    ...numbers.map((number) => answer(`other ${number}`, {})),
    ...["wait", ...numbers].map((number) => request(`live ${number}`, model)),
  ]);
  assertEquals(divergences.length, 2_000, "answers to questions that were never asked");
  assertEquals(said[0], says("done"));
  assertEquals(said[2_000], answer("live 1999"));
  assertEquals(said[4_000]?.["uuid"], uuidOf(3_999));
});
