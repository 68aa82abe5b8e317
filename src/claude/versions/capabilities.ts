/**
 * What a version of Claude Code may be able to do, and which profiles may say so.
 *
 * - `needed`: no run works without it. A version that lacks it cannot be supported.
 * - `shipped`: what a run may do, or whether a prompt arrives unchanged, depends on it. Only a profile that is shipped may
 *   have it; of a version that is newer than all of them, the newest decides.
 * - `printed`: it decides only what is printed. A profile that `claude-print learn` has stored may have it, too.
 */
export const CAPABILITIES = {
  /** Hooks are called, with the path of the transcript. */
  hooks: "needed",
  /** The rendezvous socket takes plain texts. */
  socket: "needed",
  /** `sessions/PID.json` says whether the program is busy. */
  statusFile: "needed",
  /** The status line is told what the session has cost. */
  statusLine: "needed",
  /** The rendezvous socket takes every text as a message of its own, character by character. */
  exactSocket: "needed",
  /** The status line runs at once when the help is shown and hidden. */
  statusLineOnRequest: "needed",
  /** Where no permission mode is named, `claude -p` begins in auto mode, too. */
  beginsInAutoMode: "shipped",
  /** Errors in answers to control requests have codes for all reasons. */
  controlErrorCodes: "printed",
  /** The answer to `set_model` names the model, and the model is printed as a message only once a turn has begun. */
  chosenModelAnswer: "printed",
  /** `reload_plugins` takes `add_plugins`. */
  addedPlugins: "shipped",
  /** Hooks of the caller that fail are printed, and block what they guard if they are to. */
  hookFailures: "shipped",
  /** The transcript of a new session notes each request, with its model and tools (`api-request` lines). */
  writesRequests: "printed",
  /** `claude -p` prints what the subagent of a typed skill says. */
  printsTypedSkills: "printed",
  /** A status says how much of a summary has been written (`compact_output_chars`). */
  countsCompaction: "printed",
  /** The list of tasks names the types of subagents, and is printed after the end of a task, not before it. */
  listsSubagentTypes: "printed",
  /** A notification whose summary is the report of a subagent says so (`summary_is_report`). */
  marksReports: "printed",
  /** The notification of a Stop hook that failed says "stop hook reported a problem". */
  saysStopHookReported: "printed",
  /** It says "stop hook problem". In versions with neither it says "Stop hook error occurred". */
  saysStopHookProblem: "printed",
  /** It says on stderr which settings did not load. */
  settingsWarnings: "printed",
  /** It says on stderr which rules of a flag look as if they were torn apart. */
  tornRulesWarnings: "printed",
} as const satisfies Readonly<Record<string, "needed" | "shipped" | "printed">>;

/** The name of something that a version of Claude Code may be able to do. */
export type Capability = keyof typeof CAPABILITIES;

/** The needed capabilities that are not among those of a version. */
export function lackedCapabilities(present: readonly string[]): readonly Capability[] {
  return Object.entries(CAPABILITIES).filter(([name, kind]) =>
    kind === "needed" && !present.includes(name)
  ).map(([name]) => name as Capability);
}
