import { assertEquals } from "@std/assert";
import { readProcessStat } from "../../../src/sandbox/run_processes.ts";
import { OTHER_USER_LACK } from "../../other_user.ts";
import { until } from "../stand_in.ts";

/** A session that runs a shell script; the shell becomes a `sleep` unless it exits. */
interface Scene {
  /**
   * Prints the name and pid of each process, which becomes a `sleep`. `$D` is the crowd's folder, `$C` the config dir of
   * the run's child, and `$U` a command that changes the user, if that is possible.
   */
  readonly script: string;
  /** The config dir in the session's environment, by its name in `$D`. */
  readonly configDir?: string;
  readonly isAnotherUsers?: boolean;
}

const CAN_BE_ANOTHER = OTHER_USER_LACK === undefined;
const ANOTHER_USER = "setpriv --reuid 65534 --regid 65534 --clear-groups";

/** The name of a program that looks like the end of an orphan's `/proc/<pid>/stat`. */
const MISLEADING = ") Z 1 1 1\n(x) ";

const CHILD: Scene = {
  script: `say 'the child' $$
    sleep 1000 & say 'its tool' $!
    env -i setsid sleep 1000 & say 'its tool without environment' $!
    "$D/$N" 1000 & say 'its tool with a misleading name' $!
    if [ "$U" ]; then $U env -i setsid sleep 1000 & say 'its tool that became another user' $!; fi`,
};

/** A tool without a parent, and a tool that starts a successor and ends, again and again. */
const TOOL: Scene = {
  configDir: "config",
  script: `say 'a tool without parent' $$
    env -i sleep 1000 & say 'a process in its session' $!
    setsid sleep 1000 & say 'a process in a session of its own' $!
    sh "$D/relay" "$D"
    env -i sh "$D/relay" "$D"`,
};

/** The headless helper, and its server. */
const HELPER: Scene = {
  configDir: "helper",
  script: `say 'the headless helper' $$
    sleep 1000 & say 'its server' $!`,
};

/** Processes in sessions of others do not belong to the run, unless this user's environment says so. */
const OTHERS: readonly Scene[] = [
  {
    script: `say 'SPARED: a shell' $$
      sleep 1000 & say 'SPARED: its command' $!
      CLAUDE_CONFIG_DIR=$C sleep 1000 & say 'an intruder' $!`,
  },
  {
    script: `sleep 1000 & say 'SPARED: a command whose shell has ended' $!
      CLAUDE_CONFIG_DIR=$C sleep 1000 & say 'an intruder there' $!
      echo .; exit`,
  },
  { script: "say 'SPARED: another run' $$", configDir: "elsewhere" },
  {
    script: `say 'SPARED: another user' $$
      sleep 1000 & say 'SPARED: another user, once more' $!`,
    configDir: "config",
    isAnotherUsers: true,
  },
];

/** Processes of a run, and similar processes of others. */
export class Crowd implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "run-" });
  /** The config dir of the run's child. */
  readonly configDir = `${this.path}/config`;
  /** The config dir of the headless helper. */
  readonly helperDir = `${this.path}/helper`;
  readonly #members = new Map<string, { readonly pid: number; readonly startTime: string }>();
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** Starts all processes, and waits until each is a `sleep`. */
  static async gather(): Promise<Crowd> {
    const crowd = new Crowd();
    Deno.chmodSync(crowd.path, 0o755);
    Deno.copyFileSync("/bin/sleep", `${crowd.path}/${MISLEADING}`);
    // The relay ends by itself when the test has failed.
    Deno.writeTextFileSync(`${crowd.path}/relay`, '[ -e "$1/stop" ] || sh "$0" "$1" &\n');
    const others = OTHERS.filter(({ isAnotherUsers }) => CAN_BE_ANOTHER || !isAnotherUsers);
    await Promise.all([CHILD, TOOL, HELPER, ...others].map((scene) => crowd.#play(scene)));
    const env = { CLAUDE_CONFIG_DIR: crowd.configDir };
    const here = new Deno.Command("sleep", { args: ["1000"], env }).spawn();
    crowd.#ends.push(() => here.status);
    crowd.#enter("SPARED: a process in this program's session", here.pid);
    await until(() => crowd.#isSettled(), "every process is a sleep");
    return crowd;
  }

  /** The child of the run. */
  get child(): number {
    return this.#members.get("the child")?.pid ?? 0;
  }

  /** Checks that exactly the processes of others live. */
  check(): void {
    const living = [...this.#members].filter(([, { pid, startTime }]) => {
      const stat = readProcessStat(pid);
      return stat?.startTime === startTime && !stat.ended;
    });
    const spared = [...this.#members.keys()].filter((name) => name.startsWith("SPARED: "));
    assertEquals(living.map(([name]) => name).toSorted(), spared.toSorted());
    const relays = commandLines().filter((line) => line.includes(`${this.path}/relay`));
    assertEquals(relays, [], "a tool that starts a successor and ends");
  }

  async #play({ script, configDir, isAnotherUsers }: Scene): Promise<void> {
    const command = `say() { printf '%s\\t%s\\n' "$1" "$2"; }
      ${script}
      echo .; exec sleep 1000`;
    const user = isAnotherUsers ? ANOTHER_USER.split(" ") : [];
    const [program = "", ...args] = [...user, "setsid", "sh", "-c", command];
    const child = new Deno.Command(program, {
      args,
      cwd: "/",
      clearEnv: true,
      env: {
        PATH: "/usr/bin:/bin",
        C: this.configDir,
        D: this.path,
        N: MISLEADING,
        U: CAN_BE_ANOTHER ? ANOTHER_USER : "",
        ...(configDir === undefined ? {} : { CLAUDE_CONFIG_DIR: `${this.path}/${configDir}` }),
      },
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#ends.push(() => child.status, () => output.cancel());
    let text = "";
    while (!text.endsWith(".\n")) {
      const { value } = await output.read();
      if (value === undefined) throw new Error(`The script ended too early: ${script}`);
      text += value;
    }
    for (const [, name = "", pid] of text.matchAll(/^(.*)\t(\d+)$/gmu)) {
      this.#enter(name, Number(pid));
    }
  }

  #enter(name: string, pid: number): void {
    this.#members.set(name, { pid, startTime: readProcessStat(pid)?.startTime ?? "" });
  }

  #isSettled(): boolean {
    return [...this.#members.values()].every(({ pid }) =>
      Deno.readTextFileSync(`/proc/${pid}/cmdline`).endsWith("\x001000\0")
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    Deno.writeTextFileSync(`${this.path}/stop`, "");
    for (const { pid, startTime } of this.#members.values()) {
      if (readProcessStat(pid)?.startTime === startTime) Deno.kill(pid, "SIGKILL");
    }
    for (const end of this.#ends) await end();
    Deno.removeSync(this.path, { recursive: true });
  }
}

function commandLines(): readonly string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name)
    .filter((name) => /^\d+$/u.test(name)).flatMap((pid) => {
      try {
        return [Deno.readTextFileSync(`/proc/${pid}/cmdline`)];
      } catch {
        return [];
      }
    });
}
