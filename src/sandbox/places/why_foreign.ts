/**
 * Why something is no private folder of this user's, if it is none. It is not followed if it is a link: what others may
 * have put there is theirs.
 *
 * @throws {Deno.errors.NotFound} when there is nothing
 */
export function whyForeign(path: string): string | undefined {
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  if (!isDirectory) return "it is no folder";
  if (uid !== Deno.uid()) return "it is another user's";
  return ((mode ?? 0) & 0o777) === 0o700 ? undefined : "others may enter it";
}
