import { assertEquals } from "@std/assert";
import { writeFd } from "../../../ffi/descriptors/fd.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { kill, waitFor } from "../../../ffi/processes/process.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { Guard, GUARD_SCRIPT } from "../../../src/driver/effects/guard.ts";
import { readProcessStat } from "../../../src/sandbox/run_processes.ts";
import { missingTool } from "../../missing_tool.ts";
import { SHELLS } from "../../shells.ts";
import { tempFolder } from "../../temp_folder.ts";
import { processesOf } from "../../leftovers.ts";
import { Crowd } from "../sandbox/crowd.ts";
import { until } from "../stand_in.ts";
import { OTHER_USER_LACK } from "../../other_user.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";

Deno.test("Guard is a process that dispose ends", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const configDir = `${folder}/config`;
  const tool = new Deno.Command("sleep", {
    args: ["1000"],
    env: { CLAUDE_CONFIG_DIR: configDir },
  }).spawn();
  try {
    const guard = new Guard({ configDir, helperDir: `${folder}/helper` });
    // A process has no environment while it starts its program.
    await until(() => processesOf(folder).length === 2, "both are there");
    guard[Symbol.dispose]();
    guard[Symbol.dispose]();
    assertEquals(processesOf(folder).length, 1);
  } finally {
    tool.kill("SIGKILL");
    await tool.status;
  }
});

/** The arguments of a shell that becomes a guard. */
const guardArgs = ({ configDir, helperDir }: Pick<Crowd, "configDir" | "helperDir">) => [
  ...["-c", GUARD_SCRIPT, "guard", configDir, helperDir, `${readProcessStat("self")?.session}`],
];

/** Starts the script of a guard; the guarded program ends with `programEnds()`. */
function startGuard(
  shell: readonly string[],
  { configDir, helperDir }: Pick<Crowd, "configDir" | "helperDir">,
) {
  const [program = "", ...args] = shell;
  const child = new Deno.Command(program, {
    args: [...args, ...guardArgs({ configDir, helperDir })],
    clearEnv: true,
    env: { LC_ALL: "C" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stdin = child.stdin.getWriter();
  return {
    programEnds: async (watched?: number) => {
      const { pid, startTime } = watched === undefined ? {} : readProcessStat(watched) ?? {};
      if (pid !== undefined) await stdin.write(new TextEncoder().encode(`${pid}/${startTime}\n`));
      await stdin.close();
      const { code, stdout } = await child.output();
      assertEquals([code, stdout.length], [0, 0]);
    },
  };
}

for (const { name, command } of SHELLS.filter(({ name }) => name !== "sh")) {
  const [program = ""] = name.split(" ");
  Deno.test(skipIfLacking(missingTool(program), {
    name: `a guard under ${name} ends only its killed run`,
    fn: async () => {
      await using crowd = await Crowd.gather();
      await startGuard(command, crowd).programEnds(crowd.child);
      crowd.check();
    },
  }));
}

Deno.test("a guard ends processes that a tool starts meanwhile", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const program = `${folder}/nap`;
  Deno.symlinkSync("/bin/sleep", program);
  const dirs = { configDir: `${folder}/config`, helperDir: `${folder}/helper` };
  const guard = startGuard(["sh"], dirs);
  // It starts more for longer than the guard waits for a child to end by itself, and never ends by itself.
  const script = `trap '' HUP; i=0
    while sleep 0.01; do
      if [ $i -lt 150 ]; then env -i setsid ${program} 1000 & fi
      i=$((i + 1))
    done`;
  const child = new Deno.Command("setsid", {
    args: ["sh", "-c", script],
    env: { CLAUDE_CONFIG_DIR: dirs.configDir },
    stdin: "null",
  }).spawn();
  try {
    await until(() => processesOf(program).length > 5, "the tool is busy");
    await guard.programEnds(child.pid);
    assertEquals((await child.status).signal, "SIGKILL");
    assertEquals(processesOf(program), []);
  } finally {
    for (const line of processesOf(program)) Deno.kill(Number(/\d+/u.exec(line)), "SIGKILL");
  }
});

/** How many users this test has been before. */
let usersBefore = 0;

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "a guard ends a run that reached the process limit",
  fn: async () => {
    const limit = 40;
    // A user without other processes, also when the test is repeated; root has no limit.
    const user = `${60_000 + (Deno.pid + usersBefore++) % 5000}`;
    const limited = ["setpriv", "--reuid", user, "--clear-groups", "prlimit", `--nproc=${limit}`];
    const dirs = { configDir: "/nonexistent/config", helperDir: "/nonexistent/helper" };
    const guard = startGuard([...limited, "sh"], dirs);
    // With the guard and this shell, the limit is reached.
    const script = `n=2
      while [ $n -lt ${limit} ]; do
        sleep 60 &
        env -i setsid sleep 60 &
        n=$((n + 2))
      done
      echo full; exec sleep 60`;
    const [program = "", ...args] = [...limited, "setsid", "sh", "-c", script];
    const child = new Deno.Command(program, {
      args,
      cwd: "/",
      env: { CLAUDE_CONFIG_DIR: dirs.configDir },
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assertEquals((await output.read()).value, "full\n");
    assertEquals(processesOfUser(user), limit);
    await guard.programEnds(child.pid);
    await child.status;
    await output.cancel();
    assertEquals(processesOfUser(user), 0);
  },
}));

Deno.test("a late guard holds the terminal open", async () => {
  using temp = tempFolder();
  const configDir = temp.path;
  const size = { rows: 24, cols: 80 };
  const pipe = new Pipe();
  const terminal = openPty(size);
  const surroundings = { env: {}, cwd: configDir };
  const guard = spawn("/bin/sh", {
    ...surroundings,
    args: guardArgs({ configDir, helperDir: `${configDir}/helper` }),
    stdin: pipe.readFd,
    passedFds: [terminal.fd],
  });
  const child = spawn("/bin/sh", {
    ...surroundings,
    args: ["-c", "env -i setsid sleep 1000 & wait"],
    pty: terminal,
  });
  try {
    const line = `${child}/${readProcessStat(child)?.startTime}\n`;
    writeFd(pipe.writeFd, new TextEncoder().encode(line));
    const tools = () => processesOf(configDir).filter((each) => each.endsWith(": sleep 1000"));
    await until(() => tools().length === 1, "the tool runs");
    kill(guard, "SIGSTOP");
    // As the kernel does when the program is killed.
    pipe[Symbol.dispose]();
    terminal[Symbol.dispose]();
    assertEquals(readProcessStat(child)?.ended, false);
    kill(guard, "SIGCONT");
    await until(() => waitFor(guard) !== undefined, "the guard is done");
    assertEquals(waitFor(child), { kind: "signaled", signal: SIGNALS.SIGHUP });
    assertEquals(tools(), []);
  } finally {
    pipe[Symbol.dispose]();
    terminal[Symbol.dispose]();
  }
});

/** The number of a user's processes, which the limit counts. */
function processesOfUser(user: string): number {
  return [...Deno.readDirSync("/proc")].filter(({ name }) => {
    if (!/^\d+$/u.test(name)) return false;
    try {
      const status = Deno.readTextFileSync(`/proc/${name}/status`);
      return status.includes(`\nUid:\t${user}\t`) && !/^State:\t[ZX]/mu.test(status);
    } catch {
      return false;
    }
  }).length;
}
