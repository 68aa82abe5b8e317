import { UnfitFileError } from "../../../ffi/regular_file.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { createLineSplitter } from "../../transcript/line_splitter.ts";

/**
 * Follows a growing file: each call gives the complete lines added since the last one, none while there is no such
 * file, or something in its place that cannot be read.
 *
 * @param place says where the file is: it may be moved meanwhile
 * @param offset the size in bytes of what is not to be read
 */
export function followLines(
  place: () => string | undefined,
  offset = 0,
): () => readonly string[] {
  const lines = createLineSplitter();
  let position = offset;
  return () => {
    const path = place();
    if (path === undefined) return [];
    try {
      const bytes = readTranscript(path, { from: position });
      position += bytes.length;
      return lines.push(bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof UnfitFileError) return [];
      throw error;
    }
  };
}
