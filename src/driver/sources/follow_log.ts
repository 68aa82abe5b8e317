import { followLines } from "./follow_lines.ts";

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

function fileAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}
