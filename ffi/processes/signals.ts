/** Signal numbers of x86_64 Linux by name (signal(7)). */
export const SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
  SIGTTIN: 21,
  SIGTTOU: 22,
  SIGURG: 23,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGWINCH: 28,
  SIGIO: 29,
  SIGPWR: 30,
  SIGSYS: 31,
} as const;

/** A signal by its name, such as "SIGTERM". */
export type SignalName = keyof typeof SIGNALS;

/** The name of a signal number in a message: "SIGKILL" for 9, "signal 40" for a number without a name. */
export function signalName(signal: number): string {
  const found = Object.entries(SIGNALS).find(([, number]) => number === signal);
  return found === undefined ? `signal ${signal}` : found[0];
}
