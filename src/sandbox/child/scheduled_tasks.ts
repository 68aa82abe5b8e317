/**
 * Whether a project brings prompts along that the interactive Claude Code sends when their time has come, and
 * `claude -p` does not (2.1.330).
 *
 * @param folders where its `.claude` may be
 */
export function hasScheduledTasks(folders: readonly string[]): boolean {
  return folders.some((folder) => {
    try {
      Deno.lstatSync(`${folder}/.claude/scheduled_tasks.json`);
      return true;
    } catch {
      return false;
    }
  });
}
