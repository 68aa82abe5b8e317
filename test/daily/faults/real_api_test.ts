import { assertEquals, assertMatch } from "@std/assert";
import type { LoggedRequest } from "../../../src/recording/learn/messages_api.ts";
import { readReplyScript, type Reply } from "../../../src/recording/learn/reply_script.ts";
import { converseWithLibrary } from "../../program/library/converse_with_library.ts";
import { RealClaude } from "../../real/real_claude.ts";

/** The script of the API for each turn, and the line that names the cause. Rows of parity have the other errors. */
const TURNS: readonly { readonly script: string; readonly says: RegExp }[] = [
  { script: "[[error 403]]", says: /^The organization does not let this login use Claude Code: / },
  { script: "[[error 429]]", says: /^The API takes no more requests for now: / },
  { script: "[[bash true]] [[error 500]]", says: /^The API failed: 500 Internal server error\b/ },
  // In the middle of an answer 2.1.330 names the middle, or for a reset the connection.
  {
    script: "[[say It begins]] [[error 529]]",
    says: /^The API is overloaded: Overloaded\b|^The API broke off /,
  },
  { script: "[[say It begins]] [[reset]]", says: /^The API broke off |^Cannot reach the API: / },
  { script: "[[hang]]", says: /^The API did not answer in time: Request timed out\b/ },
];

/** How long Claude Code waits for an answer, in milliseconds. A busy machine takes less. */
const TIMEOUT_MS = 8000;

const promptOf = (turn: number) => `This is turn ${turn}.`;

/** An API that follows the script of each turn. The next request repeats a refused prompt. */
function failing(): (request: LoggedRequest) => Reply | undefined {
  const asked = TURNS.map(() => 0);
  return ({ kind, text }) => {
    if (kind !== "turn") return undefined;
    const turn = TURNS.findLastIndex((_, turn) => text.includes(promptOf(turn)));
    const replies = readReplyScript(TURNS[turn]?.script ?? "");
    const place = asked[turn] ?? 0;
    asked[turn] = place + 1;
    return replies[Math.min(place, replies.length - 1)];
  };
}

Deno.test("2.1.332: a failing API ends the turn, not the conversation", async () => {
  await using real = await RealClaude.set("2.1.332", {
    api: { reply: failing() },
    home: { env: { CLAUDE_CODE_MAX_RETRIES: "0", API_TIMEOUT_MS: `${TIMEOUT_MS}` } },
  });
  await using conversation = converseWithLibrary(real, { args: ["--allowedTools", "Bash"] });
  for (const [turn, { script, says }] of TURNS.entries()) {
    const { exitCode, frame, problem } = await conversation.send(promptOf(turn)).result;
    const told = problem?.message ?? "";
    const isTemporary = /^The API (?:takes no more requests|is overloaded)/u.test(told);
    const expected = [isTemporary ? 75 : 1, "result", true];
    assertEquals([exitCode, frame.type, frame.is_error], expected, `${script}: ${told}`);
    assertMatch(told, says, script);
  }
});
