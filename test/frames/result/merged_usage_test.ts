import { assertEquals } from "@std/assert";
import { mergedUsage, usageSince } from "../../../src/frames/result/merged_usage.ts";

const ONE = { opus: { inputTokens: 3, costUSD: 0.1 } };
const OTHER = { opus: { inputTokens: 4, costUSD: 0.2 }, sonnet: { inputTokens: 1, costUSD: 0.01 } };

Deno.test("what models have used in two parts is what they have used in both", () => {
  assertEquals(mergedUsage({}, ONE), ONE);
  assertEquals(mergedUsage(ONE, {}), ONE);
  assertEquals(mergedUsage(ONE, OTHER), {
    opus: { inputTokens: 7, costUSD: 0.3 },
    sonnet: OTHER.sonnet,
  });
});

Deno.test("what models have used since is told with what else is known of them, and of no others", () => {
  const known = { contextWindow: 1000, provider: "firstParty" };
  const now = { opus: { ...ONE.opus, ...known }, sonnet: { ...OTHER.sonnet, ...known } };
  assertEquals(usageSince({}, now), now);
  assertEquals(usageSince(ONE, now), { sonnet: now.sonnet });
  assertEquals(usageSince({ sonnet: { inputTokens: 1, costUSD: 0 } }, now), {
    opus: now.opus,
    sonnet: { inputTokens: 0, costUSD: 0.01, ...known },
  });
});
