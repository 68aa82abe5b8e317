import { namesIn } from "../../../../ffi/files/at_path.ts";
import { OpenFolder } from "../../../../ffi/files/open_folder.ts";
import { RegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import type { JsonObject } from "../../../json_object.ts";

/** The shells of a session, from the folder with their output. */
interface RunningShells {
  /** Their ids, in the order in which they were started. */
  readonly ids: readonly string[];
  /** The time of each start, in milliseconds since the epoch; 0 if the file system has no times. */
  readonly startedAt: readonly number[];
  /** True if the folder does not exist: no shell and no subagent has run. */
  readonly unused?: true;
}

/**
 * Lists the shells of a session that run, or ran in the background. Claude Code keeps their output in files. It removes
 * the file of a foreground shell at the shell's end (2.1.330).
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
    // If the user has no folder here, settings have moved the child's temporary files.
    ...(users.length > 0 && folders.length === 0 ? { unused: true } : {}),
  };
}

/** The folder for output in a session's folder. 2.1.330 creates it for the first shell or subagent. */
const TASKS = "tasks";

/** The time at which a file was created, and a time to sort by. */
function readTimes(path: string): { readonly startedAt: number; readonly order: number } {
  try {
    const { birthtime, ctime } = Deno.lstatSync(path);
    const startedAt = birthtime?.getTime() ?? 0;
    return { startedAt, order: startedAt || (ctime?.getTime() ?? 0) };
  } catch {
    // The file was removed.
    return { startedAt: 0, order: 0 };
  }
}

/** The maximum number of bytes that are returned from the end of an output. */
const MOST = 8192;
/** The maximum number of names in a folder, because tools can create any number. */
const MOST_FOLDERS = 1000;

/**
 * Reads the end of a background shell's output from its file, in the form of Claude Code 2.1.330. Links are not
 * followed, because tools can create links there. The result is empty if the file does not exist.
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
