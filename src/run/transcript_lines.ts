import { UnfitFileError } from "../../ffi/regular_file.ts";
import { readTranscript } from "../sandbox/transcripts/read_transcript.ts";
import { createLineSplitter } from "../transcript/line_splitter.ts";

/** The complete lines of a transcript; none where there is none, or something else in its place. */
export function transcriptLines(path: string): readonly string[] {
  try {
    return createLineSplitter().push(readTranscript(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof UnfitFileError) return [];
    throw error;
  }
}
