import { namesIn } from "../../../../ffi/files/at_path.ts";

/**
 * Whether the user has a transcript of a session.
 *
 * @param configDir the user's config dir
 */
export function isKnownSession(sessionId: string, configDir: string): boolean {
  return namesIn(`${configDir}/projects`).some((slug) => {
    try {
      return Deno.lstatSync(`${configDir}/projects/${slug}/${sessionId}.jsonl`) !== undefined;
    } catch {
      return false;
    }
  });
}
