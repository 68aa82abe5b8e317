import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { installMockClaude } from "../../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import type { ThrowawayHomeOptions } from "../../../fixtures/throwaway_home.ts";
import type { Check } from "../../../src/run/doctor/check_report.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { startProgram } from "../../start_program.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { StandIn } from "../stand_in.ts";
import { userFiles } from "../user_files.ts";

interface DoctorOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly wrap?: (command: readonly string[]) => readonly string[];
}

/** A machine with the stand-in as `claude` on PATH and an API on loopback. */
async function machine(scenario: Partial<Scenario> = {}, options: ThrowawayHomeOptions = {}) {
  const claude = await StandIn.set(scenario, options);
  const { home } = claude;
  await Deno.mkdir(`${home.path}/bin`);
  await installMockClaude(`${home.path}/bin`, { scenario, journal: `${home.path}/journal` });
  const listening = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(listening, () => new Response(null, { status: 404 }));
  const api = `http://127.0.0.1:${server.addr.port}`;
  const env = {
    ...home.env,
    PATH: `${home.path}/bin:${home.env["PATH"]}`,
    ANTHROPIC_BASE_URL: api,
  };
  const start = (args: readonly string[], { env: more, wrap }: DoctorOptions = {}) => {
    const command = [...CLAUDE_PRINT, "doctor", ...args];
    const cwd = home.project;
    return startProgram(wrap?.(command) ?? command, { env: { ...env, ...more }, cwd });
  };
  /** Runs doctor, which leaves and changes nothing. */
  const doctor = async (args: readonly string[] = [], options: DoctorOptions = {}) => {
    const before = userFiles(home, { projects: true });
    const output = await start(args, options).ended;
    assertEquals([output.stderr, await leftovers(home)], ["", []]);
    assertEquals(userFiles(home, { projects: true }), before, "doctor changed a user's file");
    return output;
  };
  /** The checks by name, and the names of those that fail. */
  const checks = async (args: readonly string[] = [], options: DoctorOptions = {}) => {
    const { code, stdout } = await doctor(["--json", ...args], options);
    const report: { ok: boolean; version: string; checks: readonly Check[] } = JSON.parse(stdout);
    const failed = report.checks.filter(({ ok }) => !ok).map(({ name }) => name);
    assertEquals([report.ok, code], failed.length === 0 ? [true, 0] : [false, 2]);
    assertEquals(report.version, deno.version);
    const byName: Readonly<Record<string, Check>> = Object.fromEntries(
      report.checks.map((check) => [check.name, check]),
    );
    return { byName, failed };
  };
  return {
    ...{ claude, home, api, start, doctor, checks },
    [Symbol.asyncDispose]: async () => {
      await server.shutdown();
      await claude[Symbol.asyncDispose]();
    },
  };
}

Deno.test("doctor prints one line for each check", async () => {
  await using here = await machine();
  const { code, stdout } = await here.doctor();
  assertEquals(code, 0, stdout);
  const lines = stdout.trimEnd().split("\n").map((line) => line.split(/ +/).slice(0, 2).join(" "));
  assertEquals(lines, [
    ...["✓ platform", "✓ libc", "✓ pty", "✓ fifo", "✓ claude", "✓ login", "✓ api"],
    ...["✓ leftovers", "- run"],
  ]);
  assertMatch(stdout, /^✓ claude +2\.1\.332 in .*\/bin\/claude/m);
  assertMatch(stdout, /^✓ login +max subscription, expires in 36\d days$/m);
});

Deno.test("doctor --json has the facts of each check", async () => {
  await using here = await machine({}, { expiresAt: Date.now() - 1000 });
  const { byName, failed } = await here.checks();
  assertEquals(failed, []);
  const { platform, libc, pty, fifo, claude, login, api, run } = byName;
  assertEquals([platform?.data["os"], libc?.data["missing"]], ["linux", []]);
  assertMatch(String(pty?.data["path"]), /^\/dev\/pts\/\d+$/);
  assertEquals(fifo?.data["folder"], here.home.tmp);
  assertEquals([claude?.data["version"], login?.data["source"]], ["2.1.332", "claude /login"]);
  assertStringIncludes(login?.detail ?? "", "expired: Claude Code refreshes it");
  assertEquals([api?.data["url"], api?.data["status"], run?.skipped], [here.api, 404, true]);
});

Deno.test("doctor finds all problems", async () => {
  await using here = await machine({ versionText: "2.1.99 (Claude Code)" }, { loggedIn: false });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const env = { ANTHROPIC_BASE_URL: url, TMPDIR: "/sys" };
  const { byName, failed } = await here.checks([], { env });
  assertEquals(failed, ["fifo", "claude", "login", "api"]);
  assertStringIncludes(byName["fifo"]?.suggestion ?? "", "Set TMPDIR");
  assertStringIncludes(byName["claude"]?.detail ?? "", "too old: claude-print needs");
  assertStringIncludes(byName["login"]?.suggestion ?? "", "claude /login");
  assertEquals(byName["api"]?.detail, `Cannot reach ${url}: Connection refused`);
});

Deno.test("doctor prints no key or token", async () => {
  await using here = await machine();
  const env = {
    ANTHROPIC_API_KEY: "sk-ant-api03-throwaway-key-of-a-test",
    ANTHROPIC_AUTH_TOKEN: "throwaway-token-of-a-test",
    ANTHROPIC_BASE_URL: here.api.replace("//", "//user:throwaway@"),
  };
  for (const args of [[], ["--json"]]) {
    const { code, stdout } = await here.doctor(args, { env });
    assertEquals(code, 0);
    assertStringIncludes(stdout, "ANTHROPIC_AUTH_TOKEN is set");
    assertEquals(stdout.includes("throwaway"), false, stdout);
  }
});

Deno.test(skipIfLacking(MOUNT_LACK, {
  name: "doctor refuses a TMPDIR on a full disk",
  fn: async () => {
    await using here = await machine();
    const script = 'mount -t tmpfs -o size=64k none "$TMPDIR" && exec "$@"';
    const { byName, failed } = await here.checks(["--offline"], {
      wrap: (command) => ["unshare", "-rm", "/bin/sh", "-c", script, "sh", ...command],
    });
    assertEquals(failed, ["fifo"]);
    assertMatch(byName["fifo"]?.detail ?? "", /only [\d.]+ kB are free$/);
  },
}));

Deno.test("doctor --run sends one prompt and reports its times", async () => {
  await using here = await machine();
  const { byName: { run }, failed } = await here.checks(["--run"]);
  assertEquals(failed, []);
  assertStringIncludes(run?.detail ?? "", '"Hello from the stand-in."; entrypoint cli; ');
  const steps = ["first_byte_ms", "ready_ms", "stop_ms", "total_ms"]
    .map((name) => Number(run?.data[name]));
  assertEquals(steps, steps.toSorted((a, b) => a - b));
  assert(Number(run?.data["own_ms"]) >= 0);
  assertEquals((await here.claude.journal("prompt")).length, 1);
});

Deno.test("doctor --run ends at SIGINT and leaves nothing", async () => {
  await using here = await machine({ hang: "prompt" });
  const { child, ended } = here.start(["--run", "--offline"]);
  await here.claude.untilNoted("prompt");
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  assertEquals(code, 130);
  assertMatch(stdout, /^✗ run +The run was interrupted by SIGINT$/m);
  assertEquals(await leftovers(here.home), []);
});
