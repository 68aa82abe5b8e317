import { namesIn } from "../../../../ffi/files/at_path.ts";
import { OpenFolder } from "../../../../ffi/files/open_folder.ts";
import { RegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import type { JsonObject } from "../../../json_object.ts";

/** The shells of a session, as the folder tells in which their output is. */
interface RunningShells {
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
export function listShells(tempDir: string, sessionId: string): RunningShells {
  const users = namesIn(tempDir).filter((name) => name.startsWith("claude-"));
  const sessions = users.flatMap((user) =>
    namesIn(`${tempDir}/${user}`).map((slug) => `${tempDir}/${user}/${slug}/${sessionId}`)
  );
  const folders = sessions.filter((session) => namesIn(session).includes(TASKS))
    .map((session) => `${session}/${TASKS}`);
  const outputs = folders.flatMap((folder) =>
    namesIn(folder).filter((name) => name.endsWith(".output")).map((name) => ({
      id: name.replace(/\.output$/u, ""),
      ...readTimes(`${folder}/${name}`),
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
const TASKS = "tasks";

/** When a file was made, and what tells which of two was made first, as far as the file system does. */
function readTimes(path: string): { readonly startedAt: number; readonly order: number } {
  try {
    const { birthtime, ctime } = Deno.lstatSync(path);
    const startedAt = birthtime?.getTime() ?? 0;
    return { startedAt, order: startedAt || (ctime?.getTime() ?? 0) };
  } catch {
    // It has ended meanwhile.
    return { startedAt: 0, order: 0 };
  }
}

/** So much of the end is told, in bytes. */
const MOST = 8192;
/** Most folders that are looked into: tools can make as many as they like. */
const MOST_FOLDERS = 1000;

/**
 * The end of what a shell in the background has written, as Claude Code says it (2.1.330): it keeps all of it in a file. No
 * link is followed, as tools can put something there too; what has written nothing, and what there is no more, says nothing.
 *
 * @param tempDir the child's `CLAUDE_CODE_TMPDIR`
 * @param options.task the id of the task, which is the name of its file
 */
export function readTaskOutput(
  tempDir: string,
  { sessionId, task }: { readonly sessionId: string; readonly task: string },
): JsonObject {
  for (const user of namesBelow(tempDir, [])) {
    if (!user.startsWith("claude-")) continue;
    for (const slug of namesBelow(tempDir, [user])) {
      using folder = OpenFolder.find(tempDir, [user, slug, sessionId, TASKS]);
      const found = folder === undefined ? undefined : readEnd(`${folder.path}/${task}.output`);
      if (found !== undefined) return found;
    }
  }
  return { output: "", total_bytes: 0, truncated: false };
}

function namesBelow(base: string, names: readonly string[]): readonly string[] {
  using folder = OpenFolder.find(base, names);
  return folder?.names({ most: MOST_FOLDERS }) ?? [];
}

function readEnd(path: string): JsonObject | undefined {
  try {
    using file = new RegularFile(path);
    const { size } = file;
    const end = new Uint8Array(Math.min(size, MOST));
    const length = file.read(end, size - end.length);
    const output = new TextDecoder().decode(end.subarray(0, length));
    return { output, total_bytes: size, truncated: length < size };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof UnfitFileError) return undefined;
    throw error;
  }
}
