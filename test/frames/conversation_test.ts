import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type EffectPart, partsOf } from "../../src/frames/conversation.ts";
import { fold } from "../../src/frames/advance.ts";
import type { Input } from "../../src/session/input.ts";
import { line } from "../transcript/lines.ts";
import { onlyMessage } from "../session/only_message.ts";
import { conversationOptions } from "./conversation_options.ts";

const RECORDED = new URL(
  "../../fixtures/transcripts/2.1.330/bash/transcript.jsonl",
  import.meta.url,
);
const LINES: readonly Input[] = Deno.readTextFileSync(RECORDED).trimEnd().split("\n")
  .map((text) => ({ at: 10, ...line(JSON.parse(text)) }));
const ANSWER = LINES.findLast(({ type, ...input }) =>
  type === "transcript" && "entry" in input && input.entry.type === "assistant"
);
const [TEXT, SENT] = [
  ANSWER,
  LINES.find(({ type, ...input }) =>
    type === "transcript" && "entry" in input && input.entry.type === "user"
  ),
].map((input) => {
  assert(input?.type === "transcript" && input.entry.type !== "other");
  const { content } = input.entry["message"] as { readonly content: string | readonly unknown[] };
  return typeof content === "string"
    ? content
    : `${(content.at(-1) as { readonly text: string }).text}`;
});
const READ: Input = { at: 10, type: "read" };
const SPAWNED: Input = { at: 0, type: "spawned" };
const STOP: Input = {
  at: 20,
  type: "hook",
  event: "Stop",
  payload: { last_assistant_message: TEXT ?? "" },
};
const IDLE: Input = { at: 21, type: "status", status: "idle" };
const exit = (code: number, at = 30): Input => ({
  at,
  type: "exit",
  exit: { kind: "exited", code },
});
const RECORD: Input = { at: 2030, type: "deadline", name: "record" };

/** What becomes of a run. */
function outcome(...inputs: readonly Input[]) {
  const effects: EffectPart[] = [];
  const begin = [...onlyMessage({ text: SENT ?? "" }), SPAWNED];
  fold(conversationOptions(), [...begin, ...inputs], {
    onEffect: (effect) => effects.push(...partsOf(effect)),
  });
  const report = effects.find((effect) => effect.type === "report")?.report;
  return { effects, report, frames: effects.filter((effect) => effect.type === "frame") };
}

Deno.test("a run is told from its first frame to its result, and then ends", () => {
  const { effects, report } = outcome(...LINES, READ, STOP, IDLE, exit(143));
  const said = effects.map((effect) => effect.type === "frame" ? effect.frame.type : effect.type);
  assertEquals(said.slice(-3), ["result", "report", "end"]);
  assertEquals(said.filter((each) => each === "result").length, 1);
  assertEquals([report?.exitCode, report?.problem, report?.result.result], [0, undefined, TEXT]);
  assertEquals(typeof report?.result["total_cost_usd"], "number");
});

Deno.test("the answer that Stop announced is waited for, though the child is gone", () => {
  const last = LINES.indexOf(ANSWER as Input);
  const early = [...LINES.slice(0, last), READ, STOP, IDLE, exit(143)];
  assertEquals(outcome(...early).report, undefined);
  const late = outcome(...early, ...LINES.slice(last), READ);
  assertEquals([late.report?.exitCode, late.report?.result.result], [0, TEXT]);
  const never = outcome(...early, RECORD);
  assertEquals([never.report?.exitCode, never.report?.result.result], [0, TEXT]);
  const hurried = outcome(...early, { at: 40, type: "signal", signal: "SIGINT" });
  assertEquals(hurried.report?.exitCode, 0);
});

Deno.test("who has killed a child behind its answer is told, and that its cost is not known only where it is not", () => {
  const killed: Input = { at: 9000, type: "exit", exit: { kind: "signaled", signal: 9 } };
  const ignored = [1000, 2000, 3000, 4000, 5000].map((at): Input => ({
    at: 21 + at,
    type: "deadline",
    name: "exit",
  }));
  const warning = (...inputs: readonly Input[]) => {
    const { report } = outcome(...LINES, READ, STOP, IDLE, ...inputs);
    assertEquals([report?.exitCode, report?.result.result], [0, TEXT]);
    return report?.warning;
  };
  const unpriced = { ...killed, remains: { version: "2.1.332" } } as Input;
  assertEquals(warning(exit(143)), undefined);
  assertEquals(
    [warning(killed), warning(...ignored, killed)],
    [
      "Claude Code was killed behind its answer by somebody else (SIGKILL)",
      "Claude Code did not end within 5 s of its answer and was killed",
    ],
  );
  const isPrice = (input: Input) =>
    input.type === "transcript" && input.entry.type === "other" &&
    input.entry.line["type"] === "cost-state";
  const { report } = outcome(
    ...LINES.filter((input) => !isPrice(input)),
    READ,
    STOP,
    IDLE,
    unpriced,
  );
  assertStringIncludes(
    report?.warning ?? "",
    "by somebody else (SIGKILL), so the cost is not known",
  );
});

Deno.test("a child that was killed before it had written its answer down has lost it to the session", () => {
  const last = LINES.indexOf(ANSWER as Input);
  const killed: Input = { at: 36_000, type: "exit", exit: { kind: "signaled", signal: 9 } };
  const { report } = outcome(...LINES.slice(0, last), READ, STOP, IDLE, killed, RECORD);
  assertEquals([report?.exitCode, report?.result.result], [0, TEXT]);
  assertEquals(
    report?.warning,
    "Claude Code was killed before it had written its answer down: whoever resumes the session goes on without it",
  );
});

Deno.test("a conversation in which nothing was said has no beginning", () => {
  const { frames, ...options } = conversationOptions({ conversation: true });
  const said: EffectPart[] = [];
  fold({ ...options, frames: { ...frames, conversation: true } }, [
    SPAWNED,
    IDLE,
    { at: 22, type: "reachable" },
    { ...exit(137), remains: { version: "2.1.332" } } as Input,
  ], { onEffect: (effect) => said.push(...partsOf(effect)) });
  assertEquals(said.filter(({ type }) => type === "frame" || type === "report"), []);
  assertEquals(said.at(-1)?.type, "end");
});

Deno.test("a run without any line has a beginning, and a result that says why", () => {
  const remains = { version: "2.1.332" };
  const { frames, report } = outcome({ ...exit(7), remains } as Input);
  assertEquals(frames.map(({ frame }) => frame.type), ["system", "result"]);
  assertEquals([report?.exitCode, report?.result.subtype], [2, "internal_error"]);
  assertStringIncludes(report?.problem?.message ?? "", "exit code 7");
  const foreign = outcome(exit(7)).report;
  assertStringIncludes(foreign?.problem?.message ?? "", "it is not Claude Code");
});

const writes = (text: string): Input => ({
  at: 5,
  type: "terminal",
  bytes: new TextEncoder().encode(text),
});

Deno.test("a child that refuses to begin is told in its words, as claude -p tells it, and with nothing that was begun", () => {
  const red = "\x1b[0m\x1b[31m\x1b[31mError: Invalid MCP configuration:\x1b[39m\r\n" +
    "\x1b[31mno such file\x1b[39m\x1b[0m\r\n\x1b[?25h";
  const { frames, report } = outcome(...[...red].map((each) => writes(each)), exit(1));
  assertEquals(frames.map(({ frame }) => [frame.type, frame.subtype]), [["result", "refused"]]);
  assertEquals([report?.exitCode, report?.problem], [1, {
    message: "Error: Invalid MCP configuration:\nno such file",
  }]);
  for (
    const other of [
      [writes(red), exit(2)],
      [writes(""), exit(1)],
      [writes("\x1b7\x1b[r\x1b8\x1b[?25hError"), exit(1)],
      [writes(`Error: ${"x".repeat(9000)}`), writes("y"), exit(1)],
      [writes(red), IDLE, exit(1)],
    ]
  ) assertEquals(outcome(...other).report?.result.subtype, "internal_error");
});

Deno.test("a prompt that was changed is told so in the same words, whether its line or its hook is heard first", () => {
  const written = line({
    type: "user",
    uuid: "p",
    message: { role: "user", content: `<pasted_content id="1">${SENT}</pasted_content>` },
  });
  const taken: Input = {
    at: 10,
    type: "hook",
    event: "UserPromptSubmit",
    payload: { prompt: `<pasted_content id="1">${SENT}</pasted_content>` },
  };
  const rest = [...LINES.filter((input) => input === ANSWER), READ, STOP, IDLE, exit(143)];
  for (const begun of [[taken], [{ at: 10, ...written }, READ, taken]]) {
    const { report } = outcome(...begun, ...rest);
    assertStringIncludes(report?.problem?.message ?? "", "wraps a text of this size in tags");
    assertEquals([report?.exitCode, report?.result.result], [2, undefined]);
  }
});

Deno.test("turns that only the end of the run gave rise to are none of its turns", () => {
  const notified = (status: string): Input => ({
    at: 22,
    ...line({
      type: "user",
      uuid: crypto.randomUUID(),
      message: {
        content:
          `<task-notification><task-id>b</task-id><status>${status}</status></task-notification>`,
      },
    }),
  });
  const turns = (...statuses: readonly string[]) => {
    const stop = { ...STOP, payload: { ...STOP.payload, background_tasks: [{ id: "b" }] } };
    const signal: Input = { at: 21, type: "signal", signal: "SIGTERM" };
    return outcome(
      ...[...LINES, READ, stop as Input, signal, ...statuses.map(notified)],
      ...[READ, exit(143)],
    ).report?.result["result_index"];
  };
  assertEquals(turns("completed", "killed", "killed"), 1);
  assertEquals(turns("killed"), 0);
});

Deno.test("what an earlier run or another Claude Code wrote is not told", () => {
  const entry = line({ type: "assistant", uuid: "old", entrypoint: "cli" }).entry;
  const foreign: Input = {
    at: 5,
    ...line({
      type: "assistant",
      entrypoint: "sdk-cli",
      version: "2.1.332",
      message: { id: "x", model: "m", content: [{ type: "text", text: "not me" }] },
    }),
  };
  const { frames } = outcome(
    { at: 0, type: "earlier", entries: [entry] },
    ...LINES,
    foreign,
    { at: 6, type: "transcript", entry },
    READ,
    STOP,
    IDLE,
    exit(0),
  );
  assert(!JSON.stringify(frames).includes("not me"));
  assert(!JSON.stringify(frames).includes('"old"'));
});

Deno.test("what a caller is asked about a line that is held back waits for it too, and for no longer", () => {
  const told = (...more: readonly Input[]) => {
    const said: string[] = [];
    const written: Input[] = [
      {
        type: "user",
        uuid: "p",
        message: { role: "user", content: "Hi" },
      },
      {
        type: "assistant",
        uuid: "a",
        message: {
          id: "m",
          model: "m",
          content: [{ type: "tool_use", id: "toolu_1", name: "add", input: {} }],
        },
      },
    ].map((each) => ({ at: 10, ...line({ version: "2.1.332", ...each }) }));
    const caller = { idPrefix: "q", callbacks: [] };
    fold(conversationOptions({ conversation: true, version: "2.1.332", caller }), [
      SPAWNED,
      ...written,
      READ,
      {
        at: 11,
        type: "mcp-message",
        server: "calc",
        message: {
          id: 1,
          method: "tools/call",
          params: { _meta: { "claudecode/toolUseId": "toolu_1" } },
        },
      },
      ...more,
    ], {
      onEffect: (effect) => {
        if (effect.type === "frame") said.push(effect.frame.type);
      },
    });
    return said;
  };
  assertEquals(told(), []);
  const request: Input = {
    at: 12,
    ...line({ type: "api-request", querySource: "repl_main_thread", shapeHash: "h" }),
  };
  const whole = ["system", "assistant", "control_request"];
  assertEquals(told(request, { ...READ, at: 12 }), whole);
  assertEquals(told({ at: 400, type: "deadline", name: "init" }), whole);
  assertEquals(told({ at: 2011, type: "deadline", name: "told" }), ["control_request"]);
});

Deno.test("no turn begins with a prompt that the answer of another event's hook has ended", () => {
  const caller = { idPrefix: "q", callbacks: [{ event: "UserPromptSubmit", id: "mine" }] };
  const options = conversationOptions({ conversation: true, version: "2.1.332", caller });
  const told: string[] = [];
  const { frames } = options;
  const output = { hookEventName: "PreToolUse", additionalContext: "x" };
  fold(
    { ...options, frames: { ...frames, conversation: true, version: "2.1.332" } },
    [
      SPAWNED,
      { at: 1, type: "reachable" },
      { at: 2, type: "status", status: "idle" },
      { at: 3, type: "message", message: { text: "Go", way: "rendezvous" } },
      {
        ...{ at: 4, type: "hook", event: "UserPromptSubmit", id: "7", callback: 0 },
        payload: { prompt: "Go" },
      },
      {
        ...{ at: 5, type: "answer" },
        answer: { id: "q-1", response: { hookSpecificOutput: output } },
      },
      exit(143),
    ] as const satisfies readonly Input[],
    {
      onEffect: (effect) =>
        told.push(
          ...partsOf(effect).flatMap((part) =>
            part.type === "frame" ? [`${part.frame["subtype"] ?? part.frame.type}`] : []
          ),
        ),
    },
  );
  assertEquals(told, ["control_request", "error_during_execution"]);
});
