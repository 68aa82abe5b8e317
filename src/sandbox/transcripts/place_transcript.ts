import { parentOf } from "../paths.ts";

/**
 * Writes a transcript below a config dir's `projects/`, where there is none.
 *
 * @returns its size, in bytes
 */
export function placeTranscript(
  configDir: string,
  { path, content }: { readonly path: string; readonly content: string | Uint8Array },
): number {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const target = `${configDir}/projects/${path}`;
  Deno.mkdirSync(parentOf(target), { recursive: true, mode: 0o700 });
  Deno.writeFileSync(target, bytes, { mode: 0o600 });
  return bytes.length;
}
