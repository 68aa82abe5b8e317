import { assertEquals } from "@std/assert";
import {
  childEnvironment,
  contestedVariables,
} from "../../../src/sandbox/child/child_environment.ts";

const sandbox = {
  configDir: "/s/config",
  tempDir: "/s/tmp",
  userConfig: { dir: "/u", claudeJson: "/u/.claude.json", loginDir: "/u" },
  scheduledTasks: false,
};

Deno.test("childEnvironment() keeps the caller's variables and moves Claude Code's own places", () => {
  const env = childEnvironment(
    {
      ...{ PATH: "/bin", TMPDIR: "/t", TERM: "dumb", ANTHROPIC_BASE_URL: "http://x" },
      CLAUDE_AGENT_SDK_CLIENT_APP: "my-app/1.0",
      CLAUDE_CODE_AUTO_CONNECT_IDE: "1",
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "true",
    },
    sandbox,
  );
  assertEquals(env["PATH"], "/bin");
  assertEquals(env["TMPDIR"], "/t");
  assertEquals(env["ANTHROPIC_BASE_URL"], "http://x");
  assertEquals(env["CLAUDE_AGENT_SDK_CLIENT_APP"], "my-app/1.0");
  assertEquals(env["TERM"], "xterm-256color");
  assertEquals(env["CLAUDE_CODE_AUTO_CONNECT_IDE"], "false");
  assertEquals(env["CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"], "false");
  assertEquals(env["CLAUDE_CONFIG_DIR"], "/s/config");
  assertEquals(env["CLAUDE_CODE_TMPDIR"], "/s/tmp");
  assertEquals(env["CLAUDE_SECURESTORAGE_CONFIG_DIR"], "/u");
  assertEquals("IS_SANDBOX" in env, false);
});

Deno.test("childEnvironment() leaves the level of the debug log to the caller unless it is read", () => {
  const name = "CLAUDE_CODE_DEBUG_LOG_LEVEL";
  assertEquals(childEnvironment({ [name]: "error" }, sandbox)[name], "error");
  assertEquals(name in childEnvironment({}, sandbox), false);
  const logged = { ...sandbox, logLevel: "warn" } as const;
  assertEquals(childEnvironment({ [name]: "error" }, logged)[name], "warn");
});

Deno.test("childEnvironment() removes what a surrounding Claude Code or SDK left there", () => {
  const inherited = {
    CLAUDECODE: "1",
    CLAUDE_CODE_CHILD_SESSION: "1",
    CLAUDE_CODE_ENTRYPOINT: "sdk-ts",
    CLAUDE_AGENT_SDK_VERSION: "0.3.332",
    CLAUDE_CODE_SKIP_PROMPT_HISTORY: "1",
    CLAUDE_CODE_SESSION_ID: "x",
    CLAUDE_CODE_SIMPLE: "1",
    CLAUDE_CODE_ENABLE_CFC: "1",
    CLAUDE_CODE_SSE_PORT: "1",
    CLAUDE_PROJECT_DIR: "/",
    CLAUDE_EFFORT: "low",
    AI_AGENT: "x",
  };
  const env = childEnvironment(inherited, sandbox);
  for (const name of Object.keys(inherited)) assertEquals(name in env, false, name);
});

Deno.test("childEnvironment() tells a nested run where the user's config dir is", () => {
  const name = "CLAUDE_PRINT_USER_CONFIG_DIR";
  assertEquals(childEnvironment({}, sandbox)[name], "");
  assertEquals(childEnvironment({ CLAUDE_CONFIG_DIR: "/cfg" }, sandbox)[name], "/cfg");
  const nested = { CLAUDE_CONFIG_DIR: "/s0/config", [name]: "/cfg" };
  assertEquals(childEnvironment(nested, sandbox)[name], "/cfg");
});

Deno.test("childEnvironment() trusts no folder, and keeps a project's own prompts from being sent", () => {
  const env = childEnvironment({}, sandbox);
  assertEquals(env["CLAUDE_CODE_SANDBOXED"], "1");
  assertEquals("CLAUDE_CODE_DISABLE_CRON" in env, false);
  const scheduled = childEnvironment({}, { ...sandbox, scheduledTasks: true });
  assertEquals(scheduled["CLAUDE_CODE_DISABLE_CRON"], "1");
});

Deno.test("contestedVariables() are those that settings name and that are the run's to decide", () => {
  const env = { CLAUDE_CONFIG_DIR: "/run/.claude", CLAUDE_CODE_DISABLE_CRON: "1", PATH: "/bin" };
  const of = (...settings: readonly unknown[]) =>
    contestedVariables(env, settings.map((env) => ({ env })));
  assertEquals(of(undefined, "x", { PATH: "/evil", FOO: "1", CLAUDE_CODE_MAX_RETRIES: "1" }), {});
  assertEquals(
    of({ CLAUDE_CODE_SIMPLE: "1", CLAUDE_CONFIG_DIR: "/evil" }, { CLAUDE_CODE_DISABLE_CRON: "0" }),
    {
      CLAUDE_CODE_SIMPLE: "",
      CLAUDE_CONFIG_DIR: "/run/.claude",
      CLAUDE_CODE_DISABLE_CRON: "1",
    },
  );
});
