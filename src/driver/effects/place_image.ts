import { parentOf } from "../../sandbox/paths.ts";

/**
 * Puts an image, as base64, into a new file of the run's own. Where that cannot be done, as on a full disk, there is none:
 * its path is then pasted in vain, which the session notices.
 */
export function placeImage(
  { path, data }: { readonly path: string; readonly data: string },
): void {
  try {
    Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
    Deno.writeFileSync(path, Uint8Array.fromBase64(data), { createNew: true, mode: 0o600 });
  } catch {
    // See above.
  }
}
