import { HeldFolder } from "../../../../ffi/files/held_folder.ts";
import { RegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import type { JsonObject } from "../../../json_object.ts";
import { TASKS } from "./running_shells.ts";

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
export function taskOutput(
  tempDir: string,
  { sessionId, task }: { readonly sessionId: string; readonly task: string },
): JsonObject {
  for (const user of namesBelow(tempDir, [])) {
    if (!user.startsWith("claude-")) continue;
    for (const slug of namesBelow(tempDir, [user])) {
      using folder = HeldFolder.find(tempDir, [user, slug, sessionId, TASKS]);
      const found = folder === undefined ? undefined : endOf(`${folder.path}/${task}.output`);
      if (found !== undefined) return found;
    }
  }
  return { output: "", total_bytes: 0, truncated: false };
}

function namesBelow(base: string, names: readonly string[]): readonly string[] {
  using folder = HeldFolder.find(base, names);
  return folder?.names({ most: MOST_FOLDERS }) ?? [];
}

function endOf(path: string): JsonObject | undefined {
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
