import { closeFd } from "../../ffi/descriptors/fd.ts";
import { killGroup, openPidfd, waitFor } from "../../ffi/processes/process.ts";
import { openPty, type Pty, type WindowSize } from "../../ffi/terminal/pty.ts";
import type { SignalName } from "../../ffi/processes/signals.ts";
import { spawn } from "../../ffi/processes/spawn.ts";
import { Guard } from "./effects/guard.ts";
import { HookSource } from "./inputs/hook_source.ts";
import {
  createCredentialPipes,
  type PassedCredential,
} from "../sandbox/child/passed_credentials.ts";
import { killRunProcesses, type RunMarks } from "../sandbox/run_processes.ts";

/** The child to start. */
export interface StartOptions {
  /** Path of the `claude` executable. */
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Credentials that the child reads from descriptors; none by default. */
  readonly credentials?: readonly PassedCredential[];
  /** The size of the child's terminal. */
  readonly size: WindowSize;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    /** The config dir of the headless helper. */
    readonly helperDir: string;
    readonly fifoPath: string;
    readonly payloadDir: string;
    readonly secret: string;
    readonly stdinPath: string | undefined;
  };
}

/**
 * Starts a child in a pseudo-terminal, and a guard for it, and listens to its hooks. This module is kept small, because
 * the modules of the loop are loaded while the child starts.
 *
 * @throws {LibcError} if the pseudo-terminal cannot be opened or the child cannot be started
 */
export function startChild(options: StartOptions): Child {
  return new Child(options);
}

/** A child process. Disposing it kills the rest of the run, unless `release` was called. */
export class Child implements Disposable {
  readonly pid: number;
  /** Becomes readable for a poll once the child has ended. */
  readonly pidfd: number;
  readonly pty: Pty;
  readonly hooks: HookSource;
  /** The time of the child's start, by `performance.now()`. */
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
    // The guard starts first. The child may ignore the hang-up of its terminal, and its tools do not receive it.
    const guard = stack.use(new Guard(sandbox, { terminal: this.pty }));
    using pipes = new DisposableStack();
    const held = createCredentialPipes(credentials).map((pipe) => pipes.use(pipe).readFd);
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

  /** Whether the child has been reaped. */
  get exited(): boolean {
    return this.#exited;
  }

  /** The marks of the child's processes. */
  get marks(): RunMarks {
    return { configDir: this.#configDir, ...(this.#exited ? {} : { child: this.pid }) };
  }

  /** Reaps the child if it has ended; undefined while it runs. */
  reap(): ReturnType<typeof waitFor> {
    const status = waitFor(this.pid);
    if (status !== undefined) this.#exited = true;
    return status;
  }

  /** Signals the child and its group. Does nothing once the child has been reaped. */
  signal(name: SignalName): void {
    if (!this.#exited) killGroup(this.pid, name);
  }

  /** Call this when the child's end is decided. Disposing the child then kills nothing. */
  release(): void {
    this.#over = true;
  }

  [Symbol.dispose](): void {
    this.#held.dispose();
  }

  /** Kills the run's processes and reaps the child, unless it hangs in the kernel. */
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

/** How long a killed child may take to end, and how often it is checked, in milliseconds. */
const REAP_MS = 2000;
const REAP_STEP_MS = 5;
