/**
 * Events whose hooks forbid nothing. A hook that ends with exit code 2 makes the model go on after Stop and its like, and
 * changes nothing at the end of a session (`/hooks` of Claude Code 2.1.330 describes each event).
 */
const NOT_GUARDING: readonly string[] = [
  ...["SessionEnd", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"],
];

/** Whether a hook of the event can forbid what the event is about by its exit code 2. */
export function mayForbid(event: string): boolean {
  return !NOT_GUARDING.includes(event);
}
