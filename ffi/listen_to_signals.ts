import { libc } from "./libc.ts";
import { signalMasks } from "./signal_masks.ts";
import { SIGNALS } from "./signals.ts";

/** SIG_IGN of signal(2), SIG_UNBLOCK of sigprocmask(2), and the size of glibc's sigset_t. */
const SIG_IGN = 1n;
const SIG_UNBLOCK = 1;
const SIGSET_BYTES = 128;

/** Heard even if it was ignored: a shell has a command that it starts with "&" ignore SIGINT and SIGQUIT. */
const ALWAYS_HEARD: readonly number[] = [SIGNALS.SIGINT, SIGNALS.SIGQUIT, SIGNALS.SIGTERM];

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
    .filter((name) => ALWAYS_HEARD.includes(SIGNALS[name]) || !ignored.has(SIGNALS[name]))
    .map((name) => ({ name, listen: () => listener(name) }));
  for (const { name, listen } of listeners) Deno.addSignalListener(name, listen);
  const heard: readonly number[] = listeners.map(({ name }) => SIGNALS[name]);
  // With a program's first listener, whatever it listens to, Deno 2.9.6 takes SIGHUP, SIGINT and SIGTERM.
  if (ignored.has(SIGNALS.SIGHUP)) {
    libc().signal(SIGNALS.SIGHUP, Deno.UnsafePointer.create(SIG_IGN));
  }
  const unblocked = heard.filter((number) => blocked.has(number));
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
