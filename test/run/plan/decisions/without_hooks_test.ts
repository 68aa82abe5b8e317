import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../../src/cli_error.ts";
import {
  hooklessFlag,
  modeWithoutHooks,
} from "../../../../src/run/plan/decisions/without_hooks.ts";
import { PLAIN_ORDER } from "../../plain_order.ts";

Deno.test("hooklessFlag() knows flags, and variables that are set to yes", () => {
  const flagOf = (forwarded: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    hooklessFlag({ forwarded, env });
  assertEquals(flagOf([]), undefined);
  assertEquals(flagOf(["--model=x", "--safe-mode"]), "--safe-mode");
  assertEquals(flagOf([], { CLAUDE_CODE_SIMPLE: "1" }), "--bare");
  assertEquals(flagOf([], { CLAUDE_CODE_SAFE_MODE: "true" }), "--safe-mode");
  assertEquals(flagOf([], { CLAUDE_CODE_SIMPLE: "0", CLAUDE_CODE_SAFE_MODE: "" }), undefined);
});

Deno.test("modeWithoutHooks() settles what nobody can be asked, and refuses what takes hooks", () => {
  const modeOf = (mode: string, order = {}) =>
    modeWithoutHooks({ ...PLAIN_ORDER, ...order }, { flag: "--bare", mode });
  assertEquals(modeOf("default"), "dontAsk");
  assertEquals(modeOf("dontAsk"), "dontAsk");
  assertEquals(modeOf("bypassPermissions"), "bypassPermissions");
  assertEquals(modeOf("default", { partialMessages: true, exactStream: true }), "dontAsk");
  const noTools = { forwarded: ["--bare", "--tools="] };
  assertEquals(modeOf("default", { ...noTools, maxTurns: 1 }), "dontAsk");
  for (
    const [mode, order, what] of [
      ["default", { ...noTools, maxTurns: 0.5 }, "--max-turns"],
      ["default", { forwarded: ["--tools=", "--tools=Bash"], maxTurns: 1 }, "--max-turns"],
      ["default", { forwarded: ["--tools=", "--plugin-dir=x"], maxTurns: 1 }, "--max-turns"],
      ["acceptEdits", {}, "the permission mode acceptEdits"],
      ["constructor", {}, "the permission mode constructor"],
      ["plan", {}, "the permission mode plan"],
      ["default", { prompt: undefined }, "a conversation"],
      ["default", { maxTurns: 2 }, "--max-turns"],
      ["default", { jsonSchema: {} }, "--json-schema"],
      ["default", { promptTool: "mcp__a__b" }, "--permission-prompt-tool"],
      ["default", { partialMessages: true }, "live text without --exact-stream"],
      ["default", { maxBudgetUsd: 1 }, "--max-budget-usd"],
      ["default", { mcpConfigs: ["{}"] }, "--mcp-config"],
      ["default", { inheritHooks: true }, "--inherit-hooks"],
    ] as const
  ) {
    const { message } = assertThrows(() => modeOf(mode, order), CliError);
    assertEquals(message.split(":")[0], `Cannot honour --bare with ${what}`);
  }
});
