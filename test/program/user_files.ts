import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";

/**
 * The files of the user's own Claude Code with their text: settings, login, history, session list.
 *
 * @param options.projects whether transcripts are among them, which a run may add to; false by default
 */
export function userFiles(
  home: ThrowawayHome,
  options: { readonly projects?: boolean } = {},
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const visit = (path: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      const inner = `${path}/${name}`;
      if (inner === `${home.config}/projects` && options.projects !== true) continue;
      if (isDirectory) visit(inner);
      else files.set(inner, Deno.readTextFileSync(inner));
    }
  };
  visit(home.config);
  const claudeJson = `${home.path}/.claude.json`;
  files.set(claudeJson, Deno.readTextFileSync(claudeJson));
  return files;
}
