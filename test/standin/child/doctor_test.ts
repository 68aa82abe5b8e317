import deno from "../../../deno.json" with { type: "json" };
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { installMockClaude } from "../../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import {
  makeThrowawayHome,
  type ThrowawayHome,
  type ThrowawayHomeOptions,
} from "../../../fixtures/throwaway_home.ts";
import type { Check } from "../../../src/doctor/check.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { type Program, type ProgramOutput, startProgram } from "../../start_program.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { until } from "../stand_in.ts";
import { userFiles } from "../user_files.ts";

/** Options for one start of the doctor. */
interface ExamineOptions {
  /** Variables over those of the home; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Makes another command out of the one that would be run. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
}

/** What `claude-print doctor` looks at: the stand-in as `claude` on PATH, an API on loopback, a throw-away home. */
class Patient implements AsyncDisposable {
  readonly home: ThrowawayHome;
  readonly env: Readonly<Record<string, string>>;
  readonly #api: Deno.HttpServer<Deno.NetAddr>;

  private constructor(home: ThrowawayHome, api: Deno.HttpServer<Deno.NetAddr>) {
    this.home = home;
    this.#api = api;
    this.env = {
      ...home.env,
      PATH: `${home.path}/bin:${home.env["PATH"]}`,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${api.addr.port}`,
    };
  }

  /** Makes a stand-in with a scenario; other fields have their defaults. */
  static async admit(
    scenario: Partial<Scenario> = {},
    options: ThrowawayHomeOptions = {},
  ): Promise<Patient> {
    const home = await makeThrowawayHome(options);
    await Deno.mkdir(`${home.path}/bin`);
    await installMockClaude(`${home.path}/bin`, { scenario, journal: `${home.path}/journal` });
    const listening = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    return new Patient(home, Deno.serve(listening, () => new Response(null, { status: 404 })));
  }

  /** Starts the doctor. */
  start(
    args: readonly string[] = [],
    { env, wrap = (command) => command }: ExamineOptions = {},
  ): Program {
    return startProgram(wrap([...CLAUDE_PRINT, "doctor", ...args]), {
      env: { ...this.env, ...env },
      cwd: this.home.project,
    });
  }

  /** Runs the doctor to its end, after which nothing may be left or changed. */
  async examine(
    args: readonly string[] = [],
    options: ExamineOptions = {},
  ): Promise<ProgramOutput> {
    const before = userFiles(this.home, { projects: true });
    const output = await this.start(args, options).ended;
    assertEquals(output.stderr, "");
    assertEquals(await leftovers(this.home), [], "doctor left something behind");
    assertEquals(userFiles(this.home, { projects: true }), before, "doctor changed a user's file");
    return output;
  }

  /** The checks by name, which have to agree with the exit code. */
  async checks(
    args: readonly string[] = [],
    options: ExamineOptions = {},
  ): Promise<Readonly<Record<string, Check>>> {
    const { code, stdout } = await this.examine(["--json", ...args], options);
    const report: { ok: boolean; version: string; checks: readonly Check[] } = JSON.parse(stdout);
    assertEquals(report.ok, code === 0);
    assertEquals(report.ok, report.checks.every(({ ok }) => ok));
    assertEquals(report.version, deno.version);
    return Object.fromEntries(report.checks.map((check) => [check.name, check]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.shutdown();
    await this.home[Symbol.asyncDispose]();
  }
}

/** The names of the checks that are not well. */
function ailing(checks: Readonly<Record<string, Check>>): readonly string[] {
  return Object.values(checks).filter(({ ok }) => !ok).map(({ name }) => name);
}

Deno.test("doctor prints one line for each check", async () => {
  await using patient = await Patient.admit();
  const { code, stdout } = await patient.examine();
  assertEquals(code, 0, stdout);
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.map((line) => line.split(/ +/).slice(0, 2).join(" ")), [
    "✓ platform",
    "✓ libc",
    "✓ pty",
    "✓ fifo",
    "✓ claude",
    "✓ login",
    "✓ api",
    "✓ leftovers",
    "- run",
  ]);
  assertMatch(stdout, /^✓ claude +2\.1\.332 in .*\/bin\/claude/m);
  assertMatch(stdout, /^✓ login +max subscription, expires in 36\d days$/m);
});

Deno.test("doctor --json has the facts of each check", async () => {
  await using patient = await Patient.admit({}, { expiresAt: Date.now() - 1000 });
  const checks = await patient.checks();
  assertEquals(ailing(checks), []);
  const { platform, libc, pty, fifo, claude, login, api, run } = checks;
  assertEquals(platform?.data["os"], "linux");
  assertEquals(libc?.data["missing"], []);
  assertMatch(String(pty?.data["path"]), /^\/dev\/pts\/\d+$/);
  assertEquals(fifo?.data["folder"], patient.home.tmp);
  assertEquals(claude?.data["version"], "2.1.332");
  assertEquals(login?.data["source"], "claude /login");
  assertStringIncludes(login?.detail ?? "", "expired: Claude Code refreshes it");
  assertEquals([api?.data["url"], api?.data["status"]], [patient.env["ANTHROPIC_BASE_URL"], 404]);
  assertEquals(run?.skipped, true);
});

Deno.test("doctor finds all problems", async () => {
  const old = { versionText: "2.1.99 (Claude Code)" };
  await using patient = await Patient.admit(old, { loggedIn: false });
  const url = `http://127.0.0.1:${closedPort()}`;
  const checks = await patient.checks([], { env: { ANTHROPIC_BASE_URL: url, TMPDIR: "/sys" } });
  assertEquals(ailing(checks), ["fifo", "claude", "login", "api"]);
  assertStringIncludes(checks["fifo"]?.suggestion ?? "", "Set TMPDIR");
  assertStringIncludes(checks["claude"]?.detail ?? "", "too old: claude-print needs");
  assertStringIncludes(checks["login"]?.suggestion ?? "", "claude /login");
  assertEquals(checks["api"]?.detail, `Cannot reach ${url}: Connection refused`);
});

/** A closed port on loopback. */
function closedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("doctor prints no key or token", async () => {
  await using patient = await Patient.admit();
  const secrets = {
    ANTHROPIC_API_KEY: "sk-ant-api03-throwaway-key-of-a-test",
    ANTHROPIC_AUTH_TOKEN: "throwaway-token-of-a-test",
    ANTHROPIC_BASE_URL: patient.env["ANTHROPIC_BASE_URL"]?.replace("//", "//user:throwaway@"),
  };
  for (const args of [[], ["--json"]]) {
    const { code, stdout } = await patient.examine(args, { env: secrets });
    assertEquals(code, 0);
    assertStringIncludes(stdout, "ANTHROPIC_AUTH_TOKEN is set");
    assertEquals(stdout.includes("throwaway"), false, stdout);
  }
});

Deno.test(unlessLacking(MOUNT_LACK, {
  name: "doctor refuses a TMPDIR on a full disk",
  fn: async () => {
    await using patient = await Patient.admit();
    const script = 'mount -t tmpfs -o size=64k none "$TMPDIR" && exec "$@"';
    const checks = await patient.checks(["--offline"], {
      wrap: (command) => ["unshare", "-rm", "/bin/sh", "-c", script, "sh", ...command],
    });
    assertEquals(ailing(checks), ["fifo"]);
    assertMatch(checks["fifo"]?.detail ?? "", /only [\d.]+ kB are free$/);
  },
}));

Deno.test("doctor --run sends one prompt and reports its times", async () => {
  await using patient = await Patient.admit();
  const { run, ...others } = await patient.checks(["--run"]);
  assertEquals(ailing(others), []);
  assertEquals(run?.ok, true, run?.detail);
  assertStringIncludes(run?.detail ?? "", '"Hello from the stand-in."; entrypoint cli; ');
  const { data } = run ?? {};
  const steps = [
    data?.["first_byte_ms"],
    data?.["ready_ms"],
    data?.["stop_ms"],
    data?.["total_ms"],
  ].map(Number);
  assertEquals(steps, steps.toSorted((a, b) => a - b));
  assert(Number(data?.["own_ms"]) >= 0);
});

Deno.test("doctor --run ends at SIGINT and leaves nothing", async () => {
  await using patient = await Patient.admit({ hang: "prompt" });
  const { child, ended } = patient.start(["--run", "--offline"]);
  const isPrompted = async () =>
    (await Deno.readTextFile(`${patient.home.path}/journal`).catch(() => "")).includes(
      '"kind":"prompt"',
    );
  await until(isPrompted, "the child has its prompt");
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  assertEquals(code, 130);
  assertMatch(stdout, /^✗ run +The run was interrupted by SIGINT$/m);
  assertEquals(await leftovers(patient.home), []);
});
