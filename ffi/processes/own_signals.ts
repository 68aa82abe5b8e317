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

/** Heard even if it was ignored: a shell has a command that it starts with "&" ignore SIGINT and SIGQUIT. */
const ALWAYS_HANDLED: readonly number[] = [SIGNALS.SIGINT, SIGNALS.SIGQUIT, SIGNALS.SIGTERM];

/**
 * Listens to signals until it is disposed; from then on they do again what they do to a program that does not listen.
 *
 * A signal that was ignored when the program was started, as SIGHUP is under nohup(1), stays ignored, unless it is SIGINT,
 * SIGQUIT or SIGTERM, which `claude -p` takes whatever it inherits (2.1.330). One that was blocked is unblocked.
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
  // With a program's first listener, whatever it listens to, Deno 2.9.6 takes SIGHUP, SIGINT and SIGTERM.
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

/** A sigset_t: a bit for each signal, from number 1. */
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
  /** SIGPIPE, which Deno ignores, and what whoever started the program had it ignore, as nohup(1) does with SIGHUP. */
  readonly ignored: ReadonlySet<number>;
  /** What whoever started the program had blocked, and still is. */
  readonly blocked: ReadonlySet<number>;
}

/** Reads the masks of this program (proc(5)); they are empty where nothing can be known. */
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
 * Has the kernel keep how a child of this program ended until that is asked. It keeps nothing for a program that ignores
 * SIGCHLD, as one does that was started by such a program: waitpid(2) fails there, and `Deno.Command` with it.
 */
export function stopIgnoringSigchld(): void {
  if (signalMasks().ignored.has(SIGNALS.SIGCHLD)) libc().signal(SIGNALS.SIGCHLD, SIG_DFL);
}
