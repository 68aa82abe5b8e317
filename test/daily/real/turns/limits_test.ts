import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { hold } from "../../../real/hold_conversation.ts";
import { type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const IN_AN_HOUR = Math.floor(Date.now() / 1000) + 3600;
const IN_A_DAY = IN_AN_HOUR + 23 * 3600;

/** The limits of a subscription, in the headers of each answer. */
const HEADERS = {
  "anthropic-ratelimit-unified-status": "allowed",
  "anthropic-ratelimit-unified-reset": `${IN_AN_HOUR}`,
  "anthropic-ratelimit-unified-representative-claim": "five_hour",
  "anthropic-ratelimit-unified-5h-status": "allowed",
  "anthropic-ratelimit-unified-5h-utilization": "0.42",
  "anthropic-ratelimit-unified-5h-reset": `${IN_AN_HOUR}`,
  "anthropic-ratelimit-unified-7d-status": "allowed",
  "anthropic-ratelimit-unified-7d-utilization": "0.11",
  "anthropic-ratelimit-unified-7d-reset": `${IN_A_DAY}`,
};

const USED = {
  five_hour: { used_percentage: 42, resets_at: IN_AN_HOUR },
  seven_day: { used_percentage: 11, resets_at: IN_A_DAY },
};

const limitsOf = (result: JsonObject | undefined) => result?.claude_limits as JsonObject;

/** Checks the limits and the context of the first result. */
function assertTold(result: JsonObject | undefined): void {
  const { rate_limits, context_window, turn_cost_usd } = limitsOf(result);
  assertEquals(rate_limits, USED);
  assertEquals(turn_cost_usd, result?.total_cost_usd);
  const context = context_window as JsonObject;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = context
    .current_usage as Record<string, number>;
  assertEquals(
    context.total_input_tokens,
    [
      input_tokens ?? 0,
      cache_read_input_tokens ?? 0,
      cache_creation_input_tokens ?? 0,
    ].reduce((sum, tokens) => sum + tokens),
  );
  const [model] = Object.values(result?.modelUsage as Record<string, JsonObject>);
  assertEquals(context.context_window_size, model?.contextWindow);
}

forNewestVersion(
  "a result has limits, context, cost and reset time",
  async (real) => {
    const before = Math.floor(Date.now() / 1000);
    const { code, stdout } = await hold(real, async ({ say, heard }) => {
      await say("One [[bash echo one]] [[say one]]");
      await heard('"type":"result"', 1);
      await say("Two [[say two]]");
      await heard('"type":"result"', 2);
      await say("Three [[error 429 unified]]");
      await heard('"type":"result"', 3);
    }, ["--allowedTools", "Bash"]);
    assertEquals(code, 75);
    const [last, ...results] = parseFrames(stdout).filter(({ type }) => type === "result")
      .toReversed();
    results.reverse();
    assertTold(results[0]);
    const totals = results.map(({ total_cost_usd }) => Number(total_cost_usd));
    const turns = results.map((result) => Number(limitsOf(result).turn_cost_usd));
    const cents = (usd: number | undefined) => usd?.toFixed(6);
    assertEquals(turns.map(cents), [
      cents(totals[0]),
      cents(Number(totals[1]) - Number(totals[0])),
    ]);
    assert(results.every((result) => JSON.stringify(limitsOf(result).rate_limits) !== "{}"));
    const { resets_at } = limitsOf(last).reached as { resets_at: number };
    // Versions before 2.1.330 round to the minute.
    const since = resets_at - (before + 3600);
    assert(-60 <= since && since < 60, `${since} s`);
  },
  { api: { headers: HEADERS } },
);

let turns = 0;

forNewestVersion(
  "--wait-for-limit goes on with the session after the reset",
  async (real) => {
    const { code, stdout, stderr } = await real.printInProcess([
      ...STREAM_FORMAT,
      "--wait-for-limit=90",
      ...["--max-turns=2", "--allowedTools=Bash", "--", "Hi"],
    ]);
    assertEquals(code, 1, stderr);
    const frames = parseFrames(stdout);
    const results = frames.filter(({ type }) => type === "result");
    assertEquals(results.map(({ subtype }) => subtype), ["error_max_turns"]);
    assertEquals(new Set(frames.map(({ session_id }) => session_id)).size, 1);
    assertMatch(stderr, /Warning: The account has used up its limit; the run goes on at /u);
    const [, , last, ...others] = real.api.turns;
    assertEquals(others, []);
    assertStringIncludes(last?.text ?? "", "Continue from where you left off.");
    assertStringIncludes(last?.text ?? "", "Hi");
  },
  {
    api: {
      // The second request finds the limit used up, until now.
      reply: ({ kind }) =>
        kind !== "turn"
          ? undefined
          : turns++ === 1
          ? [{ kind: "error", status: 429, flavour: "unified", retryAfter: 1 }]
          : [{ kind: "tool", name: "Bash", input: { command: "true", description: "Does" } }],
    },
  },
);
