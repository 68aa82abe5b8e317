import { namesIn } from "../../../sandbox/on_disk.ts";

/**
 * Ids of the shells whose output Claude Code keeps in files, in the order in which they were started. The file of one
 * in the foreground is there as long as it runs; 2.1.168 to 2.1.330.
 *
 * @param tempDir the child's `CLAUDE_CODE_TMPDIR`
 */
export function runningShells(tempDir: string, sessionId: string): readonly string[] {
  const folders = namesIn(tempDir).filter((name) => name.startsWith("claude-")).flatMap((user) =>
    namesIn(`${tempDir}/${user}`).map((slug) => `${tempDir}/${user}/${slug}/${sessionId}/tasks`)
  );
  return folders.flatMap((folder) =>
    namesIn(folder).filter((name) => name.endsWith(".output")).map((name) => ({
      id: name.replace(/\.output$/u, ""),
      startedAt: startOf(`${folder}/${name}`),
    }))
  ).sort((one, other) => one.startedAt - other.startedAt).map(({ id }) => id);
}

function startOf(path: string): number {
  try {
    const { birthtime, ctime } = Deno.lstatSync(path);
    return (birthtime ?? ctime)?.getTime() ?? 0;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}
