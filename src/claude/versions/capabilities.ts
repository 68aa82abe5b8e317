/**
 * The capabilities of versions of Claude Code, and which profiles can add them.
 *
 * - `needed`: no run works without it. A version without it is not supported.
 * - `shipped`: it affects what a run does. Only shipped profiles can add it, not learnt ones. A version that is newer than
 *   all shipped profiles has the capabilities of the newest one.
 * - `printed`: it affects only the output. Profiles that `claude-print learn` stored can add it, too.
 */
export const CAPABILITIES = {
  /** Claude Code calls hooks and passes them the path of the transcript. */
  hooks: "needed",
  /** The rendezvous socket accepts plain texts. */
  socket: "needed",
  /** `sessions/PID.json` contains whether the program is busy. */
  statusFile: "needed",
  /** The status line receives the cost of the session. */
  statusLine: "needed",
  /** The rendezvous socket accepts every text as a message of its own, without changes. */
  exactSocket: "needed",
  /** The status line runs at once when the help is shown and hidden. */
  statusLineOnRequest: "needed",
  /** `claude -p` without a permission mode can start in auto mode, as the interactive program does. */
  beginsInAutoMode: "shipped",
  /** All errors in answers to control requests have an `error_code`. */
  controlErrorCodes: "printed",
  /** The answer to `set_model` contains the model. The message about the model is printed only after a turn began. */
  chosenModelAnswer: "printed",
  /** `reload_plugins` accepts `add_plugins`. */
  addedPlugins: "shipped",
  /** Failures of the caller's hooks are printed, and block the action if the hook is configured so. */
  hookFailures: "shipped",
  /** The transcript of a new session has a line `api-request` for each request, with its model and tools. */
  writesRequests: "printed",
  /** `claude -p` prints the messages of the subagent that a typed skill starts. */
  printsTypedSkills: "printed",
  /** Status frames contain the length of the summary so far (`compact_output_chars`). */
  countsCompaction: "printed",
  /** The list of tasks contains the types of subagents, and is printed after the end of a task, not before it. */
  listsSubagentTypes: "printed",
  /** A task notification marks a summary that is the report of a subagent (`summary_is_report`). */
  marksReports: "printed",
  /** The notification of a Stop hook that failed says "stop hook reported a problem". */
  saysStopHookReported: "printed",
  /** That notification says "stop hook problem". In versions with neither it says "Stop hook error occurred". */
  saysStopHookProblem: "printed",
  /** Claude Code prints on stderr which settings it ignored. */
  settingsWarnings: "printed",
  /** Claude Code prints on stderr which rules of a flag look as if they were split by mistake. */
  tornRulesWarnings: "printed",
} as const satisfies Readonly<Record<string, "needed" | "shipped" | "printed">>;

/** The name of a capability. */
export type Capability = keyof typeof CAPABILITIES;

/** Returns the needed capabilities that a version lacks. */
export function lackedCapabilities(present: readonly string[]): readonly Capability[] {
  return Object.entries(CAPABILITIES).filter(([name, kind]) =>
    kind === "needed" && !present.includes(name)
  ).map(([name]) => name as Capability);
}
