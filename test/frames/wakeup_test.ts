import { assertEquals, assertStringIncludes } from "@std/assert";
import { type EffectPart, partsOf } from "../../src/frames/conversation.ts";
import { fold } from "../../src/frames/advance.ts";
import type { Input, Untimed } from "../../src/session/input.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { onlyMessage } from "../session/only_message.ts";
import { answer, COMPLETED, line } from "../transcript/lines.ts";
import { conversationOptions } from "./conversation_options.ts";

const SCHEDULED_FOR = Date.parse("2026-01-01T00:02:00.000Z");
const VERSION = { version: "2.1.332", sessionId: "s" };
const user = (content: unknown, fields: object = {}) =>
  line({ type: "user", message: { content }, ...VERSION, ...fields });
const PROMPT = user("hello there", { uuid: "p1" });
const SCHEDULED = user([{ type: "tool_result", tool_use_id: "t", content: "x" }], {
  timestamp: "2026-01-01T00:00:00.000Z",
  toolUseResult: { scheduledFor: SCHEDULED_FOR, clampedDelaySeconds: 60, wasClamped: false },
});
const woken = (uuid: string, wakeupSource = "loop_wakeup") =>
  user("Wake up", { uuid, isMeta: true, wakeupSource });
const stop = (text: string, crons: readonly object[] = []): Untimed<Input> => ({
  type: "hook",
  event: "Stop",
  payload: { last_assistant_message: text, background_tasks: [], session_crons: crons },
});
const ONCE = [{ id: "a1b2c3d4", recurring: false, prompt: "Wake up" }];
const COST = { type: "cost", totalUsd: 0.1, apiDurationMs: 5, modelUsage: {} } as const;
const IDLE = { type: "status", status: "idle" } as const;
const EXIT = { type: "exit", exit: { kind: "exited", code: 143 } } as const;
const READ = { type: "read" } as const;

/** What is printed of a run, and said on stderr at its end. */
function printed(
  inputs: readonly Untimed<Input>[],
  change: (options: ReturnType<typeof conversationOptions>) => typeof options = (all) => all,
) {
  const parts: EffectPart[] = [];
  const begin = [...onlyMessage({ text: "hello there" }), { at: 0, type: "spawned" } as const];
  const timed = inputs.map((input, index) => ({ ...input, at: index + 1 }) as Input);
  fold(change(conversationOptions()), [...begin, ...timed], {
    onEffect: (effect) => parts.push(...partsOf(effect)),
  });
  const reports = parts.flatMap((part) => part.type === "report" ? [part.report] : []);
  return {
    frames: parts.flatMap((part) => part.type === "frame" ? [part.frame] : []),
    warning: reports.at(-1)?.warning,
  };
}

const named = (frames: readonly Frame[]) =>
  frames.map(({ type, subtype, state, result }) =>
    `${type} ${type === "system" ? subtype : state ?? result ?? ""}`.trim()
  );

const FIRST = [PROMPT, SCHEDULED, answer("first"), READ];
const OVER = [stop("first", ONCE), COST, IDLE, COMPLETED, READ];
const SECOND = [answer("woken"), READ, stop("woken"), COST, IDLE, COMPLETED, READ, EXIT];
const PRINTED = [
  ...["system init", "user", "assistant", "result first"],
  ...["command_lifecycle started", "system init", "assistant", "result woken"],
  "command_lifecycle completed",
];

Deno.test("the turn of a woken model is told like one of a message, with a result of its own", () => {
  const { frames, warning } = printed([...FIRST, ...OVER, woken("w1"), ...SECOND]);
  assertEquals([named(frames), warning], [PRINTED, undefined]);
  const [started, completed] = frames.filter(({ type }) => type === "command_lifecycle")
    .map(({ uuid: _, ...frame }) => frame);
  const lifecycle = {
    type: "command_lifecycle",
    command_uuid: "w1",
    session_id: started?.session_id,
  };
  assertEquals<unknown>(started, {
    ...lifecycle,
    state: "started",
    wakeup_source: "loop_wakeup",
    scheduled_for: SCHEDULED_FOR,
  });
  assertEquals<unknown>(completed, { ...lifecycle, state: "completed" });
  const results = frames.filter(({ type }) => type === "result");
  assertEquals(results.map(({ result_index, num_turns }) => [result_index, num_turns]), [
    ...[[0, 2], [1, 1]],
  ]);
});

Deno.test("where it is woken at once, what the first turn has come to is still told before that", () => {
  // Its end is read together with what follows.
  const early = [stop("first", ONCE), COST, COMPLETED, woken("w1"), ...SECOND];
  assertEquals(named(printed([...FIRST, ...early]).frames), PRINTED);
});

Deno.test("the turn of a woken model is no message's that is on its way meanwhile", () => {
  const message = { type: "message", message: { text: "Two", way: "rendezvous" } } as const;
  const [wake, ...rest] = [woken("w1"), message, ...SECOND];
  const { frames } = printed(
    [...FIRST, ...OVER, wake as Untimed<Input>, READ, ...rest],
    ({ session, frames, ...options }) => ({
      ...options,
      session: { ...session, conversation: true, hasOnStdin: true },
      frames: { ...frames, conversation: true },
    }),
  );
  const results = frames.filter(({ type }) => type === "result");
  assertEquals(results.slice(0, 2).map(({ result, subtype }) => result ?? subtype), [
    "first",
    "woken",
  ]);
});

Deno.test("a prompt that comes by a schedule has no time that the model has set", () => {
  const { frames } = printed([...FIRST, ...OVER, woken("w1", "schedule_wakeup"), ...SECOND]);
  const [started] = frames.filter(({ type }) => type === "command_lifecycle");
  assertEquals(started?.["wakeup_source"], "schedule_wakeup");
});

Deno.test("a model that is not woken because of a project's own prompts is told of on stderr", () => {
  const inputs = [...FIRST, ...OVER, EXIT];
  const kept = printed(inputs, ({ session, report, ...options }) => ({
    ...options,
    session: { ...session, wakeless: true },
    report: { ...report, keptAsleep: true },
  }));
  assertEquals(named(kept.frames), PRINTED.slice(0, 4));
  assertStringIncludes(kept.warning ?? "", ".claude/scheduled_tasks.json");
  const silent = printed(inputs, ({ session, ...options }) => ({
    ...options,
    session: { ...session, wakeless: true },
  }));
  assertEquals(silent.warning, undefined);
});

Deno.test("whoever ends a conversation that was to go on by itself is told so in a result", () => {
  const signal = { type: "signal", signal: "SIGTERM" } as const;
  const inputs = [...FIRST, ...OVER, signal, EXIT];
  const { frames } = printed(inputs, ({ session, frames, ...options }) => ({
    ...options,
    session: { ...session, conversation: true, hasOnStdin: true },
    frames: { ...frames, conversation: true },
  }));
  const subtypes = frames.filter(({ type }) => type === "result").map(({ subtype }) => subtype);
  assertEquals(subtypes, ["success", "interrupted"]);
});
