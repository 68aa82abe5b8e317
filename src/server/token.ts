import { readRegularFile } from "../../ffi/files/regular_file.ts";

/** Bytes of a token. */
const LENGTH = 32;

/**
 * Writes a new token into a file that nobody but this user can read, and gives it.
 *
 * @param path of the file, in a private folder
 */
export function writeToken(path: string): string {
  const token = crypto.getRandomValues(new Uint8Array(LENGTH)).toHex();
  // Whoever finds it, finds all of it.
  const unfinished = `${path}.part`;
  Deno.writeTextFileSync(unfinished, `${token}\n`, { mode: 0o600 });
  Deno.renameSync(unfinished, path);
  return token;
}

/** Whether a file holds what `writeToken` writes, or a part of it, as on a full disk, and nothing else. */
export function holdsToken(path: string): boolean {
  try {
    const text = new TextDecoder().decode(readRegularFile(path, { limit: 2 * LENGTH + 1 }));
    return /^[0-9a-f]*\n?$/u.test(text);
  } catch {
    return false;
  }
}
