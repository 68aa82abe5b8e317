import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../start_program.ts";
import { MISSING } from "../../nowhere.ts";

const MODULE = new URL("../../../ffi/processes/exec.ts", import.meta.url).href;

/** A Deno of its own says which fds its children inherit and becomes another program. */
function execed(file: string, args: readonly string[], stdin = "") {
  const program = `import { exec } from ${JSON.stringify(MODULE)};
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

Deno.test("exec() becomes the program, in the same process, with stdin, environment and arguments", async () => {
  const args = ["-c", 'printf "%s|" $$ "$WORD" "$(pwd)" "$@"; cat', "sh", "", "a b", "é"];
  const program = execed("/bin/sh", args, "from stdin");
  const { code, stdout } = await program.ended;
  assertEquals([code, stdout], [0, `${program.child.pid}|kept|/||a b|é|from stdin`]);
});

/** The bit of SIGPIPE, which Deno ignores. */
const OF_DENO = 1n << 12n;

Deno.test("exec() leaves no signal ignored or blocked, and adds no fd", async () => {
  const script =
    "grep -E '^Sig(Ign|Blk):' /proc/self/status; for fd in /proc/self/fd/*; do echo ${fd##*/}; done";
  const { stdout, inherited } = await execed("/bin/sh", ["-c", script]).ended;
  const [blocked = "", ignored = "", ...fds] = stdout.trim().split("\n");
  assertEquals(BigInt(`0x${blocked.replace(/^SigBlk:\s+/u, "")}`), 0n);
  // glibc itself never lets 32 and 33 go, and what a shell starts in the background begins without SIGINT and SIGQUIT.
  const signals = (text: string) => BigInt(`0x${text.replace(/^SigIgn:\s+/u, "")}`) & 0x7fffffffn;
  const [here = ""] = /^SigIgn:.*$/mu.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  assertEquals(signals(ignored) & ~signals(here), 0n);
  assertEquals(signals(ignored) & OF_DENO, 0n);
  // The shell has the folder itself open while it reads it.
  assertEquals(
    fds.filter((fd) => !inherited.includes(fd)).length <= 1,
    true,
    `${fds}, not ${inherited}`,
  );
});

Deno.test("exec() says why a program cannot be started", async () => {
  const { stdout } = await execed(MISSING, []).ended;
  assertStringIncludes(stdout, `Cannot start "${MISSING}": No such file or directory`);
});
