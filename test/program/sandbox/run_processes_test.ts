import { assert, assertEquals } from "@std/assert";
import { readProcFile, readProcPids } from "../../../ffi/processes/proc.ts";
import {
  findRunProcesses,
  killRunProcesses,
  readProcessStat,
  type RunProcesses,
} from "../../../src/sandbox/run_processes.ts";
import { tempFolder } from "../../temp_folder.ts";
import { Crowd } from "./crowd.ts";

/** A run whose child is a shell, with a private folder. */
class Ground implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "run-" });
  readonly configDir = `${this.path}/config`;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor() {
    Deno.mkdirSync(this.configDir);
  }

  /** Starts a script in a new session; the script prints pids, one a line. */
  start(script: string, env: Record<string, string> = { CLAUDE_CONFIG_DIR: this.configDir }) {
    const child = new Deno.Command("setsid", {
      args: ["sh", "-c", script],
      cwd: this.path,
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin", ...env },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const input = child.stdin.getWriter();
    this.#ends.push(async () => {
      killRunProcesses({ configDir: this.configDir, child: child.pid });
      await child.status;
      await output.cancel();
      await input.close().catch(() => {});
    });
    let text = "";
    return {
      pid: child.pid,
      status: child.status,
      /** The next pid that the script prints. */
      next: async () => {
        while (!text.includes("\n")) {
          const { value } = await output.read();
          assert(value !== undefined, "the script ended too early");
          text += value;
        }
        const [line = "", ...rest] = text.split("\n");
        text = rest.join("\n");
        return Number(line);
      },
      goOn: () => input.write(new TextEncoder().encode("\n")),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) await end();
    Deno.removeSync(this.path, { recursive: true });
  }
}

const pids = ({ living }: RunProcesses) => living.map(({ pid }) => pid);

function commandOf(pid: number): string {
  try {
    return new TextDecoder().decode(readProcFile(`/proc/${pid}/cmdline`));
  } catch {
    return "";
  }
}

function isLiving(pid: number): boolean {
  return readProcessStat(pid)?.ended === false;
}

Deno.test("readProcessStat() reads command names with blanks and parentheses", async () => {
  using folder = tempFolder();
  const program = `${folder.path}/a) Z 1 (b`;
  Deno.copyFileSync("/bin/sleep", program);
  const child = new Deno.Command(program, { args: ["1000"] }).spawn();
  try {
    const own = readProcessStat("self");
    assertEquals(own?.pid, Deno.pid);
    const { startTime, ...stat } = readProcessStat(child.pid) ?? {};
    assertEquals(stat, {
      pid: child.pid,
      parent: Deno.pid,
      group: own?.group,
      session: own?.session,
      ended: false,
      stopped: false,
    });
    assertEquals(Number(startTime) >= Number(own?.startTime), true);
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
  assertEquals(readProcessStat(child.pid), undefined);
});

Deno.test("findRunProcesses() searches by parent, environment and session", async () => {
  await using ground = new Ground();
  const { configDir } = ground;
  const cleared = "sh -c 'echo $$; exec sleep 1000'";
  const child = ground.start(`env -i setsid ${cleared} & read end`, {});
  const tool = ground.start(`env -i ${cleared} & read end`);
  const byParent = await child.next();
  const bySession = await tool.next();
  const found = pids(findRunProcesses({ configDir, child: child.pid })).toSorted();
  assertEquals(found, [child.pid, byParent, tool.pid, bySession].toSorted());
  assertEquals(pids(findRunProcesses({ configDir })).toSorted(), [tool.pid, bySession].toSorted());
});

Deno.test("killRunProcesses() kills a child of an ended process", async () => {
  await using ground = new Ground();
  const { configDir } = ground;
  const tool = ground.start("echo $$; read go; env -i sh -c 'echo $$; exec sleep 1000' &");
  await tool.next();
  const earlier = findRunProcesses({ configDir });
  await tool.goOn();
  const orphan = await tool.next();
  assert(isLiving(orphan));
  // The parent is gone before the kill, and the environment does not name the run.
  await tool.status;
  assertEquals(pids(findRunProcesses({ configDir })), []);
  assertEquals(killRunProcesses({ configDir }, earlier), []);
  assertEquals(isLiving(orphan), false);
});

Deno.test("killRunProcesses() kills processes that start during the kill", async () => {
  await using ground = new Ground();
  const { configDir } = ground;
  const program = `${ground.path}/nap`;
  Deno.symlinkSync("/bin/sleep", program);
  const busy = ground.start(
    `i=0; while [ $i -lt 30 ]; do env -i setsid ${program} 1000 & i=$((i + 1)); echo $!; done; read end`,
  );
  for (let begun = 0; begun < 5; begun++) await busy.next();
  assertEquals(killRunProcesses({ configDir }), []);
  const naps = readProcPids().filter((pid) => commandOf(pid).includes(program));
  for (const pid of naps) Deno.kill(pid, "SIGKILL");
  assertEquals(naps, []);
});

Deno.test("killRunProcesses() spares processes of others", async () => {
  await using crowd = await Crowd.gather();
  const { configDir, helperDir, child } = crowd;
  assertEquals(killRunProcesses({ configDir, helperDir, child }), []);
  crowd.check();
});

Deno.test("killRunProcesses() spares a session with a reused id", async () => {
  await using ground = new Ground();
  const { configDir } = ground;
  const neighbour = ground.start("echo $$; read end", {});
  await neighbour.next();
  const earlier = { living: [], sessions: new Map([[neighbour.pid, "1"]]) };
  assertEquals(killRunProcesses({ configDir }, earlier), []);
  assertEquals(isLiving(neighbour.pid), true);
});
