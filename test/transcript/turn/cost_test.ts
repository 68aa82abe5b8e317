import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { costOfClaudeJson, costOfEntries, summedUsage } from "../../../src/transcript/turn/cost.ts";
import { parseEntry } from "../../../src/transcript/entry.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { readRecording, readTranscript } from "../recording.ts";

Deno.test("costOfClaudeJson: finds the session among the projects, whatever their key", () => {
  const { run, entries } = readRecording("2.1.330/bash");
  const session = turnsOf(entries)[0]?.sessionId ?? "";
  const cost = costOfClaudeJson(run.claudeJson, session);
  assertEquals(cost?.totalUsd, JSON.parse(run.print.json).total_cost_usd);
  assert((cost?.apiDurationMs ?? 0) > 0);
  assertEquals(costOfClaudeJson(run.claudeJson, "another session"), undefined);
});

Deno.test("costOfEntries: agrees with .claude.json and knows more", () => {
  const { run, entries } = readRecording("2.1.330/parallel");
  const session = turnsOf(entries)[0]?.sessionId ?? "";
  const [state, last] = [costOfEntries(entries), costOfClaudeJson(run.claudeJson, session)];
  assertEquals(state?.totalUsd, last?.totalUsd);
  assertEquals(state?.apiDurationMs, last?.apiDurationMs);
  assertEquals(state?.hasUnknownPrice, false);
  assertEquals(state?.modelUsage["claude-opus-5-5"]?.cacheCreationEphemeral5mInputTokens, 70);
  assertEquals(costOfEntries(readTranscript("2.1.197/background").entries), undefined);
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

Deno.test("summedUsage: adds counts at every depth and keeps the last of everything else", () => {
  assertEquals(
    summedUsage([
      {
        input_tokens: 1,
        cache: { short: 2 },
        service_tier: "a",
        speed: "s",
        list: [1],
        unknown: 3,
      },
      { input_tokens: 4, cache: { short: 5, long: 6 }, service_tier: "b", speed: null, list: [] },
    ]),
    {
      input_tokens: 5,
      cache: { short: 7, long: 6 },
      service_tier: "b",
      speed: "s",
      list: [],
      unknown: 3,
    },
  );
});

Deno.test("summedUsage: of one usage is that usage", () => {
  const usage = fc.dictionary(fc.string(), fc.oneof(fc.nat(), fc.string(), fc.constant(null)));
  fc.assert(fc.property(usage, (one) => assertEquals(summedUsage([one]), { ...one })));
});

Deno.test("summedUsage: adds counts in any order", () => {
  const usages = fc.array(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.nat(1000)));
  fc.assert(fc.property(usages, (all) => {
    const sorted = (sum: object) => Object.entries(sum).sort();
    assertEquals(sorted(summedUsage(all)), sorted(summedUsage(all.toReversed())));
  }));
});
