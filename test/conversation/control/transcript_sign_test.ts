import { assertEquals } from "@std/assert";
import { transcriptSign } from "../../../src/conversation/control/transcript_sign.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { call, line, userLine } from "./lines.ts";

/** Milliseconds since the epoch. */
const NOON = Date.UTC(2026, 10, 1, 12);
const sign = (fields: JsonObject) => transcriptSign(line(fields).entry);
const user = (content: unknown, more: JsonObject = {}) =>
  transcriptSign(userLine(content, more).entry);
const system = (subtype: string, more: object = {}) => sign({ type: "system", subtype, ...more });

Deno.test("transcriptSign() recognises prompts", () => {
  const text = [{ type: "text", text: "hi" }];
  for (const { prompt } of [user("hi"), user(text)]) assertEquals(prompt, true);
  const rows = [
    user([{ type: "tool_result", content: "x" }]),
    sign({ type: "assistant", message: { content: text } }),
    // A remark of Claude Code, a summary, the output of a command, a subagent's prompt.
    ...["isMeta", "isCompactSummary", "isSidechain"].map((field) => user("hi", { [field]: true })),
    user("<local-command-stdout>hi</local-command-stdout>"),
  ];
  for (const { prompt } of rows) assertEquals(prompt, false);
});

Deno.test("transcriptSign() names called and returned tools", () => {
  const content = [{ type: "text", text: "x" }, { type: "tool_use", id: "t1", name: "Bash" }];
  const { called } = sign({ type: "assistant", message: { id: "m", model: "m", content } });
  assertEquals(called, new Map([["t1", "Bash"]]));
  assertEquals(user([{ type: "tool_result", tool_use_id: "t1" }]).returned, ["t1"]);
});

Deno.test("transcriptSign() recognises an interrupted turn", () => {
  for (const suffix of ["", " for tool use"]) {
    const text = `[Request interrupted by user${suffix}]`;
    assertEquals(user([{ type: "text", text }]).end, "interrupted");
    const { end, prompt } = user([{ type: "text", text: `${text} Why does it say so?` }]);
    assertEquals([end, prompt], [undefined, true]);
  }
});

Deno.test("transcriptSign() recognises a completed turn", () => {
  const hookErrors = ["Go on"];
  const rows = [
    ["turn_duration", {}, "completed"],
    ["informational", {}, undefined],
    ["stop_hook_summary", {}, "completed"],
    ["stop_hook_summary", { hookErrors: [] }, "completed"],
    // A Stop hook made the assistant continue.
    ["stop_hook_summary", { hookErrors }, undefined],
    ["stop_hook_summary", { hookErrors, failedHookErrorIndexes: [] }, undefined],
    ["stop_hook_summary", { hookErrors, failedHookErrorIndexes: [0] }, "completed"],
    ["stop_hook_summary", { hookErrors, preventedContinuation: true }, "completed"],
  ] as const;
  for (const [subtype, more, end] of rows) {
    const found = system(subtype, { ...more, timestamp: new Date(NOON).toISOString() });
    assertEquals([found.end, found.isSystem], [end, true], JSON.stringify(more));
    const isContinued = subtype === "stop_hook_summary" && end === undefined;
    assertEquals(found.continuedAt, isContinued ? NOON : undefined, JSON.stringify(more));
  }
});

Deno.test("transcriptSign() has the limit of a shell in the background", () => {
  const limit = (...inputs: readonly unknown[]) => {
    const content = inputs.map((input) => ({ type: "tool_use", id: "t", name: "Bash", input }));
    return sign({ type: "assistant", message: { id: "m", model: "m", content } }).shellLimitMs;
  };
  const input = { run_in_background: true, timeout: 3000 };
  assertEquals(limit(input, { ...input, timeout: 2000 }), 3000);
  assertEquals(limit({ timeout: 3000 }, { run_in_background: true }, null), undefined);
  assertEquals(transcriptSign(call("t", input).entry).shellLimitMs, 3000);
});

Deno.test("transcriptSign() recognises attachments, failures and warnings", () => {
  const attachment = (attachment: object) => sign({ type: "attachment", attachment });
  assertEquals(attachment({ type: "hook_stopped_continuation" }).halted, true);
  assertEquals(attachment({ type: "queued_command", prompt: "hi" }).asked, "hi");
  for (const other of [{ type: "other", prompt: "hi" }, { type: "queued_command", prompt: 7 }]) {
    const { asked, halted } = attachment(other);
    assertEquals([asked, halted], [undefined, undefined]);
  }
  const message = { id: "m", model: "m", content: [{ type: "text", text: "API Error" }] };
  const failures = [true, false].map((isApiErrorMessage) =>
    sign({ type: "assistant", message, isApiErrorMessage }).failed
  );
  assertEquals(failures, [true, undefined]);
  const warnings = ["warning", "info"].map((level) => system("informational", { level }).warns);
  assertEquals(warnings, [true, undefined]);
});

Deno.test("transcriptSign() accepts lines of any shape", () => {
  const nothing = { prompt: false, isSystem: false, called: new Map(), returned: [] };
  for (const fields of [{}, { type: 5 }, { type: "user", message: null }, { type: "mode" }]) {
    assertEquals(sign(fields), nothing);
  }
});
