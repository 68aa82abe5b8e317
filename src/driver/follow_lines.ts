import { createLineSplitter } from "../transcript/line_splitter.ts";

/**
 * Follows a growing file: each call gives the complete lines added since the last one, none while there is no such
 * file.
 *
 * @param offset the size in bytes of what is not to be read
 */
export function followLines(path: string, offset = 0): () => readonly string[] {
  const lines = createLineSplitter();
  let position = offset;
  return () => {
    try {
      using file = Deno.openSync(path);
      const { size } = file.statSync();
      if (size <= position) return [];
      file.seekSync(position, Deno.SeekMode.Start);
      const bytes = new Uint8Array(size - position);
      const count = file.readSync(bytes) ?? 0;
      position += count;
      return lines.push(bytes.subarray(0, count));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  };
}
