import { namesIn } from "../../../../ffi/files/at_path.ts";

/** The shells of a session, as the folder tells in which their output is. */
export interface RunningShells {
  /** Ids of those whose output is there, in the order in which they were started. */
  readonly ids: readonly string[];
  /** When each was, in milliseconds since the epoch; 0 where the file system does not tell. */
  readonly startedAt: readonly number[];
  /** There is no such folder: neither a shell nor a subagent has run. */
  readonly unused?: true;
}

/**
 * Looks which shells of a session run, or ran in the background: Claude Code keeps their output in files, that of one in
 * the foreground as long as it runs; 2.1.330.
 *
 * @param tempDir the child's `CLAUDE_CODE_TMPDIR`
 */
export function runningShells(tempDir: string, sessionId: string): RunningShells {
  const users = namesIn(tempDir).filter((name) => name.startsWith("claude-"));
  const sessions = users.flatMap((user) =>
    namesIn(`${tempDir}/${user}`).map((slug) => `${tempDir}/${user}/${slug}/${sessionId}`)
  );
  const folders = sessions.filter((session) => namesIn(session).includes(TASKS))
    .map((session) => `${session}/${TASKS}`);
  const outputs = folders.flatMap((folder) =>
    namesIn(folder).filter((name) => name.endsWith(".output")).map((name) => ({
      id: name.replace(/\.output$/u, ""),
      ...timesOf(`${folder}/${name}`),
    }))
  ).sort((one, other) => one.order - other.order);
  return {
    ids: outputs.map(({ id }) => id),
    startedAt: outputs.map(({ startedAt }) => startedAt),
    // Without a folder of the user's the child has its temporary files elsewhere, as settings may want it.
    ...(users.length > 0 && folders.length === 0 ? { unused: true } : {}),
  };
}

/** The folder for output in that of a session: 2.1.330 make it for the first shell or subagent. */
export const TASKS = "tasks";

/** When a file was made, and what tells which of two was made first, as far as the file system does. */
function timesOf(path: string): { readonly startedAt: number; readonly order: number } {
  try {
    const { birthtime, ctime } = Deno.lstatSync(path);
    const startedAt = birthtime?.getTime() ?? 0;
    return { startedAt, order: startedAt || (ctime?.getTime() ?? 0) };
  } catch {
    // It has ended meanwhile.
    return { startedAt: 0, order: 0 };
  }
}
