import { drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { kill, waitFor } from "../../../ffi/processes/process.ts";
import type { SignalName } from "../../../ffi/processes/signals.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";
import type { Scene, Subject } from "./subject.ts";

/** The interactive Claude Code in a pseudo-terminal of its own. Disposing it kills it. */
export interface Interactive extends AsyncDisposable {
  readonly pid: number;
  /** All that it has written so far, escape sequences included. */
  readonly output: () => string;
  readonly type: (text: string) => void;
  readonly signal: (name: SignalName) => void;
  /** Whether it has ended. */
  readonly hasEnded: () => boolean;
  /**
   * Waits until something holds.
   *
   * @returns false if time has run out before, or the program has ended and it still does not hold
   */
  readonly until: (
    holds: () => boolean | Promise<boolean>,
    options?: { readonly deadlineMs?: number },
  ) => Promise<boolean>;
}

const SIZE = { rows: 50, cols: 160 };
/** How often the terminal is read. */
const READ_MS = 10;
const DEADLINE_MS = 60_000;

/** Starts the measured Claude Code in a pseudo-terminal in a scene. */
export function startInteractive(
  subject: Subject,
  scene: Scene,
  { args = [] }: { readonly args?: readonly string[] } = {},
): Interactive {
  subject.signal.throwIfAborted();
  const pty = openPty(SIZE);
  const pid = spawn(subject.binary, {
    args: [...args],
    env: scene.env,
    cwd: scene.project,
    pty,
  });
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let output = "";
  let ended = false;
  const read = () => {
    drainFd(pty.fd, {
      buffer,
      onBytes: (bytes) => {
        output += decoder.decode(bytes, { stream: true });
      },
    });
    if (!ended) ended = waitFor(pid) !== undefined;
  };
  const timer = setInterval(read, READ_MS);
  const until: Interactive["until"] = async (holds, { deadlineMs = DEADLINE_MS } = {}) => {
    const deadline = performance.now() + deadlineMs;
    while (!await holds()) {
      subject.signal.throwIfAborted();
      if (performance.now() > deadline) return false;
      if (ended) return await holds();
      await new Promise((resolve) => setTimeout(resolve, READ_MS));
    }
    return true;
  };
  return {
    pid,
    output: () => output,
    type: (text) => {
      writeFd(pty.fd, new TextEncoder().encode(text));
    },
    signal: (name) => {
      if (!ended) kill(pid, name);
    },
    hasEnded: () => ended,
    until,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      scene.kill();
      for (let round = 0; round < 100 && !ended; round++) {
        read();
        if (!ended) await new Promise((resolve) => setTimeout(resolve, READ_MS));
      }
      pty[Symbol.dispose]();
    },
  };
}
