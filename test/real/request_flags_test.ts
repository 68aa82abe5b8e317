import { assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import type { RealClaude } from "./real_claude.ts";

/** What requests of the conversation say in a field of `output_config`, and which of some beta headers they have. */
function told(real: RealClaude, from = 0) {
  return real.api.turns.slice(from).map(({ body, headers }) => ({
    budget: (body as { output_config?: { task_budget?: unknown } }).output_config?.task_budget,
    betas: (headers["anthropic-beta"] ?? "").split(",").filter((beta) =>
      /^(?:task-budgets|context-1m)-/u.test(beta)
    ),
  }));
}

forEachVersion(
  "--task-budget reaches the model in every request, as with claude -p",
  async (real) => {
    const args = ["--allowedTools", "Bash", "--task-budget", "20000", "--"];
    const prompt = "Work. [[bash echo one]] [[say done]]";
    assertEquals((await real.print([...args, prompt])).stdout, "done\n");
    const ours = told(real);
    assertEquals((await real.claudeP([...args, prompt])).stdout, "done\n");
    assertEquals(ours.length, 2);
    assertEquals(ours, told(real, ours.length));
    assertEquals(ours[0]?.budget, { type: "tokens", total: 20_000 });
  },
);

const WITH_KEY = {
  home: { loggedIn: false, env: { ANTHROPIC_API_KEY: "sk-ant-api03-throwaway-0123456789" } },
};

forEachVersion("--betas adds the header that Claude Code lets its user add", async (real) => {
  const args = ["--model", "claude-sonnet-4-5", "--betas", "context-1m-2025-08-07", "--", "Hi"];
  const ours = await real.print(args);
  assertEquals([ours.code, ours.stderr], [0, ""]);
  await real.claudeP(args);
  const [first, second] = told(real);
  assertEquals(first, second);
  assertEquals(first?.betas, ["context-1m-2025-08-07"]);
}, WITH_KEY);

forNewestVersion("--betas that have no effect are warned of, as by claude -p", async (real) => {
  const ours = await real.print(["--betas", "context-1m-2025-08-07", "--", "Hi"]);
  const theirs = await real.claudeP(["--betas", "context-1m-2025-08-07", "--", "Hi"]);
  assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout]);
  assertStringIncludes(ours.stderr, "--betas has no effect: Claude Code takes it with an API key");
  assertStringIncludes(theirs.stderr, "only available for API key users");
  const [first, second] = told(real);
  assertEquals(first, second);
});

forNewestVersion(
  "--debug-to-stderr tells the debug log, and nothing of it is left",
  async (real) => {
    const ours = await real.print(["--debug-to-stderr", "--", "Hi"]);
    assertEquals([ours.code, ours.stdout], [0, "Hello from the scripted API\n"]);
    const theirs = await real.claudeP(["--debug-to-stderr", "--", "Hi"]);
    for (const { stderr } of [ours, theirs]) {
      assertStringIncludes(stderr, "[DEBUG]");
      assertStringIncludes(stderr, "/v1/messages");
    }
  },
);
