import { fileAt } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";

/** Whoever follows a growing file. */
export interface LineFollower {
  /** The complete lines that were added since the last call, as far as so much is read at once. */
  (): readonly string[];
  /** Whether the last call has left some. */
  readonly isBehind: boolean;
}

/**
 * Follows a growing file: each call gives the complete lines added since the last one, none while there is no such
 * file, or something in its place that cannot be read.
 *
 * @param place says where the file is: it may be moved meanwhile
 * @param options.from the size in bytes of what is not to be read
 * @param options.most how much is read at once, in bytes; all by default
 */
export function followLines(
  place: () => string | undefined,
  { from = 0, most }: { readonly from?: number | undefined; readonly most?: number } = {},
): LineFollower {
  const lines = createLineSplitter();
  let position = from;
  let isBehind = false;
  const read = () => {
    isBehind = false;
    const path = place();
    if (path === undefined) return [];
    try {
      const bytes = readTranscript(path, {
        from: position,
        ...(most === undefined ? {} : { most }),
      });
      position += bytes.length;
      isBehind = bytes.length === most;
      return lines.push(bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof UnfitFileError) return [];
      throw error;
    }
  };
  return Object.defineProperty(read, "isBehind", { get: () => isBehind }) as LineFollower;
}

/**
 * Follows the child's debug log, as `followLines` does; what is in it already is nobody's business.
 *
 * A caller may have named a pipe: it is not this program that reads from it.
 */
export function followLog(path: string): () => readonly string[] {
  const present = fileAt(path);
  return present === undefined || present.isFile
    ? followLines(() => path, { from: present?.size })
    : () => [];
}
