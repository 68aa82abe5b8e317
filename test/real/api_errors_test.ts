import { assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

/** Runs `claude-print` and `claude -p` on a prompt that fails. */
async function both(
  real: RealClaude,
  { prompt, env }: { readonly prompt: string; readonly env: Readonly<Record<string, string>> },
) {
  const args = [...STREAM_FORMAT, "--", prompt];
  const ours = await real.print(args, { env });
  const theirs = await real.claudeP(args, { env });
  // What may well succeed later has an exit code of its own.
  const isTemporary = /error (?:429|529)/u.test(prompt);
  assertEquals([ours.code, theirs.code], [isTemporary ? 75 : 1, 1], ours.stderr);
  return {
    frames: parseFrames(ours.stdout),
    expected: parseFrames(theirs.stdout),
    stderr: ours.stderr,
  };
}

/** A time of the day changes between two runs. */
function withoutClock(result: JsonObject | undefined): JsonObject {
  const text = `${result?.result}`.replace(/resets .*/u, "resets then");
  return { ...factsOfResult(result ?? {}), result: text };
}

const isRetry = ({ subtype }: JsonObject) => subtype === "api_retry";

/**
 * What an API error is on stdout is that of `claude -p`; `told` is what stderr has to say of it. Recordings of both
 * versions hold what is made of 400 and 401 too.
 */
const ROWS = [
  {
    error: "401",
    told: ["Cannot log in to Claude: 401 Invalid bearer token", "claude /login"],
    test: forNewestVersion,
  },
  {
    error: "400 too-long",
    told: ["does not fit into the model's context", "Send less"],
    test: forNewestVersion,
  },
  {
    error: "413",
    told: ["larger than the API takes", "Send less"],
    test: forNewestVersion,
  },
  {
    error: "429 unified",
    told: ["used up its limit", "Run it again after "],
    test: forEachVersion,
  },
];

for (const { error, told, test } of ROWS) {
  test(`an API error is what claude -p makes of it (${error})`, async (real) => {
    const env = { CLAUDE_CODE_MAX_RETRIES: "0" };
    const { frames, expected, stderr } = await both(real, { prompt: `Hi [[error ${error}]]`, env });
    // How many tokens a conversation has depends on its system prompt, and a login is tried once more.
    const outline = (all: readonly JsonObject[]) =>
      outlineOfFrames(all.filter((frame) => !isRetry(frame)))
        .map((line) => line.replace(/~\d+ tokens —|resets [^"]*/gu, ""));
    assertEquals(outline(frames), outline(expected));
    const result = withoutClock(frames.at(-1));
    const theirs = withoutClock(expected.at(-1));
    const tokens = (text: unknown) => `${text}`.replace(/~\d+ tokens —/u, "");
    assertEquals({ ...result, result: tokens(result.result) }, {
      ...theirs,
      result: tokens(theirs.result),
      claude_version: real.version,
    });
    for (const words of told) assertStringIncludes(stderr, words);
    const times = frames.filter(({ type }) => type === "rate_limit_event")
      .map(({ rate_limit_info }) => typeof (rate_limit_info as JsonObject).resetsAt);
    const isTold = error === "429 unified" && real.version !== "2.1.197";
    assertEquals(times, isTold ? ["number"] : [], "when the limit resets, where that is known");
  });
}

forEachVersion("a request that is made again is told as claude -p tells it", async (real) => {
  const env = { CLAUDE_CODE_MAX_RETRIES: "1" };
  const prompt = "Hi [[error 529]]";
  const { frames, expected, stderr } = await both(real, { prompt, env });
  const retries = (all: readonly JsonObject[]) =>
    all.filter(isRetry).map(({ uuid: _, session_id: __, retry_delay_ms, ...rest }) => ({
      ...rest,
      // The screen rounds up to whole seconds.
      seconds: Math.ceil(Number(retry_delay_ms) / 1000),
    }));
  assertEquals(retries(frames), retries(expected));
  assertEquals(frames.findIndex(isRetry), expected.findIndex(isRetry));
  assertStringIncludes(stderr, "The API is overloaded: 529 Overloaded");
});

forNewestVersion("an API that cannot be reached is named on stderr", async (real) => {
  const env = { CLAUDE_CODE_MAX_RETRIES: "0", ANTHROPIC_BASE_URL: "http://127.0.0.1:1" };
  const { frames, expected, stderr } = await both(real, { prompt: "Hi", env });
  assertEquals(factsOfResult(frames.at(-1) ?? {}), {
    ...factsOfResult(expected.at(-1) ?? {}),
    claude_version: real.version,
  });
  assertStringIncludes(stderr, "Cannot reach the API: ");
});

forNewestVersion("an API error in text output is its sentence, as in claude -p", async (real) => {
  const args = ["--model", "claude-nonesuch", "--", "Hi [[error 404]]"];
  const ours = await real.print(args);
  const theirs = await real.claudeP(args);
  assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout], ours.stderr);
  assertStringIncludes(ours.stdout, "Run --model to pick a different model.\n");
  assertStringIncludes(ours.stderr, "The model cannot be used: ");
});

const LONG_TURN = "Work. [[say I look]] [[bash echo one]] [[also bash echo two]] " +
  "[[bash echo three]] [[say done]]";

const MAX_TURNS = ["--allowedTools", "Bash", "--max-turns"];

// A recorded run holds what the older version does at the limit.
forNewestVersion("--max-turns stops as claude -p does", async (real) => {
  const ours = await real.print([...STREAM_FORMAT, ...MAX_TURNS, "2", "--", LONG_TURN]);
  const theirs = await real.claudeP([...STREAM_FORMAT, ...MAX_TURNS, "2", "--", LONG_TURN]);
  assertEquals([ours.code, theirs.code], [1, 1], ours.stderr);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  // Tools that run at the same time return in any order.
  assertEquals(outlineOfFrames(frames).toSorted(), outlineOfFrames(expected).toSorted());
  assertEquals(factsOfResult(frames.at(-1) ?? {}), {
    ...factsOfResult(expected.at(-1) ?? {}),
    claude_version: real.version,
  });
  assertEquals(frames.at(-1)?.subtype, "error_max_turns");
  assertEquals(real.api.turns.length, 2 * 2, "no request more than allowed");
});

forNewestVersion("--max-turns stops as claude -p does in text output", async (real) => {
  const text = await real.print([...MAX_TURNS, "1", "--", LONG_TURN]);
  const theirText = await real.claudeP([...MAX_TURNS, "1", "--", LONG_TURN]);
  assertEquals([text.code, text.stdout], [theirText.code, theirText.stdout], text.stderr);
  assertStringIncludes(text.stderr, "stopped at its limit: 1 request");
});
