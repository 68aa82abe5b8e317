import { assertEquals, assertStringIncludes } from "@std/assert";
import { ANTHROPIC_HOSTS, startHttpsProxy } from "../../../../fixtures/api/https_proxy.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { startProgram } from "../../../start_program.ts";
import { filesBelow } from "../../../real/files_below.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { httpsEnv } from "../../../real/https_env.ts";
import { parseObject } from "../../../real/print_mode_facts.ts";

forNewestVersion("a token in a variable logs in without a dialog", async (real) => {
  const value = "sk-ant-oat01-throwaway-token";
  for (const variable of ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]) {
    const args = ["--trace", "--", "Hi [[say yes]]"];
    const run = await real.printInProcess(args, { env: { [variable]: value } });
    assertEquals([run.code, run.stdout], [0, "yes\n"], run.stderr);
    assertEquals(run.stderr.includes("dialog"), false, run.stderr);
    assertEquals(real.api.turns.at(-1)?.headers["authorization"], `Bearer ${value}`);
  }
}, { home: { loggedIn: false } });

/** Passes a credential on fd 5, a pipe, to a command. */
const PASSING = 'exec 5<<END\n$SECRET\nEND\nunset SECRET; exec "$@"';

forNewestVersion("a key on a descriptor is in no recording", async (real) => {
  // The secret has no known shape.
  const secret = "passed-by-the-caller-0123456789";
  const program = [...CLAUDE_PRINT, "--claude-binary", real.binary, "--record", "recorded"];
  const args = ["--output-format=json", "--allowedTools=Bash", "--"];
  const { code, stdout, stderr } = await startProgram(
    [
      ...["/bin/sh", "-c", PASSING, "sh", ...program, ...args],
      `Hi [[bash env | grep -c ${secret}; true]] [[say ${secret}]]`,
    ],
    {
      env: { ...real.home.env, SECRET: secret, CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "5" },
      cwd: real.home.project,
    },
  ).ended;
  assertEquals([code, stderr], [0, ""]);
  assertEquals(parseObject(stdout).result, secret);
  assertEquals(
    new Set(real.api.turns.map(({ headers }) => headers["x-api-key"])),
    new Set([secret]),
  );
  // Its tools find it nowhere.
  assertStringIncludes(JSON.stringify(real.api.turns.at(-1)?.body), '"content":"0"');
  for (const [name, text] of filesBelow(`${real.home.project}/recorded`)) {
    assertEquals(text.includes(secret), false, name);
  }
}, { home: { loggedIn: false } });

forNewestVersion(
  "two runs at once refresh an expired login once",
  async (real) => {
    await using proxy = startHttpsProxy({ hosts: ANTHROPIC_HOSTS, answer: real.api.answer });
    const env = await httpsEnv(real, proxy);
    const runs = await Promise.all(
      [1, 2].map((number) =>
        real.print(["--output-format", "json", "--", `Hi [[say I am number ${number}]]`], { env })
      ),
    );
    const sessions = runs.map(({ code, stdout, stderr }, index) => {
      assertEquals([code, stderr], [0, ""]);
      const { result, session_id } = parseObject(stdout);
      assertEquals(result, `I am number ${index + 1}`);
      return session_id;
    });
    assertEquals(new Set(sessions).size, 2, "each has a session of its own");
    assertEquals(real.api.refreshes, 1);
    assertEquals(
      real.api.turns.map(({ headers }) => headers.authorization),
      Array(2).fill("Bearer sk-ant-oat01-refreshed-1"),
    );
    const { claudeAiOauth } = JSON.parse(await Deno.readTextFile(real.home.credentials));
    assertEquals(claudeAiOauth.accessToken, "sk-ant-oat01-refreshed-1");
    assertEquals(claudeAiOauth.refreshToken, "sk-ant-ort01-refreshed-1");
    const { mode, isFile } = await Deno.lstat(real.home.credentials);
    assertEquals([isFile, (mode ?? 0) & 0o777], [true, 0o600]);
  },
  { home: { expiresAt: Date.now() - 1000 } },
);
