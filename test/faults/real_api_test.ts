import { assertEquals, assertMatch } from "@std/assert";
import { parseObject } from "../real/print_mode_facts.ts";
import { RealClaude } from "../real/real_claude.ts";
import { concurrently } from "./concurrently.ts";

/** How many runs are under way at a time. */
const LIMIT = 3;

/**
 * What the API does, at the first request, in the middle of an answer or after a tool, and the line that names the cause.
 * What 401, 413, 429 with its limit, and 529 look like in every format is compared with `claude -p` elsewhere.
 */
const ROWS: readonly {
  readonly prompt: string;
  readonly says: RegExp;
  /** How long Claude Code waits for an answer, in milliseconds. */
  readonly timeoutMs?: number;
}[] = [
  { prompt: "[[error 403]]", says: /^The organization does not let this login use Claude Code: / },
  { prompt: "[[error 429]]", says: /^The API takes no more requests for now: / },
  { prompt: "[[bash true]] [[error 500]]", says: /^The API failed: 500 Internal server error\b/ },
  // In the middle of an answer 2.1.330 names the middle, or for a reset the connection.
  {
    prompt: "[[say It begins]] [[error 529]]",
    says: /^The API is overloaded: Overloaded\b|^The API broke off /,
  },
  { prompt: "[[say It begins]] [[reset]]", says: /^The API broke off |^Cannot reach the API: / },
  {
    prompt: "[[hang]]",
    says: /^The API did not answer in time: Request timed out\b/,
    timeoutMs: 1000,
  },
];

Deno.test("2.1.330: an API that fails ends the run, which says why and leaves nothing", async () => {
  await using real = await RealClaude.set("2.1.330");
  const args = ["--output-format", "json", "--allowedTools", "Bash", "--"];
  await concurrently(ROWS, {
    limit: LIMIT,
    each: async ({ prompt, says, timeoutMs = 60_000 }) => {
      const env = { CLAUDE_CODE_MAX_RETRIES: "0", API_TIMEOUT_MS: String(timeoutMs) };
      const { code, stdout, stderr } = await real.printHere([...args, prompt], { env });
      const { type, is_error } = parseObject(stdout);
      const [first = ""] = stderr.split("\n");
      const isTemporary = /: The API (?:takes no more requests|is overloaded)/u.test(first);
      const expected = [isTemporary ? 75 : 1, "result", true];
      assertEquals([code, type, is_error], expected, `${prompt}: ${stderr}`);
      assertMatch(first.replace(/^claude-print: /, ""), says, prompt);
    },
  });
});
