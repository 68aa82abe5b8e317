import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { NOWHERE } from "../../../nowhere.ts";
import { filesBelow } from "../../../real/files_below.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { parseObject } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";

/** The entrypoint in each request. */
function entrypoints(real: RealClaude): readonly (string | undefined)[] {
  return real.api.turns.map(({ text }) => /cc_entrypoint=([\w-]+)/.exec(text)?.[1]);
}

/** Settings of the caller's and what shows that they work. */
function settingsOf({ home }: RealClaude) {
  // Nothing of the home that is looked at.
  const stops = `${home.path}/t/stops`;
  const hook = { type: "command", command: `echo stopped >> ${stops}` };
  return {
    settings: JSON.stringify({
      env: { FROM_CALLER: "seen by tools" },
      permissions: { allow: ["Bash(printenv:*)"] },
      hooks: { Stop: [{ hooks: [hook] }] },
    }),
    prompt: "Hi [[bash printenv FROM_CALLER]] [[say yes]]",
    assertHeeded: async ({ api }: RealClaude) => {
      assertStringIncludes(api.turns.at(-1)?.text ?? "", "seen by tools");
      assertEquals(await Deno.readTextFile(stops), "stopped\n");
    },
  };
}

forNewestVersion("runs inside Claude Code and inside a tool work", async (real) => {
  const { settings, prompt, assertHeeded } = settingsOf(real);
  const inner = [...CLAUDE_PRINT, "--claude-binary", real.binary]
    .map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(
    `${real.home.project}/inner.sh`,
    `exec ${inner} -p -- 'Inner [[say inner answer]]'\n`,
  );
  const run = await real.print(
    [
      ...["--output-format", "json", "--settings", settings],
      ...[
        "--allowedTools",
        "Bash(sh inner.sh)",
        "--",
        prompt.replace("[[say", "[[bash sh inner.sh]] [[say"),
      ],
    ],
    {
      env: {
        AI_AGENT: "claude-code_agent",
        CLAUDECODE: "1",
        CLAUDE_CODE_CHILD_SESSION: "1",
        CLAUDE_CODE_ENTRYPOINT: "sdk-cli",
        CLAUDE_CODE_EXECPATH: NOWHERE,
        CLAUDE_CODE_SESSION_ID: crypto.randomUUID(),
        CLAUDE_CODE_SKIP_PROMPT_HISTORY: "1",
        CLAUDE_AGENT_SDK_VERSION: "0.3.332",
      },
    },
  );
  assertEquals([run.code, run.stderr], [0, ""]);
  const { result, session_id } = parseObject(run.stdout);
  assertEquals(result, "yes");
  assertEquals(entrypoints(real), ["cli", "cli", "cli", "cli"]);
  await assertHeeded(real);
  assertEquals(real.api.turns[2]?.prompt, "Inner [[say inner answer]]");
  assertStringIncludes(
    JSON.stringify(parseObject(real.api.turns[3]?.text ?? "").messages),
    '"content":"inner answer"',
  );
  const transcripts = [...filesBelow(`${real.home.config}/projects`).keys()];
  assertEquals(transcripts.length, 2, "both transcripts are home");
  assert(transcripts.some((path) => path.endsWith(`${session_id}.jsonl`)));
});
