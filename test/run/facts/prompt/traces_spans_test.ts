import { assertEquals } from "@std/assert";
import { gatePrompt, LONGEST_REPLY } from "../../../../src/run/facts/prompt/gate_prompt.ts";
import { tracesSpans } from "../../../../src/run/facts/prompt/traces_spans.ts";
import { PLAIN_ORDER } from "../../plain_order.ts";

Deno.test("spans are traced where telemetry and its beta are on, in the environment or settings", () => {
  const telemetry = { CLAUDE_CODE_ENABLE_TELEMETRY: "1" };
  const beta = { CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "true" };
  const rows = [
    [telemetry, {}],
    [beta, {}],
    [{ ...telemetry, ...beta }, {}],
    [{ ...telemetry, ENABLE_ENHANCED_TELEMETRY_BETA: "1" }, {}],
    [telemetry, beta],
    [{ ...telemetry, ...beta }, { CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "0" }],
  ] as const;
  const traced = rows.map(([env, set]) => tracesSpans({ env }, [{ env: set }]));
  assertEquals(traced, [false, false, true, true, true, false]);
});

Deno.test("a prompt whose turn is traced goes to the socket if it can", () => {
  const verbatim = (prompt: string, { isTraced = true } = {}) =>
    gatePrompt({ ...PLAIN_ORDER, prompt, isTraced }, {
      version: "2.1.332",
      projectRoot: "/nonexistent",
      configDir: "/nonexistent",
      settings: [],
      mcpServers: 0,
    }).verbatim;
  assertEquals(verbatim("hello"), true);
  assertEquals(verbatim("hello", { isTraced: false }), false);
  assertEquals(verbatim("/init"), false);
  assertEquals(verbatim("x".repeat(LONGEST_REPLY)), false);
});
