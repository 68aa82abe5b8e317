/**
 * The signals that end a run with a result, and their numbers on x86_64 Linux (signal(7)). SIGPIPE means that the reader
 * closed the output.
 *
 * Other signals end a run without a result. SIGQUIT does so on purpose. A program cannot continue after SIGILL, SIGTRAP,
 * SIGBUS, SIGFPE, SIGSEGV or SIGSYS, and Deno cannot listen to real-time signals.
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
