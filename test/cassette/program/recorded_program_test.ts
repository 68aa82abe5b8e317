import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import type { TapeEntry } from "../../../src/cassette/cassette.ts";
import { recordedProgram } from "../../../src/cassette/program/recorded_program.ts";
import { answer, ask, read, reply, RESULT, SESSION, user, wrote } from "./played_tape.ts";

const OPTIONS = { mode: "verify", path: "tape.jsonl" } as const;
const QUESTION = ask("q1", { subtype: "can_use_tool" });

Deno.test("what a replay does not know is refused by name before anything is played", () => {
  const rows: readonly (readonly [string, readonly TapeEntry[]])[] = [
    ['a question of the kind "elicitation"', [read(ask("q1", { subtype: "elicitation" }))]],
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
      [wrote(user("One")), read(reply("req_1"))],
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
  const tape = [wrote(user("One")), read(ask("q1", { subtype: "elicitation" })), read(RESULT)];
  const { steps } = recordedProgram(tape, { ...OPTIONS, mode: "inert" });
  assertEquals(steps.map(({ kind }) => kind), ["message", "frame"]);
});

Deno.test("stub needs a decision for each question that was not taken back", () => {
  const stub = { ...OPTIONS, mode: "stub" } as const;
  const failed = { type: "control_response", response: { subtype: "error", request_id: "q1" } };
  for (
    const [why, more] of [
      ["the tape has no answer to it", []],
      ["its answer is an error", [wrote(failed)]],
    ] as const
  ) {
    const tape = [wrote(user("One")), read(QUESTION), ...more, read(RESULT)];
    const { message } = assertThrows(() => recordedProgram(tape, stub), CliError);
    assertEquals(message.endsWith(`nobody knows a decision, ${why}`), true, message);
  }
  const taken = read({ type: "control_cancel_request", request_id: "q1" });
  const tape = [wrote(user("One")), read(QUESTION), taken, read(RESULT)];
  assertEquals(recordedProgram(tape, stub).steps.length, 2);
});

Deno.test("session and version are those that the tape tells", () => {
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

Deno.test("a name that means something to a language means nothing on a tape", () => {
  const hostile = JSON.parse('{"type":"assistant","__proto__":{"polluted":1},"constructor":2}');
  const tape = [wrote(user("One")), read(hostile), read(RESULT)];
  const [, step] = recordedProgram(tape, OPTIONS).steps;
  assertEquals(JSON.stringify(step?.kind === "frame" && step.frame), JSON.stringify(hostile));
  assertEquals(({} as Readonly<Record<string, unknown>>)["polluted"], undefined);
});
