/**
 * Whether the user has a transcript of a session.
 *
 * @param configDir the user's config dir
 */
export function isKnownSession(sessionId: string, configDir: string): boolean {
  let slugs: readonly string[] = [];
  try {
    slugs = [...Deno.readDirSync(`${configDir}/projects`)].map(({ name }) => name);
  } catch {
    // No sessions at all.
  }
  return slugs.some((slug) => {
    try {
      return Deno.lstatSync(`${configDir}/projects/${slug}/${sessionId}.jsonl`) !== undefined;
    } catch {
      return false;
    }
  });
}
