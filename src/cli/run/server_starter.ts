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
 * Variables of the server that name the places of programs and files. All others, such as an API key, belong to one run
 * and are sent with it.
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
 * Starts a background server as soon as Claude Code has taken the prompt of a local run. So the prompt does not wait
 * for the server, and a run that fails earlier starts none.
 *
 * If a server is already running, the new one ends immediately.
 */
export class ServerStarter {
  readonly #argv: readonly string[];
  #initialize: JsonObject | undefined;
  #trace: (text: string) => void = () => {};
  #isDone = false;
  #pid: number | undefined;

  /** @param argv the command line of the run; the server prepares a child for a similar run */
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

  /** Traces that the server has already ended. Call it at the end of the run. */
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
      // The other end stays open while this process lives, so that the server sees when the run has ended.
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
