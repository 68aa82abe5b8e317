import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  emitHookFailure,
  emitMode,
  emitPlanMode,
  emitReloadedCommands,
  recordCommands,
} from "../../../src/conversation/output/session_changes.ts";
import { type OutputState, startOutput } from "../../../src/conversation/output/output_state.ts";
import { leftForNextChild } from "../../../src/conversation/output/turns/conversation_cost.ts";
import type { Exit } from "../../../src/conversation/control/input.ts";
import { lineOf } from "../../../src/claude/transcript/entry.ts";
import { onlyMessage } from "../control/only_message.ts";
import { readTranscript } from "../../claude/transcript/recording.ts";
import { message } from "../control/caller_inputs.ts";
import { cost, hook, IDLE, REACHABLE, READ, stop, submit } from "../control/inputs.ts";
import { conversationOptions } from "./conversation_options.ts";
import {
  at,
  call,
  entryOf,
  type Line,
  notification,
  OVER,
  prompt,
  REQUEST,
  result,
  text,
} from "./lines.ts";
import { fieldsOf, kinds } from "./outlines.ts";
import { type ChangedOptions, ConversationRun, type News, runStep, VERSION } from "./runs.ts";

const LINES: readonly Line[] = readTranscript("2.1.330/bash").entries.map(lineOf);
const LAST = LINES.findLastIndex(({ type }) => type === "assistant");

/** The text of a recorded line. */
function textOf(line: Line | undefined): string {
  const { content } = line?.["message"] as { readonly content: string | readonly Line[] };
  return typeof content === "string" ? content : `${content.at(-1)?.["text"]}`;
}
const SENT = textOf(LINES.find(({ type }) => type === "user"));
const ANSWER = textOf(LINES[LAST]);

const STOP = stop(ANSWER);
const exit = (exit: Exit, version?: string): News => ({
  type: "exit",
  exit,
  ...(version === undefined ? {} : { remains: { version } }),
});
const ended = (code: number) => exit({ kind: "exited", code });
const KILLED = exit({ kind: "signaled", signal: 9 });

/** A run of one message. */
class OneRun extends ConversationRun {
  constructor(options: ChangedOptions = {}, sent = SENT) {
    super(options);
    this.give(...onlyMessage({ text: sent }).map(({ at: _, ...input }) => input as News));
    this.give({ type: "spawned" });
  }

  get report() {
    return this.of("report").at(-1)?.report;
  }

  /** The exit code, and the text or the subtype of the result. */
  get outcome() {
    const { exitCode, result } = this.report ?? {};
    return [exitCode, result?.result ?? result?.subtype];
  }
}

/** A run whose child has answered, but for what it has not written down. */
function answered(lines = LINES): OneRun {
  const run = new OneRun();
  run.push(...lines);
  run.give(STOP, IDLE);
  return run;
}

Deno.test("a run ends with its result, report and end", () => {
  const run = answered();
  run.give(ended(143));
  const types = run.parts.map((part) => part.type === "frame" ? part.frame.type : part.type);
  assertEquals(types.slice(-3), ["result", "report", "end"]);
  assertEquals(types.filter((type) => type === "result").length, 1);
  assertEquals([run.outcome, run.report?.problem, run.report?.warning], [
    [0, ANSWER],
    undefined,
    undefined,
  ]);
  assertEquals(typeof run.report?.result["total_cost_usd"], "number");
});

Deno.test("a dead child's answer is waited for", () => {
  const early = () => {
    const run = answered(LINES.slice(0, LAST));
    run.give(ended(143));
    assertEquals(run.report, undefined);
    return run;
  };
  const ends = [
    (run: OneRun) => run.push(...LINES.slice(LAST)),
    (run: OneRun) => run.pass("record"),
    (run: OneRun) => run.give({ type: "signal", signal: "SIGINT" }),
  ];
  for (const end of ends) {
    const run = early();
    end(run);
    assertEquals(run.outcome, [0, ANSWER]);
  }
});

Deno.test("a child killed after its answer is a warning", () => {
  const killed = answered();
  killed.give(KILLED);
  const slow = answered();
  slow.waitUntil(9000);
  slow.give(KILLED);
  const awaitingCost = answered(LINES.filter(({ type }) => type !== "cost-state"));
  awaitingCost.give({ ...KILLED, remains: { version: VERSION } } as News);
  const unwritten = answered(LINES.slice(0, LAST));
  unwritten.give(KILLED);
  unwritten.pass("record");
  const others = "Claude Code was killed after its answer by another process (SIGKILL)";
  const rows = [
    [killed, others],
    [slow, "Claude Code did not end within 5 s of its answer and was killed"],
    [awaitingCost, `${others}, so the cost is not known`],
    [
      unwritten,
      "Claude Code was killed before it had written its answer down: " +
      "whoever resumes the session goes on without it",
    ],
  ] as const;
  for (const [run, warning] of rows) {
    assertEquals(run.outcome, [0, ANSWER]);
    assertStringIncludes(run.report?.warning ?? "", warning);
  }
});

const CONVERSATION: ChangedOptions = {
  session: { conversation: true, version: VERSION },
  frames: { conversation: true, version: VERSION },
};

Deno.test("a conversation without messages prints nothing", () => {
  const run = new ConversationRun(CONVERSATION);
  run.give({ type: "spawned" }, IDLE, REACHABLE, exit({ kind: "exited", code: 137 }, VERSION));
  assertEquals([run.frames, run.of("report")], [[], []]);
  assertEquals(run.parts.at(-1)?.type, "end");
});

Deno.test("a run without lines has a result that says why", () => {
  const rows = [[VERSION, "exit code 7"], [undefined, "it is not Claude Code"]];
  for (const [version, reason] of rows) {
    const run = new OneRun();
    run.give(exit({ kind: "exited", code: 7 }, version));
    assertEquals([kinds(run.frames), run.outcome], ["init result", [2, "internal_error"]]);
    assertStringIncludes(run.report?.problem?.message ?? "", reason ?? "");
  }
});

const writes = (text: string): News => ({
  type: "terminal",
  bytes: new TextEncoder().encode(text),
});

Deno.test("a child that refuses to start is quoted", () => {
  const red = "\x1b[0m\x1b[31m\x1b[31mError: Invalid MCP configuration:\x1b[39m\r\n" +
    "\x1b[31mno such file\x1b[39m\x1b[0m\r\n\x1b[?25h";
  const run = new OneRun();
  run.give(...[...red].map(writes), ended(1));
  assertEquals([kinds(run.frames), run.outcome], ["result", [1, "refused"]]);
  assertEquals(run.report?.problem, {
    message: "Error: Invalid MCP configuration:\nno such file",
    suggestion: "Claude Code ended before the prompt: correct the flag or file that it names",
  });
  const others = [
    [writes(red), ended(2)],
    [writes(""), ended(1)],
    [writes("\x1b7\x1b[r\x1b8\x1b[?25hError"), ended(1)],
    [writes(`Error: ${"x".repeat(9000)}`), writes("y"), ended(1)],
    [writes(red), IDLE, ended(1)],
  ];
  for (const other of others) {
    const run = new OneRun();
    run.give(...other);
    assertEquals(run.outcome, [2, "internal_error"]);
  }
});

Deno.test("a changed prompt fails by its line or hook", () => {
  const changed = `<pasted_content id="1">${SENT}</pasted_content>`;
  for (const isWritten of [false, true]) {
    const run = new OneRun();
    if (isWritten) run.push(prompt(changed));
    run.give(submit(changed));
    run.push(LINES[LAST] ?? {});
    run.give(STOP, IDLE, ended(143));
    assertStringIncludes(run.report?.problem?.message ?? "", "wraps a text of this size in tags");
    assertEquals([run.outcome[0], run.report?.result.result], [2, undefined]);
  }
});

Deno.test("turns that the run's end started are not counted", () => {
  const rows = [
    [["completed", "killed"], [0, "success"], [1, "interrupted"]],
    [["killed"], [0, "interrupted"]],
  ] as const;
  for (const [statuses, ...results] of rows) {
    const run = new OneRun();
    run.push(...LINES);
    const payload = { last_assistant_message: ANSWER, background_tasks: [{ id: "b" }] };
    run.give(hook("Stop", payload), { type: "signal", signal: "SIGTERM" });
    run.push(...statuses.map((status) => prompt(notification("b", status), { uuid: status })));
    run.give(ended(143));
    assertEquals<unknown>(fieldsOf(run.frames, "result", "result_index", "subtype"), results);
    assertEquals(run.report?.result["result_index"], results.length - 1);
    const ids = fieldsOf(run.frames, "result", "uuid").map(([id]) => typeof id);
    assertEquals(new Set(ids), new Set(["string"]));
  }
});

Deno.test("child replaced during a background task reports its turn", () => {
  const run = new ConversationRun({
    session: { conversation: true, version: VERSION },
    frames: { conversation: true },
  });
  const say = (text: string): News => ({
    type: "message",
    message: { text, way: "rendezvous", ticket: text },
  });
  const change = { id: "r", subtype: "set_permission_mode", body: { mode: "plan" } };
  const task = { id: "b", type: "shell" };
  run.give({ type: "spawned" }, { type: "reachable" }, IDLE, say("One"));
  run.give({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "One" } });
  run.push(prompt("One"), text("started"));
  const payload = { last_assistant_message: "started", background_tasks: [task] };
  run.give({ type: "hook", event: "Stop", payload });
  run.push(OVER);
  run.give({ type: "control", request: change }, say("Two"), ended(143));
  const [report, ...others] = run.of("report").map(({ report }) => report);
  assertEquals([report?.tickets, report?.result.result, others], [["One"], "started", []]);
  assertEquals(run.of("end")[0]?.ending.kind, "renewed");
  assertEquals(fieldsOf(run.frames, "result", "result"), [["started"]], "it is not told again");
});

Deno.test("lines of other runs are not printed", () => {
  const old = entryOf(text("old", { uuid: "old", entrypoint: "cli" }));
  const run = new OneRun();
  run.give({ type: "earlier", entries: [old] });
  run.push(...LINES, text("not me", { entrypoint: "sdk-cli" }));
  run.give({ type: "transcript", entry: old }, READ, STOP, IDLE, ended(0));
  assert(!/not me|"old"/u.test(JSON.stringify(run.frames)));
  assertEquals(run.outcome, [0, ANSWER]);
});

Deno.test("a question about a deferred line waits for it", () => {
  const caller = { idPrefix: "q", callbacks: [] };
  const params = { _meta: { "claudecode/toolUseId": "toolu_1" } };
  const asked = () => {
    const run = new ConversationRun({ session: { conversation: true, version: VERSION, caller } });
    run.give({ type: "spawned" });
    run.push(prompt(), call("toolu_1", "add", {}));
    run.give({
      type: "mcp-message",
      server: "calc",
      message: { id: 1, method: "tools/call", params },
    });
    assertEquals([run.frames, run.due("init"), run.due("told")], [[], 10_000, 2000]);
    return run;
  };
  const requested = asked();
  requested.push(REQUEST);
  assertEquals(kinds(requested.frames), "init assistant control_request");
  const late = asked();
  late.waitUntil(2000);
  assertEquals(kinds(late.frames), "control_request");
});

Deno.test("a prompt that a misnamed answer ends begins no turn", () => {
  const caller = { idPrefix: "q", callbacks: [{ event: "UserPromptSubmit", id: "mine" }] };
  const run = new ConversationRun({
    ...CONVERSATION,
    session: { ...CONVERSATION.session, caller },
  });
  const output = { hookEventName: "PreToolUse", additionalContext: "x" };
  const payload = { prompt: "Go" };
  run.give(
    { type: "spawned" },
    REACHABLE,
    IDLE,
    message("Go"),
    { type: "hook", event: "UserPromptSubmit", id: "7", callback: 0, payload },
    { type: "answer", answer: { id: "q-1", response: { hookSpecificOutput: output } } },
    ended(143),
  );
  assertEquals(run.frames.map(({ type, subtype }) => subtype ?? type), [
    ...["control_request", "error_during_execution"],
  ]);
});

const { frames: OPTIONS, report: REPORT } = conversationOptions();
const BEGUN = startOutput(OPTIONS, REPORT);

Deno.test("reloaded commands are printed if they have changed", () => {
  const one = [{ name: "one" }];
  const two = [...one, { name: "two" }];
  const told = (state: OutputState, commands: readonly unknown[]) =>
    runStep(state, (step) => emitReloadedCommands(step, commands)).frames.map((frame) =>
      frame["commands"]
    );
  const response = { commands: one };
  const { state: known } = runStep(
    BEGUN,
    (step) => recordCommands(step, { subtype: "success", request_id: "1", response }),
  );
  assertEquals([told(known, one), told(known, two)], [[], [two]]);
  assertEquals(told(BEGUN, two), [], "what they were before is not known");
  const { state } = runStep(known, (step) => emitReloadedCommands(step, two));
  assertEquals(told(state, two), []);
  const next = startOutput({ ...OPTIONS, before: leftForNextChild(state, []) }, REPORT);
  assertEquals([told(next, two), told(next, one)], [[], [one]]);
});

Deno.test("a permission mode is printed when it changes", () => {
  const modeStep = (state: OutputState, mode: string) =>
    runStep(state, (step) => emitMode(step, mode));
  const modes = ({ frames }: ReturnType<typeof runStep>) =>
    frames.map(({ permissionMode }) => permissionMode);
  assertEquals(modes(modeStep(BEGUN, OPTIONS.permissionMode)), []);
  const planning = modeStep(BEGUN, "plan");
  assertEquals([modes(planning), modes(modeStep(planning.state, "plan"))], [["plan"], []]);
  assertEquals(modes(modeStep(planning.state, OPTIONS.permissionMode)), [OPTIONS.permissionMode]);
  const toolUses = new Map(
    ["EnterPlanMode", "Read"].map((name) => [name, { id: name, name, input: {} }]),
  );
  const rows = [
    ["EnterPlanMode", {}, ["plan"]],
    ["EnterPlanMode", { is_error: true }, []],
    ["Read", {}, []],
  ] as const;
  for (const [id, block, told] of rows) {
    const entry = entryOf(result(id, undefined, block));
    assertEquals<unknown>(
      modes(runStep({ ...BEGUN, toolUses }, (step) => emitPlanMode(step, entry))),
      told,
    );
  }
});

Deno.test("a hook's failure is printed after the first prompt", () => {
  const first = runStep(BEGUN, (step) => emitHookFailure(step, { text: "it failed" }));
  assertEquals([first.frames, first.state.framesAfterInit.length], [[], 1]);
  const later = startOutput({ ...OPTIONS, before: leftForNextChild(BEGUN, []) }, REPORT);
  for (const state of [{ ...BEGUN, hasInit: true }, later]) {
    const told = (more: object, ...fields: readonly string[]) =>
      runStep(state, (step) => emitHookFailure(step, { text: "it failed", ...more })).frames
        .map((frame) => fields.map((field) => (frame as Line)[field]));
    assertEquals(told({}, "subtype", "content", "level", "tag"), [
      ["informational", "it failed", "warning", "hook_callback_failed"],
    ]);
    assertEquals(told({ own: true }, "content", "tag"), [["it failed", undefined]]);
    assertEquals(told({ ofStop: true }, "subtype", "key"), [
      ["informational", undefined],
      ["notification", "stop-hook-error"],
    ]);
  }
});

const SCHEDULED_FOR = Date.UTC(2026, 0, 1, 0, 2);
const ONCE = { id: "a1b2c3d4", recurring: false, prompt: "Wake up" };
const COST = cost(0.1, 5);
const stops = (words: string, ...session_crons: readonly object[]) =>
  stop(words, { background_tasks: [], session_crons });
const wakeup = (wakeupSource = "loop_wakeup") =>
  prompt("Wake up", { uuid: "w1", isMeta: true, wakeupSource });

/** A run whose model has asked to be woken, and has answered. */
function scheduled(options: ChangedOptions = {}, isOver = true): OneRun {
  const run = new OneRun(options, "hello there");
  const wakeup = { scheduledFor: SCHEDULED_FOR, clampedDelaySeconds: 60, wasClamped: false };
  run.push(prompt("hello there"), { ...result("t", wakeup), ...at(0) }, text("first"));
  if (!isOver) return run;
  run.give(stops("first", ONCE), COST, IDLE);
  run.push(OVER);
  return run;
}

/** The model is woken, answers, and the child ends. */
function wake(run: OneRun, source?: string): OneRun {
  run.push(wakeup(source), text("woken"));
  run.give(stops("woken"), COST, IDLE);
  run.push(OVER);
  run.give(ended(143));
  return run;
}

const words = (run: ConversationRun) =>
  run.frames.map((frame) => frame.type === "result" ? `"${frame.result}"` : kinds([frame]))
    .join(" ");
const WOKEN = 'init user assistant "first" command_lifecycle init assistant "woken" ' +
  "command_lifecycle";

Deno.test("a woken model's turn has a lifecycle and a result", () => {
  const run = wake(scheduled());
  assertEquals([words(run), run.report?.warning], [WOKEN, undefined]);
  const fields = ["command_uuid", "state", "wakeup_source", "scheduled_for"];
  assertEquals(fieldsOf(run.frames, "command_lifecycle", ...fields), [
    ["w1", "started", "loop_wakeup", SCHEDULED_FOR],
    ["w1", "completed", undefined, undefined],
  ]);
  assertEquals(fieldsOf(run.frames, "result", "result_index", "num_turns"), [[0, 2], [1, 1]]);
});

Deno.test("the first result comes before an immediate wake-up", () => {
  const run = scheduled({}, false);
  run.give(stops("first", ONCE), COST);
  run.push(OVER, wakeup(), text("woken"));
  run.give(stops("woken"), COST, IDLE);
  run.push(OVER);
  run.give(ended(143));
  assertEquals(words(run), WOKEN);
});

const WITH_STDIN: ChangedOptions = {
  session: { conversation: true, hasOnStdin: true },
  frames: { conversation: true },
};

Deno.test("a woken turn is no message's turn", () => {
  const run = scheduled(WITH_STDIN);
  run.push(wakeup());
  run.give(message("Two"));
  run.push(text("woken"));
  run.give(stops("woken"), COST, IDLE);
  run.push(OVER);
  run.give(ended(143));
  assertEquals(fieldsOf(run.frames, "result", "result").slice(0, 2), [["first"], ["woken"]]);
});

Deno.test("a prompt of a schedule keeps its source", () => {
  const run = wake(scheduled(), "schedule_wakeup");
  assertEquals(fieldsOf(run.frames, "command_lifecycle", "wakeup_source")[0], ["schedule_wakeup"]);
});

Deno.test("a model kept asleep by a project is a warning", () => {
  for (const keptAsleep of [true, undefined]) {
    const session = { wakeless: true } as const;
    const run = scheduled({ session, report: keptAsleep ? { keptAsleep } : {} });
    run.give(ended(143));
    assertEquals(words(run), 'init user assistant "first"');
    assertEquals(run.report?.warning?.includes(".claude/scheduled_tasks.json"), keptAsleep);
  }
});

Deno.test("a signal before the wake-up has an interrupted result", () => {
  const run = scheduled(WITH_STDIN);
  run.give({ type: "signal", signal: "SIGTERM" }, ended(143));
  assertEquals(fieldsOf(run.frames, "result", "subtype"), [["success"], ["interrupted"]]);
});
