import { assertEquals } from "@std/assert";
import { groupHooks, subagentEndsFirst } from "../../../src/conversation/output/lines/hook_ends.ts";
import {
  type HookEnd,
  hookEndIn,
  hookFrames,
  hookRemarks,
  withCallbacks,
} from "../../../src/conversation/output/frames/hook_frames.ts";
import type { OutputOptions } from "../../../src/conversation/output/output_options.ts";
import { OUTPUT_REMINDER } from "../../../src/claude/transcript/structured_output_tool.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { attached, call, entryOf, type Line, prompt, REQUEST, result, text } from "./lines.ts";
import { kinds } from "./outlines.ts";
import { begun, FramesRun, VERSION } from "./runs.ts";

/** Something that is attached because of a hook that runs `check` before a call of Bash. */
const ofCheck = (type: string, more: Line = {}) =>
  attached(type, {
    hookName: "PreToolUse:Bash",
    hookEvent: "PreToolUse",
    toolUseID: "t",
    command: "check",
    ...more,
  });

/** How a line says that a hook has ended, without the hook's name. */
function endOf(line: Line): Partial<HookEnd> | undefined {
  const { name: _, event: __, ...end } = hookEndIn(entryOf(line)) ?? {};
  return Object.keys(end).length === 0 ? undefined : end;
}

Deno.test("hookEndIn() reads how a hook has ended", () => {
  const failed = (stderr: string) =>
    ofCheck("hook_non_blocking_error", {
      stdout: "x\n",
      stderr: `Failed with non-blocking status code: ${stderr}`,
      exitCode: 7,
    });
  const error = { stdout: "x\n", exitCode: 7, outcome: "error" };
  const written = { stdout: "out\n", stderr: "err\n", exitCode: 0 };
  const rows = [
    [ofCheck("hook_success", written), { ...written, outcome: "success" }],
    [failed("one\ntwo"), { ...error, stderr: "one\ntwo\n" }],
    [failed("No stderr output"), { ...error, stderr: "" }],
    [
      ofCheck("hook_cancelled", { timedOut: true }),
      { stdout: "", stderr: "", exitCode: 1, outcome: "cancelled" },
    ],
    [ofCheck("hook_additional_context", { content: ["x"] }), undefined],
  ] as const;
  for (const [line, end] of rows) assertEquals<unknown>(endOf(line), end);
});

Deno.test("hookEndIn() finds a hook that blocks with exit code 2", () => {
  const command = "if [ -f x ]; then\necho no >&2; exit 2; fi";
  const blocked = { stdout: "", stderr: "no\n", exitCode: 2, outcome: "error" } as const;
  const failed = '[callback]: failed; blocking because onFailure is "block"';
  const gave = (content: string) => result("t", undefined, { is_error: true, content });
  const blocking = (blockingError: string, command?: string) =>
    ofCheck("hook_blocking_error", {
      command: undefined,
      blockingError: { blockingError, command },
    });
  const feedback = `Stop hook feedback:\n[${command}]: no\n`;
  const rows = [
    [blocking(`[${command}]: no\n`, command), blocked],
    [{
      type: "system",
      subtype: "informational",
      preventContinuation: true,
      content:
        `UserPromptSubmit operation blocked by hook:\n[${command}]: no\n\n\nOriginal prompt: Hi`,
    }, blocked],
    // A hook that blocks with JSON has succeeded, and its output is not on record.
    [blocking("because", command), undefined],
    [gave("PreToolUse:Bash hook error: because"), undefined],
    // A caller's hook is a request that the caller has received.
    [gave(`PreToolUse:Bash hook error: ${failed}`), undefined],
    [blocking(failed, "callback"), undefined],
    // Users may say so, too.
    [prompt(feedback), undefined],
  ] as const;
  for (const [line, end] of rows) assertEquals(endOf(line), end);
  assertEquals(hookEndIn(entryOf(gave(`PreToolUse:Bash hook error: [${command}]: no\n`))), {
    name: "PreToolUse:Bash",
    event: "PreToolUse",
    ...blocked,
  });
  assertEquals(hookEndIn(entryOf(prompt(feedback, { isMeta: true }))), {
    name: "Stop",
    event: "Stop",
    ...blocked,
  });
});

Deno.test("hookEndIn() skips this program's own hooks", () => {
  const script = "'/tmp/claude-print-0/1-2-3/own/hook'";
  const exitOf = (more: Line) =>
    endOf(ofCheck("hook_success", { stdout: "{}\n", stderr: "", exitCode: 0, ...more }))?.exitCode;
  const commands = [
    `. ${script}`,
    `set -- asks; . ${script}`,
    `set -- asks 12; . ${script}`,
    `exec /bin/sh ${script} asks 12`,
    // A hook of the caller's.
    "callback",
  ];
  for (const command of commands) assertEquals(exitOf({ command }), undefined);
  for (const command of [`. ${script}; cat`, ". ./own/hook", `set -- a 'x'; . ${script}`]) {
    assertEquals(exitOf({ command }), 0);
  }
  assertEquals(exitOf({}), 0);
});

Deno.test("withCallbacks() names a caller's hooks as claude -p does", () => {
  const own = "[set -- asks 3; . '/tmp/claude-print-0/1-2-3/own/hook']";
  assertEquals(withCallbacks(`blocked: ${own}: no\n${own}`), "blocked: [callback]: no\n[callback]");
  assertEquals(withCallbacks("blocked: [make test]: no"), "blocked: [make test]: no");
});

Deno.test("hookFrames() prints the start and the end of a hook", () => {
  let ids = 0;
  const written = { stdout: "a\n", stderr: "b\n", outcome: "error" } as const;
  const frames = hookFrames({ name: "Stop", event: "Stop", ...written, exitCode: 1 }, {
    sessionId: "s",
    newUuid: () => `${++ids}`,
  });
  const hook = { type: "system", hook_id: "1", hook_name: "Stop", hook_event: "Stop" };
  assertEquals<unknown>(frames, [
    { ...hook, subtype: "hook_started", uuid: "2", session_id: "s" },
    {
      ...hook,
      ...written,
      subtype: "hook_response",
      output: "a\nb\n",
      exit_code: 1,
      uuid: "3",
      session_id: "s",
    },
  ]);
});

Deno.test("hookRemarks() prints messages of hooks and failed Stop hooks", () => {
  const own = { command: ". '/tmp/claude-print-0/1-2-3/own/hook'" };
  const summary = (hookErrors: readonly string[], more: Line = {}) => ({
    ...{ type: "system", subtype: "stop_hook_summary" },
    hookErrors,
    ...more,
  });
  const problem = "stop hook problem · ctrl+o to see";
  const rows = [
    [ofCheck("hook_system_message", { content: "look" }), ["PreToolUse:Bash says: look"]],
    [ofCheck("hook_system_message", { content: "look", hookEvent: "SessionStart" }), []],
    [
      ofCheck("hook_cancelled", { timedOut: true }),
      ["A hook didn't answer in time, so it didn't check this action."],
    ],
    [summary([]), []],
    [summary([OUTPUT_REMINDER]), []],
    [summary(["odd", OUTPUT_REMINDER]), [problem]],
    [summary(["odd"]), ["Stop hook error occurred · ctrl+o to see"], "2.1.285"],
    // This program's hook has said all before it is stopped with its child.
    [summary(["odd"], { hookInfos: [own] }), []],
    [summary(["odd"], { hookInfos: [own, { command: "make test" }] }), [problem]],
  ] as const;
  for (const [line, told, version = VERSION] of rows) {
    const frames = hookRemarks(entryOf(line), { version, sessionId: "s", newUuid: () => "new" });
    assertEquals<unknown>(frames.map((frame) => frame["text"] ?? frame["content"]), told);
  }
});

/** Frames by short names: `+Pre` and `-Pre` are the start and the end of a hook, `!` is a remark. */
function framesOf(names: string): readonly Frame[] {
  return names.split(" ").map((name) => {
    const hook_name = name.slice(1);
    const frame = name === "!"
      ? { type: "system", subtype: "informational" }
      : name.startsWith("+")
      ? { type: "system", subtype: "hook_started", hook_name }
      : name.startsWith("-")
      ? { type: "system", subtype: "hook_response", hook_name }
      : name.startsWith("task_")
      ? { type: "system", subtype: name }
      : { type: name };
    return frame as Frame;
  });
}

/** The short names of frames after they were put in order. */
function ordered(names: string, order: (frames: readonly Frame[]) => readonly Frame[]): string {
  const short: Readonly<Record<string, string>> = { hook_started: "+", hook_response: "-" };
  return order(framesOf(names)).map(({ type, subtype, hook_name: name }) =>
    subtype === "informational" ? "!" : `${short[`${subtype}`] ?? subtype ?? type}${name ?? ""}`
  ).join(" ");
}

Deno.test("parallel hooks all start before the first one ends", () => {
  const rows = [
    ["assistant +P -P ! +P -P ! user", "assistant +P +P -P -P ! ! user"],
    ["+P -P +P -P +P -P", "+P +P +P -P -P -P"],
    ["+P -P +Q -Q +Q -Q", "+P -P +Q +Q -Q -Q"],
    // The model reads the feedback of a Stop hook in between.
    ["+Stop -Stop user +Stop -Stop", "+Stop +Stop -Stop user -Stop"],
    ["+Stop -Stop ! +Stop -Stop !", "+Stop +Stop -Stop ! -Stop !"],
    ["+P -P"],
    ["+P -P user +P -P"],
    ["+Stop -Stop assistant +Stop -Stop"],
    ["+P -P ! assistant ! user"],
  ] as const;
  for (const [told, expected = told] of rows) {
    assertEquals(ordered(told, groupHooks), expected);
  }
});

Deno.test("a subagent ends before the hooks after its call", () => {
  const pre = "assistant +PreToolUse:Agent -PreToolUse:Agent";
  const post = "+PostToolUse:Agent +PostToolUse:Agent -PostToolUse:Agent -PostToolUse:Agent";
  const failed = post.replaceAll("Use:", "UseFailure:");
  const over = "task_updated task_notification";
  const rows = [
    [`${pre} ${post} ! ${over} user !`, `${pre} ${over} ${post} ! user !`],
    [`${failed} ${over} user`, `${over} ${failed} user`],
    [`${post} ${over} user ${post} ${over} user`, `${over} ${post} user ${over} ${post} user`],
    [`${over} ${post} user`],
    [`${post} user ${over} user`],
    [`${pre} ! ${over} user`],
    ["+PostToolUse:Bash -PostToolUse:Bash task_notification user"],
  ] as const;
  for (const [told, expected = told] of rows) {
    assertEquals(ordered(told, subagentEndsFirst), expected);
  }
});

/** All hooks of the end of the turn have ended. */
const STOPPED = { type: "system", subtype: "stop_hook_summary" };
const ofStop = (type: string, more: Line) =>
  attached(type, { hookEvent: "Stop", hookName: "Stop", ...more });
const stop = (stdout: string) => ofStop("hook_success", { stdout, exitCode: 0 });

/** What frames since the last time say of hooks. */
const told = (run: FramesRun) =>
  run.take().map(({ type, subtype, output, content }) => output ?? content ?? subtype ?? type);

const BOTH = ["hook_started", "hook_started", "fast", "slow"];

Deno.test("Stop hooks are printed together once all have ended", () => {
  const ends = [
    (run: FramesRun) => run.push(STOPPED),
    // A hook that was killed writes no end.
    (run: FramesRun) => run.finish(),
  ];
  for (const end of ends) {
    const run = begun({ hookEvents: true });
    run.push(text("answer"), stop("fast"));
    assertEquals(told(run), ["assistant"], "the answer does not wait");
    run.push(stop("slow"));
    assertEquals(told(run), []);
    end(run);
    assertEquals(told(run).slice(0, 4), BOTH);
  }
});

Deno.test("a Stop hook's message is printed after its end", () => {
  const run = begun({ hookEvents: true });
  const says = (content: string) => ofStop("hook_system_message", { content });
  run.push(text("answer"), stop("fast"), says("look"));
  assertEquals(told(run), ["assistant"]);
  run.push(stop("slow"), says("later"));
  run.push(STOPPED);
  assertEquals(told(run), [
    ...["hook_started", "hook_started"],
    ...["fast", "Stop says: look", "slow", "Stop says: later"],
  ]);
});

Deno.test("Stop hooks stay together after a wait for a subagent", () => {
  const run = begun({ hookEvents: true });
  run.push(call("call"));
  run.push(result("call", { agentId: "a", status: "completed" }), text("answer"), stop("fast"));
  run.pass("subagent");
  run.push(stop("slow"), STOPPED);
  assertEquals(told(run), ["assistant", "user", "assistant", ...BOTH]);
});

const ran = (hookEvent: string) =>
  attached("hook_success", {
    ...{ hookEvent, hookName: hookEvent, toolUseID: "call" },
    ...{ stdout: "", stderr: "", exitCode: 0, content: "" },
  });

/** What is printed of lines that were read together. */
function printed(lines: readonly Line[], options: Partial<OutputOptions>): string {
  const run = new FramesRun({ version: VERSION, ...options });
  run.push(...lines);
  return run.take().map((frame) => frame["hook_name"] ?? kinds([frame])).join(" ");
}

Deno.test("hooks are printed where they ran, wherever they are written", () => {
  const lines = [
    call("call", "Read", {}, { parentUuid: "submitted" }),
    ran("SessionStart"),
    prompt(),
    attached("skill_listing", { names: [] }),
    { ...ran("UserPromptSubmit"), uuid: "submitted", parentUuid: "p" },
    REQUEST,
    ran("PreToolUse"),
    attached("hook_system_message", {
      ...{ hookEvent: "PostToolUse", hookName: "PostToolUse", toolUseID: "call" },
      content: "look",
    }),
    result("call"),
    ran("PostToolUse"),
    ran("PostToolUse"),
    ran("Stop"),
    STOPPED,
  ];
  const twice = (...names: readonly string[]) => names.map((name) => `${name} ${name}`).join(" ");
  assertEquals(
    printed(lines, { hookEvents: true }),
    `${twice("SessionStart", "UserPromptSubmit")} init assistant ${
      twice("PreToolUse", "PostToolUse", "PostToolUse")
    } informational user ${twice("Stop")}`,
  );
  assertEquals(printed(lines, {}), "SessionStart SessionStart init assistant informational user");
});
