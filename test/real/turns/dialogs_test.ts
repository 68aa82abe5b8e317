import { assert, assertEquals } from "@std/assert";
import { setVariables, spoilJson, withoutPermissionHook } from "../../../fixtures/spoil_run.ts";
import { concurrently } from "../../concurrently.ts";
import { forNewestVersion, REAL_VERSIONS } from "../for_each_version.ts";
import { hold } from "../hold_conversation.ts";
import { parseFrames } from "../print_mode_facts.ts";
import { performInProcess } from "../perform_in_process.ts";
import { RealClaude } from "../real_claude.ts";

/** The dialogs that were answered, in order, each once. */
function answered(trace: readonly string[]): readonly string[] {
  return [...new Set(trace.flatMap((line) => /^dialog "([^"]+)"/.exec(line)?.[1] ?? []))];
}

/** Registers a test of all versions at once: most of the time a screen is waited for. */
function withAllVersions(name: string, test: (real: RealClaude) => Promise<void>): void {
  Deno.test(`${REAL_VERSIONS.join(" and ")}: ${name}`, () =>
    concurrently(REAL_VERSIONS, {
      limit: REAL_VERSIONS.length,
      each: async (version) => {
        await using real = await RealClaude.set(version);
        await test(real);
      },
    }));
}

withAllVersions("every dialog of the start is answered before a paste", async (real) => {
  const { project, path } = real.home;
  await Deno.writeTextFile(`${path}/notes.md`, "Notes from elsewhere");
  await Deno.writeTextFile(`${project}/CLAUDE.md`, `@${path}/notes.md\n`);
  await Deno.mkdir(`${project}/.claude`);
  await Deno.writeTextFile(`${project}/.claude/settings.json`, "{ broken");
  const prompt = "three lines\nof which this [[say all the same]] is\nthe last";
  const { report, trace } = await performInProcess(real, {
    prompt,
    args: ["--dangerously-skip-permissions", "--inject", "paste"],
    before: (prepared) => {
      const { sandbox } = prepared;
      spoilJson(`${sandbox.configDir}/.claude.json`, (json) => json["projects"] = {});
      spoilJson(sandbox.settingsPath, (json) => json["skipDangerousModePermissionPrompt"] = false);
      setVariables(prepared, {
        CLAUDE_CODE_SANDBOXED: undefined,
        IS_SANDBOX: "1",
        ANTHROPIC_API_KEY: "sk-ant-api03-throwaway-0123456789abcdefghij",
      });
    },
  });
  assertEquals([report.exitCode, report.result.result], [0, "all the same"], real.version);
  assertEquals(answered(trace), [
    "workspace trust",
    "external includes",
    "API key",
    "bypass permissions",
    "settings error",
  ], real.version);
  const [turn] = real.api.turns;
  assertEquals(turn?.prompt, prompt);
  assertEquals(turn?.headers["x-api-key"], "sk-ant-api03-throwaway-0123456789abcdefghij");
  assertEquals(turn?.text.includes("Notes from elsewhere"), false);
});

withAllVersions(
  "a permission dialog is denied on the screen",
  async (real) => {
    const { version } = real;
    const { report, trace } = await performInProcess(real, {
      prompt: "Hi [[bash touch here]] [[say done]]",
      args: ["--permission-mode", "default"],
      retries: true,
      before: withoutPermissionHook,
    });
    assertEquals(answered(trace), ["permission"], version);
    assertEquals([report.exitCode, report.result.subtype], [1, "assistant_error"], version);
    const { screen } = report;
    assert(screen !== undefined && screen.length > 0, version);
    assertEquals(screen.filter((row) => /Debug mode|deprecated/u.test(row)), [], version);
    assertEquals([...Deno.readDirSync(real.home.project)].map(({ name }) => name), [], version);
  },
);

forNewestVersion(
  "broken project settings are skipped with a warning",
  async (real) => {
    await Deno.mkdir(`${real.home.project}/.claude`);
    await Deno.writeTextFile(`${real.home.project}/.claude/settings.json`, "{ broken");
    const env = { IS_SANDBOX: "1" };
    const args = ["--dangerously-skip-permissions", "--", "Hi [[bash echo $((6*7))]] [[say done]]"];
    const ours = await real.printInProcess(args, { env });
    assertEquals(real.api.turns[1]?.text.includes('"42"'), true, "the tool ran");
    const theirs = await real.claudeP(args, { env, recorded: "dialogs/broken" });
    assertEquals(ours, { ...theirs, stderr: `claude-print: Warning: ${theirs.stderr}` });
  },
);

for (const mode of ["auto", "plan"]) {
  forNewestVersion(
    `${mode} mode denies without asking the caller`,
    async (real) => {
      const { code, stdout } = await hold(
        real,
        async ({ say, heard }) => {
          await say("Hi [[bash node -e 1]] [[bash node -e 2]] [[say done]]");
          await heard('"type":"result"');
        },
        ["--permission-prompt-tool", "stdio", "--permission-mode", mode],
      );
      const frames = parseFrames(stdout);
      const { subtype, result, permission_denials } = frames.at(-1) ?? {};
      assertEquals([code, subtype, result], [0, "success", "done"]);
      assertEquals((permission_denials as readonly unknown[]).length, 2);
      assertEquals(frames.filter(({ type }) => type === "control_request"), []);
    },
  );
}
