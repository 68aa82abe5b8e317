/** A permission of the executable, as a flag of `deno compile`. */
export interface Permission {
  readonly flag: string;
  /** What claude-print needs it for. */
  readonly reason: string;
}

/**
 * Everything the executable may do; it cannot be asked for more while it runs.
 *
 * What is not here fails: importing code, asking for other facts of the system, and, as Deno guards them with all
 * permissions at once, touching `/dev`, `/proc` and `/sys` other than through libc. The list keeps the program to
 * what it was written for. It is no sandbox: libc can do what the user can.
 */
export const PERMISSIONS: readonly Permission[] = [
  {
    flag: "--allow-read",
    reason: "settings, transcripts and prompts lie where the user has them",
  },
  {
    flag: "--allow-write",
    reason: "the run's private folder in TMPDIR, transcripts brought home, and the cache",
  },
  {
    flag: "--allow-env",
    reason: "Claude Code gets the caller's whole environment",
  },
  {
    flag: "--allow-run",
    reason: "`claude`, where it is not on a terminal, `git` and `npm`, from wherever they are",
  },
  {
    flag: "--allow-sys=hostname,statfs,uid",
    reason: "whose run a private folder is, on which machine, and how much room its disk has",
  },
  {
    flag: "--allow-net",
    reason: "`doctor` and relays ask the API, wherever ANTHROPIC_BASE_URL or `--upstream` says",
  },
  {
    flag: "--allow-ffi",
    reason: "libc: pseudo-terminals, processes, poll, FIFOs",
  },
];
