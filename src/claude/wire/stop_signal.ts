/**
 * The signals that end a run with a result, and their numbers on x86_64 Linux (signal(7)): every one that ends a program
 * and that a program may outlive. SIGQUIT is not among them, because it ends a run without a result; SIGPIPE says that
 * nobody reads the output any more.
 *
 * After SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS a program cannot go on where it was, and Deno listens to no
 * real-time signal: to a run these are what SIGKILL is.
 */
export const STOP_SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGABRT: 6,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGIO: 29,
  SIGPWR: 30,
} as const;

/** A signal that asks a run to stop, by its name. */
export type StopSignal = keyof typeof STOP_SIGNALS;
