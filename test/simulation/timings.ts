/**
 * How long things take that the simulated world does, in milliseconds: the least, the most, and the most on a machine that
 * is busy with other work.
 *
 * The first two were measured with Claude Code 2.1.332 on a quiet machine, in the recordings of
 * `fixtures/recordings/runs/2.1.332`. The last is from runs on two cores with work for twenty to thirty: what is known of
 * them stands in the comments of `src/conversation/control` and `src/conversation/output` at the limits that they have led to.
 */
export const TIMINGS = {
  /** From the child's start to its socket. */
  socket: [200, 600, 3000],
  /** From the socket to the first words on the screen, from there to the input box, and to a prompt on fd 0. */
  screen: [100, 400, 3000],
  /** From a change to the child's status file until it is read. It is looked at every 50 ms. */
  status: [0, 150, 2000],
  /** From the call of a hook until it has written what it was told. */
  hook: [5, 120, 1500],
  /** From the answer to a hook until Claude Code goes on. */
  hookEnd: [1, 60, 500],
  /** For how long lines of a transcript are collected before they are written. */
  flush: [1, 110, 400],
  /** From a request until it is noted in the transcript. */
  note: [1, 110, 400],
  /** From a change that the status line shows until it is run. */
  statusLine: [300, 330, 2300],
  /** From the key that shows the help until the status line is run. */
  askedStatusLine: [20, 200, 2000],
  /** From a delivery to the socket until Claude Code has it in its queue. */
  delivery: [2, 90, 500],
  /** From a key until Claude Code has read it. */
  key: [1, 60, 500],
  /** From the hook of a prompt until the first request of its turn. */
  turnStart: [30, 150, 1500],
  /** From a request to the API until its answer is complete: the least is that of an API on the same machine. */
  answer: [40, 600, 5000],
  /** From the call of a permission's hook until its dialog is on the screen. */
  dialog: [50, 200, 1000],
  /** A call of a tool. */
  tool: [5, 400, 5000],
  /** From a signal until Claude Code begins to go, and from there to its end. */
  exit: [5, 120, 1500],
  /** What a person, or a program, takes to answer. */
  caller: [0, 400, 5000],
  /** For how long this program does not run, where the machine is busy. */
  stall: [10, 2000, 10000],
} as const;

/** A thing that takes time. */
export type Timing = keyof typeof TIMINGS;
