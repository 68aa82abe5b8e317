import { assertEquals } from "@std/assert";
import { transcriptSign } from "../../src/session/transcript_sign.ts";
import { line } from "../transcript/lines.ts";

const sign = (fields: Readonly<Record<string, unknown>>) => transcriptSign(line(fields).entry);
const user = (content: unknown, more: object = {}) =>
  sign({ type: "user", message: { content }, ...more });

Deno.test("transcriptSign() tells a prompt from everything else in the user's name", () => {
  const text = [{ type: "text", text: "hi" }];
  assertEquals([user("hi").prompt, user(text).prompt], [true, true]);
  assertEquals(user([{ type: "tool_result", content: "x" }]).prompt, false);
  assertEquals(sign({ type: "assistant", message: { content: text } }).prompt, false);
  // Remarks of Claude Code, a summary, the output of a command, a subagent's prompt.
  assertEquals(user("hi", { isMeta: true }).prompt, false);
  assertEquals(user("hi", { isCompactSummary: true }).prompt, false);
  assertEquals(user("<local-command-stdout>hi</local-command-stdout>").prompt, false);
  assertEquals(user("hi", { isSidechain: true }).prompt, false);
});

Deno.test("transcriptSign() names the tools a line calls and those it has results of", () => {
  const content = [{ type: "text", text: "x" }, { type: "tool_use", id: "t1", name: "Bash" }];
  const message = { id: "m", model: "m", content };
  assertEquals(sign({ type: "assistant", message }).called, new Map([["t1", "Bash"]]));
  assertEquals(user([{ type: "tool_result", tool_use_id: "t1" }]).returned, ["t1"]);
});

Deno.test("transcriptSign() tells the line in the place of a turn that was stopped", () => {
  for (const what of ["", " for tool use"]) {
    const text = `[Request interrupted by user${what}]`;
    assertEquals(user([{ type: "text", text }]).end, "interrupted");
    const quoted = user([{ type: "text", text: `${text} Why does it say so?` }]);
    assertEquals([quoted.end, quoted.prompt], [undefined, true]);
  }
});

Deno.test("transcriptSign() takes no Stop hook for the end that has made the assistant go on", () => {
  const summary = (fields: object) =>
    sign({ type: "system", subtype: "stop_hook_summary", ...fields }).end;
  const hookErrors = ["Go on"];
  assertEquals(summary({ hookErrors: [] }), "completed");
  assertEquals(summary({ hookErrors }), undefined);
  assertEquals(summary({ hookErrors, failedHookErrorIndexes: [] }), undefined);
  assertEquals(summary({ hookErrors, failedHookErrorIndexes: [0] }), "completed");
  assertEquals(summary({ hookErrors, preventedContinuation: true }), "completed");
});

Deno.test("transcriptSign() tells the end of a turn", () => {
  for (const subtype of ["stop_hook_summary", "turn_duration"]) {
    assertEquals(sign({ type: "system", subtype }).end, "completed");
  }
  const other = sign({ type: "system", subtype: "informational" });
  assertEquals([other.end, other.isSystem], [undefined, true]);
});

Deno.test("transcriptSign() tells the longest limit of shells in the background", () => {
  const limit = (...inputs: readonly unknown[]) => {
    const content = inputs.map((input) => ({ type: "tool_use", id: "t", name: "Bash", input }));
    return sign({ type: "assistant", message: { id: "m", model: "m", content } }).shellLimitMs;
  };
  const input = { run_in_background: true, timeout: 3000 };
  assertEquals(limit(input, { ...input, timeout: 2000 }), 3000);
  assertEquals(limit({ timeout: 3000 }, { run_in_background: true }, null), undefined);
});

Deno.test("transcriptSign() takes lines of any other shape for nothing", () => {
  const nothing = { prompt: false, isSystem: false, called: new Map(), returned: [] };
  for (const fields of [{}, { type: 5 }, { type: "user", message: null }, { type: "mode" }]) {
    assertEquals(sign(fields), nothing);
  }
});
