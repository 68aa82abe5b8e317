import { assertEquals } from "@std/assert";
import {
  followProgress,
  outputTokens,
  type Progress,
  PROGRESS_START,
} from "../../../src/commands/watch/progress.ts";
import type { Input } from "../../../src/session/input.ts";
import * as lines from "../../transcript/lines.ts";

function after(...signs: readonly Input[]): Progress {
  return signs.reduce(followProgress, PROGRESS_START);
}

const at = 0;
const BUSY: Input = { at, type: "status", status: "busy" };
const IDLE: Input = { at, type: "status", status: "idle" };
const PROMPT: Input = { at, ...lines.PROMPT };

function hook(event: string, payload: Readonly<Record<string, unknown>> = {}): Input {
  return { at, type: "hook", event, payload };
}

function answer(
  id: string,
  content: readonly Readonly<Record<string, unknown>>[],
  tokens = 0,
): Input {
  return { at, ...lines.answer(content, { id, tokens }) };
}

function call(id: string, name: string, input: unknown = {}) {
  return { type: "tool_use", id, name, input };
}

function returned(...ids: readonly string[]): Input {
  return { at, ...lines.returned(...ids) };
}

Deno.test("a run starts, works and ends", () => {
  const phases = [
    { at, type: "spawned" } as const,
    hook("SessionStart"),
    IDLE,
    BUSY,
    IDLE,
    hook("Stop", { background_tasks: [] }),
    { at, type: "exit", exit: { kind: "exited", code: 0 } } as const,
  ].map((_, index, all) => after(...all.slice(0, index + 1)).phase);
  assertEquals(phases, [
    ...["starting", "starting", "starting", "working", "working", "ending", "ending"],
  ]);
});

for (
  const [what, sign] of [
    ["a signal", { at, type: "signal", signal: "SIGINT" }],
    ["the wall clock", { at, type: "deadline", name: "timeout" }],
    ["a failure of the API", hook("StopFailure")],
  ] as const
) {
  Deno.test(`${what} ends a run and its tools`, () => {
    const progress = after(BUSY, answer("m1", [call("t1", "Bash")]), sign);
    assertEquals([progress.phase, progress.tools], ["ending", []]);
  });
}

Deno.test("the failure of an agent beside the turn ends no tools", () => {
  const failed = hook("StopFailure", { agent_id: "a" });
  const progress = after(BUSY, answer("m1", [call("t1", "Bash")]), failed);
  assertEquals([progress.phase, progress.tools.length], ["working", 1]);
});

Deno.test("other deadlines change nothing", () => {
  assertEquals(after({ at, type: "deadline", name: "look" }), PROGRESS_START);
});

Deno.test("tasks in the background are waited for until they start another turn", () => {
  const stop = hook("Stop", { background_tasks: [{ id: "a" }, { id: "b" }] });
  const waiting = after(BUSY, stop, answer("m1", [{ type: "text", text: "late" }]));
  assertEquals([waiting.phase, waiting.count], ["waiting", 2]);
  const again = followProgress(waiting, PROMPT);
  assertEquals([again.phase, again.count], ["working", 0]);
  assertEquals(followProgress(waiting, BUSY).phase, "working");
});

Deno.test("a Stop that another hook overrules was not the end", () => {
  assertEquals(after(BUSY, hook("Stop"), BUSY).phase, "working");
});

Deno.test("the lines of an answer come after its Stop and do not begin anew", () => {
  const progress = after(BUSY, hook("Stop"), PROMPT, answer("m1", [call("t1", "Bash")]));
  assertEquals([progress.phase, progress.tools], ["ending", []]);
});

Deno.test("a repeated request is told with its number until an answer comes", () => {
  const retrying = after(BUSY, {
    at,
    type: "retry",
    retry: { attempt: 3, maxRetries: 10, delayMs: 1000, status: null },
  });
  assertEquals([retrying.phase, retrying.count], ["retrying", 3]);
  const text = answer("m1", [{ type: "text", text: "Hello" }]);
  assertEquals(followProgress(retrying, text).phase, "working");
});

Deno.test("tools run from their call to their return, in order", () => {
  const progress = after(
    BUSY,
    answer("m1", [call("t1", "Bash", { command: "npm test", description: "Run the tests" })]),
    answer("m1", [call("t2", "Read", { file_path: "/a/b.ts", limit: 3 })]),
    answer("m1", [call("t3", "TodoWrite", { todos: [] })]),
  );
  assertEquals(progress.tools, [
    { id: "t1", name: "Bash", subject: "npm test" },
    { id: "t2", name: "Read", subject: "/a/b.ts" },
    { id: "t3", name: "TodoWrite" },
  ]);
  const names = followProgress(progress, returned("t1", "t3")).tools.map(({ name }) => name);
  assertEquals(names, ["Read"]);
});

Deno.test("tokens are counted once an answer, whose lines repeat them", () => {
  const text = [{ type: "text", text: "x" }];
  assertEquals(
    outputTokens(after(
      answer("m1", text, 10),
      answer("m1", text, 12),
      answer("m2", text, 5),
      answer("m2", text, 5),
    )),
    17,
  );
});

Deno.test("lines that are no answer as expected change nothing", () => {
  for (
    const line of [
      { type: "user", isMeta: true, message: { content: "assistant" } },
      { type: "user", kind: "assistant" },
      { type: "assistant", message: null },
      { type: "assistant", message: { content: [null, 1, { type: "tool_use" }], usage: null } },
      { type: "system" },
    ]
  ) assertEquals(after({ at, ...lines.line(line) }), PROGRESS_START, JSON.stringify(line));
});
