import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Check } from "../../../src/doctor/check.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { Patient } from "../patient.ts";
import { runInTerminal } from "../terminal_run.ts";
import { NOWHERE } from "../../nowhere.ts";

/** The names of the checks that are not well. */
function ailing(checks: Readonly<Record<string, Check>>): readonly string[] {
  return Object.values(checks).filter(({ ok }) => !ok).map(({ name }) => name);
}

Deno.test("doctor tells what is well, a line each", async () => {
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

Deno.test("doctor without UTF-8 keeps to ASCII", async () => {
  await using patient = await Patient.admit();
  // Offline it does not matter that nobody answers.
  const env = { LANG: "C", ANTHROPIC_BASE_URL: `http://127.0.0.1:${closedPort()}` };
  const { code, stdout } = await patient.examine(["--offline"], { env });
  assertEquals(code, 0);
  assertMatch(stdout, /^[\n -~]*$/);
  assertMatch(stdout, /^ok {3}platform /);
  assertMatch(stdout, /^skip api {8}--offline$/m);
});

Deno.test("doctor in a terminal has colours and keeps to its width", async () => {
  await using patient = await Patient.admit({}, { loggedIn: false });
  const command = [...CLAUDE_PRINT, "doctor", "--offline"];
  const run = async (env: Readonly<Record<string, string>>) => {
    const { exit, output } = await runInTerminal(command, {
      size: { rows: 24, cols: 60 },
      cwd: patient.home.project,
      env: { ...patient.env, ...env },
    });
    assertEquals(exit, { kind: "exited", code: 2 });
    return output;
  };
  const coloured = await run({});
  assertStringIncludes(coloured, "\x1b[32m✓\x1b[m platform");
  assertStringIncludes(coloured, "\x1b[31m✗\x1b[m login");
  assertStringIncludes(coloured, "             CLAUDE_CODE_OAUTH_TOKEN or ANTHROPIC_API_KEY\r\n");
  const plain = await run({ NO_COLOR: "1" });
  assertEquals(plain.includes("\x1b"), false, plain);
});

Deno.test("doctor --json says the same for machines, also of an expired login that is refreshed", async () => {
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

Deno.test("doctor finds no claude, or one that it is told of", async () => {
  await using patient = await Patient.admit();
  const env = { PATH: NOWHERE };
  const checks = await patient.checks(["--run"], { env });
  assertEquals(ailing(checks), ["claude"]);
  assertEquals(checks["claude"]?.detail, 'Cannot start claude: "claude" is not on PATH');
  assertStringIncludes(checks["claude"]?.suggestion ?? "", "--claude-binary");
  assertEquals([checks["run"]?.skipped, checks["run"]?.detail], [true, "needs claude"]);
  const named = await patient.checks(["--claude-binary", `${patient.home.path}/bin/claude`], {
    env,
  });
  assertEquals(ailing(named), []);
});

Deno.test("doctor finds all that is not well", async () => {
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

/** A port on loopback where nobody listens any more. */
function closedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("doctor never prints a key or a token", async () => {
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
  name: "doctor does not take a TMPDIR on a full disk",
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

Deno.test("doctor finds what a killed run left, and leaves it", async () => {
  await using patient = await Patient.admit();
  // No process can have this pid: pid_max of proc_sys_kernel(5).
  const path = `${patient.home.tmp}/claude-print-${Deno.uid()}/4194304-1-0123abcd`;
  await Deno.mkdir(path, { mode: 0o700, recursive: true });
  const { code, stdout } = await patient.start(["--offline"]).ended;
  assertEquals(code, 2);
  assertStringIncludes(stdout, `✗ leftovers  A run left ${path}\n`);
  assertStringIncludes(stdout, "claude-print sweep\n");
  assert((await Deno.stat(path)).isDirectory);
});

Deno.test("doctor --run sends one prompt and tells how it went", async () => {
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

Deno.test("doctor --run tells why a run fails", async () => {
  await using patient = await Patient.admit({ crash: { at: "prompt", code: 3 } });
  const checks = await patient.checks(["--run"]);
  assertEquals(ailing(checks), ["run"]);
  assertEquals(checks["run"]?.detail, "Claude Code ended before the turn did: exit code 3");
  assertEquals(typeof checks["run"]?.suggestion, "string");
});

Deno.test("doctor --run ends when it is interrupted, and leaves nothing", async () => {
  await using patient = await Patient.admit({ hang: "prompt" });
  const { child, ended } = patient.start(["--run", "--offline"]);
  let over = false;
  ended.finally(() => over = true);
  while (!over && !await noted(`${patient.home.path}/journal`)) {
    await new Promise((done) => setTimeout(done, 5));
  }
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  assertEquals(code, 130);
  assertMatch(stdout, /^✗ run +The run was interrupted by SIGINT$/m);
  assertEquals(await leftovers(patient.home), []);
});

/** Whether the stand-in has got its prompt. */
async function noted(journal: string): Promise<boolean> {
  const text = await Deno.readTextFile(journal).catch(() => "");
  return text.includes('"kind":"prompt"');
}

Deno.test("doctor explains itself, and takes no other flags", async () => {
  await using patient = await Patient.admit();
  const help = await patient.examine(["--help"]);
  assertEquals(help.code, 0);
  for (const flag of ["--offline", "--run", "--json", "--claude-binary"]) {
    assertStringIncludes(help.stdout, flag);
  }
  const { code, stdout, stderr } = await patient.start(["--verbose"]).ended;
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /doctor does not take "--verbose"\n {2}\S/);
});
