import { readTranscript } from "../sandbox/read_transcript.ts";
import { createLineSplitter } from "../transcript/line_splitter.ts";

/**
 * Follows a growing file: each call gives the complete lines added since the last one, none while there is no such
 * file.
 *
 * @param offset the size in bytes of what is not to be read
 * @returns a function that throws {@linkcode UnfitFileError} once something else stands in the file's place
 */
export function followLines(path: string, offset = 0): () => readonly string[] {
  const lines = createLineSplitter();
  let position = offset;
  return () => {
    try {
      const bytes = readTranscript(path, { from: position });
      position += bytes.length;
      return lines.push(bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  };
}
