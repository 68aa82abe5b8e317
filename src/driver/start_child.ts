import { closeFd } from "../../ffi/descriptors/fd.ts";
import { killGroup, openPidfd, waitFor } from "../../ffi/processes/process.ts";
import { openPty, type Pty, type WindowSize } from "../../ffi/terminal/pty.ts";
import type { SignalName } from "../../ffi/processes/signals.ts";
import { spawn } from "../../ffi/processes/spawn.ts";
import { Guard } from "./effects/guard.ts";
import { HookSource } from "./inputs/hook_source.ts";
import { type PassedCredential, pipesOf } from "../sandbox/child/passed_credentials.ts";
import { killRunProcesses, type RunMarks } from "../sandbox/run_processes.ts";

/** The child to start. */
export interface StartOptions {
  /** Path of the claude executable, its arguments, environment and working directory. */
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Credentials that it finds on descriptors; none by default. */
  readonly credentials?: readonly PassedCredential[];
  /** The size of its terminal. */
  readonly size: WindowSize;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    /** The config dir of a headless Claude Code that is asked about the session. */
    readonly helperDir: string;
    readonly fifoPath: string;
    readonly payloadDir: string;
    readonly secret: string;
    readonly stdinPath: string | undefined;
  };
}

/**
 * Starts a child in a pseudo-terminal, with a guard beside it and an ear for its hooks. What follows it to its end is
 * loaded while it starts: this module has nothing but what comes before.
 *
 * @throws {LibcError} when the pseudo-terminal or the child cannot be had
 */
export function startChild(options: StartOptions): Child {
  return new Child(options);
}

/** A child: whatever goes wrong, once it is disposed nothing of the run is left without somebody to watch it. */
export class Child implements Disposable {
  readonly pid: number;
  /** Polls as readable once it has ended. */
  readonly pidfd: number;
  readonly pty: Pty;
  readonly hooks: HookSource;
  /** When it was started, as `performance.now()` tells time. */
  readonly startedAt: number;
  readonly #configDir: string;
  readonly #held: DisposableStack;
  #exited = false;
  #over = false;

  constructor({ binary, args, env, cwd, size, sandbox, credentials = [] }: StartOptions) {
    using stack = new DisposableStack();
    this.#configDir = sandbox.configDir;
    this.hooks = stack.use(new HookSource(sandbox));
    this.pty = stack.use(openPty(size));
    // Before the child: it may ignore the hang-up of its terminal, or have tools that do not get it.
    const guard = stack.use(new Guard(sandbox, { terminal: this.pty }));
    using pipes = new DisposableStack();
    const held = pipesOf(credentials).map((pipe) => pipes.use(pipe).readFd);
    this.startedAt = performance.now();
    this.pid = spawn(binary, {
      args,
      env,
      cwd,
      pty: this.pty,
      passedFds: held,
      ...(sandbox.stdinPath === undefined ? {} : { stdin: sandbox.stdinPath }),
    });
    stack.defer(() => this.#kill());
    guard.watch(this.pid);
    this.pidfd = openPidfd(this.pid);
    stack.defer(() => closeFd(this.pidfd));
    this.#held = stack.move();
  }

  /** Whether it has been reaped. */
  get exited(): boolean {
    return this.#exited;
  }

  /** How its processes are told from all others. */
  get marks(): RunMarks {
    return { configDir: this.#configDir, ...(this.#exited ? {} : { child: this.pid }) };
  }

  /** Reaps it if it has ended; undefined while it runs. */
  reap(): ReturnType<typeof waitFor> {
    const status = waitFor(this.pid);
    if (status !== undefined) this.#exited = true;
    return status;
  }

  /** Signals it and its group; without effect once it has been reaped. */
  signal(name: SignalName): void {
    if (!this.#exited) killGroup(this.pid, name);
  }

  /** From now on what it left is no concern of whoever disposes of it: its end has been decided. */
  release(): void {
    this.#over = true;
  }

  [Symbol.dispose](): void {
    this.#held.dispose();
  }

  /** Leaves no zombie either, unless it hangs in the kernel. */
  #kill(): void {
    if (this.#over) return;
    killRunProcesses(this.marks);
    if (this.#exited) return;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    for (let waited = 0; waited < REAP_MS && this.reap() === undefined; waited += REAP_STEP_MS) {
      Atomics.wait(clock, 0, 0, REAP_STEP_MS);
    }
  }
}

/** How long a child that was killed may take to be gone, in milliseconds, and how often it is looked at. */
const REAP_MS = 2000;
const REAP_STEP_MS = 5;
