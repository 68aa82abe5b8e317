/**
 * What needs a process of its own: each test starts a Deno.
 *
 * @module
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { MISSING } from "../../nowhere.ts";
import { startProgram } from "../../start_program.ts";

const url = (path: string) => JSON.stringify(import.meta.resolve(`../../../ffi/${path}`));

Deno.test("libc without the ffi permission says how to give it", async () => {
  const script = `
    import { libc } from ${url("libc.ts")};
    try {
      libc();
    } catch (error) {
      console.log(JSON.stringify([error.name, error.suggestion]));
    }
  `;
  const deno = [Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-config", "-"];
  const env = { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
  const { stdout } = await startProgram(deno, { stdin: script, env, cwd: "/" }).ended;
  assertEquals(JSON.parse(stdout), [
    "LibcUnavailableError",
    "Run claude-print with deno run -A; the permission cannot be given at the prompt",
  ]);
});

Deno.test("children leave no fd, no zombie and nothing inheritable", async () => {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--frozen", import.meta.resolve("./leak_probe.ts")],
    stderr: "inherit",
  }).output();
  assert(success);
  const { before, after, ...counts } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(after, before);
  assertEquals(counts, { ended: 20, reaped: 20, opened: 4, closedOnExec: 4 });
});

/** Runs a Deno that prints the fds that its children inherit, and then becomes another program. */
function execed(file: string, args: readonly string[], stdin = "") {
  const program = `import { exec } from ${url("processes/exec.ts")};
const O_CLOEXEC = 0o2000000;
const flags = (fd) => Number.parseInt(/flags:\\s+(\\d+)/.exec(Deno.readTextFileSync("/proc/self/fdinfo/" + fd))[1], 8);
const fds = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name)
  .filter((fd) => { try { return (flags(fd) & O_CLOEXEC) === 0; } catch { return false; } });
console.log(JSON.stringify(fds.sort()));
try { exec(${JSON.stringify(file)}, ${
    JSON.stringify(args)
  }); } catch (error) { console.log(error.message); }`;
  const deno = [Deno.execPath(), "eval", "--quiet", "--no-config", "--no-lock", program];
  const { child, ended } = startProgram(deno, {
    stdin,
    env: { PATH: "/usr/bin:/bin", WORD: "kept", NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    cwd: "/",
  });
  const result = async () => {
    const { code, stdout } = await ended;
    const [fds = "", ...rest] = stdout.split("\n");
    return { code, inherited: JSON.parse(fds), stdout: rest.join("\n") };
  };
  return { child, ended: result() };
}

/** The bit of SIGPIPE, which Deno ignores. */
const SIGPIPE = 1n << 12n;

Deno.test("exec() replaces the process and resets signals and fds", async () => {
  const script = `printf '%s|' $$ "$WORD" "$(pwd)" "$@"; cat
    grep -E '^Sig(Ign|Blk):' /proc/self/status; for fd in /proc/self/fd/*; do echo \${fd##*/}; done`;
  const args = ["-c", script, "sh", "", "a b", "é"];
  const program = execed("/bin/sh", args, "from stdin\n");
  const { code, stdout, inherited } = await program.ended;
  const [first, blocked = "", ignored = "", ...fds] = stdout.trim().split("\n");
  assertEquals([code, first], [0, `${program.child.pid}|kept|/||a b|é|from stdin`]);
  assertEquals(BigInt(`0x${blocked.replace(/^SigBlk:\s+/u, "")}`), 0n);
  // glibc keeps 32 and 33. A shell starts programs in the background without SIGINT and SIGQUIT.
  const signals = (text: string) => BigInt(`0x${text.replace(/^SigIgn:\s+/u, "")}`) & 0x7fffffffn;
  const [here = ""] = /^SigIgn:.*$/mu.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  assertEquals(signals(ignored) & (~signals(here) | SIGPIPE), 0n);
  // The shell opens the folder of fds while it reads it.
  const added = fds.filter((fd) => !inherited.includes(fd));
  assert(added.length <= 1, `${fds}, not ${inherited}`);
});

Deno.test("exec() says why a program cannot be started", async () => {
  const { stdout } = await execed(MISSING, []).ended;
  assertStringIncludes(stdout, `Cannot start "${MISSING}": No such file or directory`);
});
