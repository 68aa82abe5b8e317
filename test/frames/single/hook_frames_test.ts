import { assertEquals } from "@std/assert";
import {
  type HookEnd,
  hookEndIn,
  hookFrames,
  hookRemarks,
  withCallbacks,
} from "../../../src/frames/single/hook_frames.ts";
import { parseEntry } from "../../../src/transcript/entry.ts";
import { OUTPUT_REMINDER } from "../../../src/transcript/structured_output.ts";

const CONTEXT = { version: "2.1.332", sessionId: "s", newUuid: () => "new" };

function entryOf(line: object) {
  const entry = parseEntry(JSON.stringify(line));
  if (entry === undefined) throw new Error("not an entry");
  return entry;
}

/** Something that is attached because of a hook that runs `check` before a call of Bash. */
function attached(type: string, more: Readonly<Record<string, unknown>> = {}): object {
  const hook = { hookName: "PreToolUse:Bash", hookEvent: "PreToolUse", toolUseID: "t" };
  return { type: "attachment", attachment: { type, ...hook, command: "check", ...more } };
}

function endOf(line: object): Partial<HookEnd> | undefined {
  const { name: _, event: __, ...end } = hookEndIn(entryOf(line)) ?? {};
  return Object.keys(end).length === 0 ? undefined : end;
}

Deno.test("hookEndIn: knows how a hook has ended, and what it wrote as far as it is on record", () => {
  const written = { stdout: "out\n", stderr: "err\n" };
  assertEquals(endOf(attached("hook_success", { ...written, exitCode: 0 })), {
    ...written,
    exitCode: 0,
    outcome: "success",
  });
  const failed = (stderr: string) =>
    endOf(attached("hook_non_blocking_error", {
      stdout: "x\n",
      stderr: `Failed with non-blocking status code: ${stderr}`,
      exitCode: 7,
    }));
  const error = { stdout: "x\n", exitCode: 7, outcome: "error" } as const;
  assertEquals(failed("one\ntwo"), { ...error, stderr: "one\ntwo\n" });
  assertEquals(failed("No stderr output"), { ...error, stderr: "" });
  assertEquals(endOf(attached("hook_cancelled", { timedOut: true })), {
    stdout: "",
    stderr: "",
    exitCode: 1,
    outcome: "cancelled",
  });
});

Deno.test("hookEndIn: knows a hook that blocks with exit code 2 wherever that is said", () => {
  const blocked = { stdout: "", stderr: "no\n", exitCode: 2, outcome: "error" } as const;
  const command = "if [ -f x ]; then\necho no >&2; exit 2; fi";
  const blockingError = { blockingError: `[${command}]: no\n`, command };
  assertEquals(
    endOf(attached("hook_blocking_error", { command: undefined, blockingError })),
    blocked,
  );
  const result = (content: string) => ({
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content }],
    },
  });
  assertEquals(hookEndIn(entryOf(result(`PreToolUse:Bash hook error: [${command}]: no\n`))), {
    name: "PreToolUse:Bash",
    event: "PreToolUse",
    ...blocked,
  });
  const feedback = `Stop hook feedback:\n[${command}]: no\n`;
  assertEquals(
    hookEndIn(entryOf({
      type: "user",
      isMeta: true,
      message: { role: "user", content: feedback },
    })),
    { name: "Stop", event: "Stop", ...blocked },
  );
  assertEquals(
    endOf({
      type: "system",
      subtype: "informational",
      preventContinuation: true,
      content:
        `UserPromptSubmit operation blocked by hook:\n[${command}]: no\n\n\nOriginal prompt: Hi`,
    }),
    blocked,
  );
  // One that blocks with JSON has succeeded, and what it wrote is not on record.
  const byJson = { blockingError: "because", command };
  assertEquals(endOf(attached("hook_blocking_error", { blockingError: byJson })), undefined);
  assertEquals(endOf(result("PreToolUse:Bash hook error: because")), undefined);
  // A hook of the caller's is a call that it has heard of.
  const failed = '[callback]: failed; blocking because onFailure is "block"';
  assertEquals(endOf(result(`PreToolUse:Bash hook error: ${failed}`)), undefined);
  const ofCaller = { blockingError: failed, command: "callback" };
  assertEquals(endOf(attached("hook_blocking_error", { blockingError: ofCaller })), undefined);
  // Somebody may say so, too.
  assertEquals(
    endOf({ type: "user", message: { role: "user", content: feedback } }),
    undefined,
  );
});

Deno.test("hookEndIn: nobody is told of the hooks by which a run is followed", () => {
  const script = "'/tmp/claude-print-0/1-2-3/own/hook'";
  const success = { stdout: "{}\n", stderr: "", exitCode: 0 };
  for (
    const command of [
      `. ${script}`,
      `set -- asks; . ${script}`,
      `set -- asks 12; . ${script}`,
      `exec /bin/sh ${script} asks 12`,
      // A hook of the caller's.
      "callback",
    ]
  ) {
    assertEquals(endOf(attached("hook_success", { ...success, command })), undefined);
  }
  for (const command of [`. ${script}; cat`, ". ./own/hook", `set -- a 'x'; . ${script}`]) {
    assertEquals(endOf(attached("hook_success", { ...success, command }))?.exitCode, 0);
  }
  assertEquals(endOf(attached("hook_success", success))?.exitCode, 0);
  assertEquals(endOf(attached("hook_additional_context", { content: ["x"] })), undefined);
});

Deno.test("withCallbacks: hooks of the caller's have the name of claude -p where their command is told", () => {
  const own = "[set -- asks 3; . '/tmp/claude-print-0/1-2-3/own/hook']";
  assertEquals(withCallbacks(`blocked: ${own}: no\n${own}`), "blocked: [callback]: no\n[callback]");
  assertEquals(withCallbacks("blocked: [make test]: no"), "blocked: [make test]: no");
});

Deno.test("hookFrames: a hook has begun and ended, with one id", () => {
  let ids = 0;
  const end = {
    name: "Stop",
    event: "Stop",
    stdout: "a\n",
    stderr: "b\n",
    exitCode: 1,
    outcome: "error",
  } as const;
  const hook = { hook_id: "1", hook_name: "Stop", hook_event: "Stop" };
  assertEquals<unknown>(hookFrames(end, { sessionId: "s", newUuid: () => `${++ids}` }), [
    { type: "system", subtype: "hook_started", ...hook, uuid: "2", session_id: "s" },
    {
      type: "system",
      subtype: "hook_response",
      ...hook,
      output: "a\nb\n",
      stdout: "a\n",
      stderr: "b\n",
      exit_code: 1,
      outcome: "error",
      uuid: "3",
      session_id: "s",
    },
  ]);
});

Deno.test("hookRemarks: prints what hooks say to the user, and that a Stop hook failed", () => {
  const told = (line: object, version = CONTEXT.version) =>
    hookRemarks(entryOf(line), { ...CONTEXT, version }).map((frame) =>
      frame.subtype === "notification" ? frame.text : frame["content"]
    );
  const said = attached("hook_system_message", { content: "look" });
  assertEquals(told(said), ["PreToolUse:Bash says: look"]);
  assertEquals(told(attached("hook_system_message", { hookEvent: "SessionStart" })), []);
  const late = "A hook didn't answer in time, so it didn't check this action.";
  assertEquals(told(attached("hook_cancelled", { timedOut: true })), [late]);
  const summary = (...hookErrors: readonly string[]) => ({
    type: "system",
    subtype: "stop_hook_summary",
    hookErrors,
  });
  assertEquals(told(summary("odd", OUTPUT_REMINDER)), ["stop hook problem · ctrl+o to see"]);
  assertEquals(told(summary("odd"), "2.1.285"), ["Stop hook error occurred · ctrl+o to see"]);
  assertEquals(told(summary(OUTPUT_REMINDER)), []);
  // Ours has said all before it is stopped with its child.
  const own = { command: ". '/tmp/claude-print-0/1-2-3/own/hook'" };
  for (const hookInfos of [[own], [own, { command: "make test" }]]) {
    const isOwn = hookInfos.length === 1;
    assertEquals(told({ ...summary("odd"), hookInfos }).length, isOwn ? 0 : 1);
  }
  assertEquals(told(summary()), []);
});
