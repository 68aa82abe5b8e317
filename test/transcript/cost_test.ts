import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { costOfClaudeJson, costOfEntries } from "../../src/transcript/cost.ts";
import { parseEntry } from "../../src/transcript/entry.ts";
import { turnsOf } from "../../src/transcript/turn.ts";
import { readRecording } from "./recording.ts";

Deno.test("costOfClaudeJson: finds the session among the projects, whatever their key", () => {
  const { run, entries } = readRecording("2.1.197/bash");
  const session = turnsOf(entries)[0]?.sessionId ?? "";
  const cost = costOfClaudeJson(run.claudeJson, session);
  assertEquals(cost?.totalUsd, JSON.parse(run.print.json).total_cost_usd);
  assert((cost?.apiDurationMs ?? 0) > 0);
  assertEquals(costOfClaudeJson(run.claudeJson, "another session"), undefined);
});

Deno.test("costOfEntries: agrees with .claude.json and knows more, since 2.1.330", () => {
  const { run, entries } = readRecording("2.1.330/parallel");
  const session = turnsOf(entries)[0]?.sessionId ?? "";
  const [state, last] = [costOfEntries(entries), costOfClaudeJson(run.claudeJson, session)];
  assertEquals(state?.totalUsd, last?.totalUsd);
  assertEquals(state?.apiDurationMs, last?.apiDurationMs);
  assertEquals(state?.hasUnknownPrice, false);
  assertEquals(state?.modelUsage["claude-opus-5-5"]?.cacheCreationEphemeral5mInputTokens, 70);
  assertEquals(costOfEntries(readRecording("2.1.197/parallel").entries), undefined);
});

Deno.test("costOfEntries: takes the last line of a resumed session", () => {
  const lines = [1, 2].map((totalCostUSD) =>
    parseEntry(JSON.stringify({ type: "cost-state", totalCostUSD, totalAPIDuration: 3 }))
  ).filter((entry) => entry !== undefined);
  assertEquals(costOfEntries(lines)?.totalUsd, 2);
});

Deno.test("costOfClaudeJson: takes any other JSON for no cost", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    assertEquals(costOfClaudeJson(value, "s"), undefined);
    assertEquals(costOfClaudeJson({ projects: { p: value } }, "s"), undefined);
    assertEquals(
      costOfClaudeJson({ projects: { p: { lastSessionId: "s", lastCost: value } } }, "s"),
      undefined,
    );
  }));
});
