import { LibcError } from "../errno.ts";
import { libc } from "../libc.ts";
import { LibcUnavailableError } from "../platform.ts";
import { readProcFile } from "./proc.ts";
import { SIGNALS } from "./signals.ts";

/** SIG_DFL and SIG_IGN of signal(2), SIG_UNBLOCK of sigprocmask(2), and the size of glibc's sigset_t. */
const SIG_DFL = null;
const SIG_IGN = 1n;
const SIG_UNBLOCK = 1;
const SIGSET_BYTES = 128;

/**
 * Signals that are handled even if inherited as ignored, because a shell makes a command that it starts with "&" ignore
 * SIGINT and SIGQUIT.
 */
const ALWAYS_HANDLED: readonly number[] = [SIGNALS.SIGINT, SIGNALS.SIGQUIT, SIGNALS.SIGTERM];

/**
 * Listens to signals until it is disposed. Then they have their default effect again.
 *
 * A signal that was ignored when the program started, such as SIGHUP under nohup(1), stays ignored. SIGINT, SIGQUIT and
 * SIGTERM are always handled, as `claude -p` 2.1.330 does. A blocked signal is unblocked.
 */
export function listenToSignals<Name extends Deno.Signal & keyof typeof SIGNALS>(
  names: readonly Name[],
  listener: (signal: Name) => void,
): Disposable {
  const { ignored, blocked } = signalMasks();
  const listeners = names
    .filter((name) => ALWAYS_HANDLED.includes(SIGNALS[name]) || !ignored.has(SIGNALS[name]))
    .map((name) => ({ name, listen: () => listener(name) }));
  for (const { name, listen } of listeners) Deno.addSignalListener(name, listen);
  const handled: readonly number[] = listeners.map(({ name }) => SIGNALS[name]);
  // The first listener of a program makes Deno 2.9.6 handle SIGHUP, SIGINT and SIGTERM, even if it listens to another
  // signal.
  if (ignored.has(SIGNALS.SIGHUP)) {
    libc().signal(SIGNALS.SIGHUP, Deno.UnsafePointer.create(SIG_IGN));
  }
  const unblocked = handled.filter((number) => blocked.has(number));
  if (unblocked.length > 0) libc().sigprocmask(SIG_UNBLOCK, signalSet(unblocked), null);
  return {
    [Symbol.dispose]: () => {
      for (const { name, listen } of listeners) Deno.removeSignalListener(name, listen);
    },
  };
}

/** Builds a sigset_t: one bit for each signal, from number 1. */
function signalSet(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
  const set = new Uint8Array(SIGSET_BYTES);
  for (const number of numbers) {
    const bit = number - 1;
    set[bit >> 3] = (set[bit >> 3] ?? 0) | 1 << (bit & 7);
  }
  return set;
}

/** Signals that do not reach this program, by their numbers. */
export interface SignalMasks {
  /** SIGPIPE, which Deno ignores, and signals that were inherited as ignored, such as SIGHUP under nohup(1). */
  readonly ignored: ReadonlySet<number>;
  /** Signals that were inherited as blocked and still are. */
  readonly blocked: ReadonlySet<number>;
}

/** Reads the masks of this program (proc(5)). They are empty if libc cannot be used. */
export function signalMasks(): SignalMasks {
  let status = "";
  try {
    status = new TextDecoder().decode(readProcFile("/proc/self/status"));
  } catch (error) {
    if (!(error instanceof LibcError || error instanceof LibcUnavailableError)) throw error;
  }
  return { ignored: mask(status, "SigIgn"), blocked: mask(status, "SigBlk") };
}

function mask(status: string, name: string): ReadonlySet<number> {
  const bits = BigInt(`0x${new RegExp(`^${name}:\\s*(\\w+)$`, "mu").exec(status)?.[1] ?? "0"}`);
  const numbers = Array.from({ length: 64 }, (_, bit) => bit + 1);
  return new Set(numbers.filter((number) => (bits >> BigInt(number - 1) & 1n) === 1n));
}

/**
 * Resets SIGCHLD if this program inherited it as ignored. The kernel keeps no exit status of children for a program that
 * ignores SIGCHLD, so waitpid(2) and `Deno.Command` would fail.
 */
export function stopIgnoringSigchld(): void {
  if (signalMasks().ignored.has(SIGNALS.SIGCHLD)) libc().signal(SIGNALS.SIGCHLD, SIG_DFL);
}
