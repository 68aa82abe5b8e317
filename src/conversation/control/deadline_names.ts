/**
 * The deadlines a session sets for itself. These have a flag:
 *
 * - `timeout`: the wall clock, which nothing extends; of a turn where there may be many
 * - `start`: from the spawn to a usable prompt, extended by the first byte and by every answered dialog
 * - `delivery`: from there to the prompt being taken, extended by hooks, changes of status and the paste's echo
 * - `silence`: without any sign of life in a turn
 * - `drain`: from the announced end of the turn to the idle child
 * - `exit`: from the signal to the child's end
 *
 * The others are the machines' own, `init`, `shells`, `subagent`, `compaction`, `priced` and `beat` those of the frames; `background` runs
 * from the end of a turn to the end of the wait for tasks in the background, `renewal` from a change to the child that has it, `foreground` from the key that puts calls there,
 * `task` from a key in the list of them.
 */
export const DEADLINE_NAMES = [
  "timeout",
  "start",
  "delivery",
  "silence",
  "drain",
  "exit",
  "look",
  "echo",
  "enter",
  "rendezvous",
  "renewal",
  "servers",
  "idle",
  "interrupt",
  "background",
  "foreground",
  "task",
  "record",
  "cost",
  "budget",
  "told",
  "callback",
  "init",
  "shells",
  "subagent",
  "compaction",
  "priced",
  "beat",
] as const;

/** A deadline by its name. */
export type DeadlineName = (typeof DEADLINE_NAMES)[number];
