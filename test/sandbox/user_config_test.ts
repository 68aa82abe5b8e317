import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { locateUserConfig } from "../../src/sandbox/user_config.ts";

Deno.test("locateUserConfig() finds the config dir in the home folder", () => {
  assertEquals(locateUserConfig({ HOME: "/home/u" }), {
    dir: "/home/u/.claude",
    claudeJson: "/home/u/.claude.json",
    loginDir: "/home/u/.claude",
  });
});

Deno.test("locateUserConfig() honours CLAUDE_CONFIG_DIR, which holds .claude.json too", () => {
  assertEquals(locateUserConfig({ HOME: "/home/u", CLAUDE_CONFIG_DIR: "/cfg" }), {
    dir: "/cfg",
    claudeJson: "/cfg/.claude.json",
    loginDir: "/cfg",
  });
  assertEquals(locateUserConfig({ CLAUDE_CONFIG_DIR: "/cfg" }).dir, "/cfg");
  assertEquals(locateUserConfig({ HOME: "/home/u", CLAUDE_CONFIG_DIR: "" }).dir, "/home/u/.claude");
});

Deno.test("locateUserConfig() finds a login that was moved by itself", () => {
  const env = { HOME: "/home/u", CLAUDE_CONFIG_DIR: "/cfg" };
  assertEquals(
    locateUserConfig({ ...env, CLAUDE_SECURESTORAGE_CONFIG_DIR: "/login" }).loginDir,
    "/login",
  );
  assertEquals(
    locateUserConfig({ ...env, CLAUDE_SECURESTORAGE_CONFIG_DIR: "" }).loginDir,
    "/home/u/.claude",
  );
});

Deno.test("locateUserConfig() looks through the sandbox of a run that started this one", () => {
  const inner = { HOME: "/home/u", CLAUDE_CONFIG_DIR: "/tmp/claude-print-1/config" };
  assertEquals(
    locateUserConfig({ ...inner, CLAUDE_PRINT_USER_CONFIG_DIR: "" }).dir,
    "/home/u/.claude",
  );
  assertEquals(locateUserConfig({ ...inner, CLAUDE_PRINT_USER_CONFIG_DIR: "/cfg" }).dir, "/cfg");
});

Deno.test("locateUserConfig() says what to set when there is no home", () => {
  const error = assertThrows(() => locateUserConfig({}), CliError, "HOME is not set");
  assertStringIncludes(error.suggestion ?? "", "CLAUDE_CONFIG_DIR");
});
