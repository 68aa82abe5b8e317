/**
 * Events whose hooks forbid nothing. Exit code 2 of a hook has no effect at SessionEnd. At the other events it makes the
 * model continue (`/hooks` of Claude Code 2.1.330 describes each event).
 */
const NON_BLOCKING_EVENTS: readonly string[] = [
  ...["SessionEnd", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"],
];

/** Returns true if a hook of the event can forbid the announced action by exit code 2. */
export function mayForbid(event: string): boolean {
  return !NON_BLOCKING_EVENTS.includes(event);
}
