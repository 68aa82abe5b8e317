import { writeFd } from "../../../ffi/descriptors/fd.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { setNonblocking } from "../../../ffi/descriptors/unix_socket.ts";
import { waitFor } from "../../../ffi/processes/process.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import type { Input } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import type { ExpectedRun } from "./expected_run.ts";

/** How long the server stays without work, in seconds. */
const IDLE_S = 600;

/**
 * Variables of the server: where it finds programs and files. Everything else, such as an API key, belongs to one run and
 * comes with it.
 */
const SERVER_VARIABLES = [
  ...[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TMPDIR",
    "DENO_DIR",
    "CLAUDE_CONFIG_DIR",
  ],
  ...["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"],
];

/**
 * Starts a server in the background as soon as Claude Code has taken the prompt of a local run: the prompt does not wait
 * for that, and a run that fails earlier starts none.
 *
 * If there is a server already, the new one ends at once.
 */
export class ServerStarter {
  readonly #argv: readonly string[];
  #initialize: JsonObject | undefined;
  #trace: (text: string) => void = () => {};
  #isDone = false;
  #pid: number | undefined;

  /** @param argv the command line of the run; the server gets ready for another one like it */
  constructor(argv: readonly string[]) {
    this.#argv = argv;
  }

  readonly observe = (input: Input, trace: (text: string) => void): void => {
    if (input.type === "control" && input.request.subtype === "initialize") {
      this.#initialize = input.request.body;
    }
    // Claude Code writes the first line when it has taken the prompt.
    if (this.#isDone || input.type !== "transcript") return;
    this.#isDone = true;
    this.#trace = trace;
    try {
      this.#pid = this.#start();
      trace(`starts a server in the background: process ${this.#pid}`);
    } catch (error) {
      trace(`cannot start a server: ${error instanceof Error ? error.message : error}`);
    }
  };

  /** Traces that the server has ended already. Call it at the end of the run. */
  traceEnd(): void {
    if (this.#pid === undefined || waitFor(this.#pid) === undefined) return;
    this.#trace('the server has ended: "claude-print serve" says why if there is no other one');
  }

  #start(): number {
    const env = callerEnvironment();
    const run: ExpectedRun = {
      argv: [...this.#argv],
      env: { ...env },
      cwd: currentFolder(),
      ...(this.#initialize === undefined ? {} : { initialize: this.#initialize }),
    };
    const [program = "", ...args] = thisProgram();
    const pipe = new Pipe();
    try {
      // The write must not block. If the pipe is too small for the run's description, it arrives incomplete, and the
      // server prepares no child for it.
      setNonblocking(pipe.writeFd);
      writeFd(pipe.writeFd, new TextEncoder().encode(JSON.stringify(run)));
      const pid = spawn(program, {
        args: [...args, "serve", "--background", `${IDLE_S}`],
        env: serverEnvironment(env),
        cwd: "/",
        stdin: pipe.readFd,
      });
      // The other end stays open as long as this process lives: so the server knows when the run has ended.
      pipe.closeReadEnd();
      return pid;
    } catch (error) {
      pipe[Symbol.dispose]();
      throw error;
    }
  }
}

function serverEnvironment(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => SERVER_VARIABLES.includes(name)),
  );
}
