import { isThere } from "../is_there.ts";
import { namesIn } from "../names_in.ts";

/**
 * Folders of the user's config dir that `claude -p` reads and a run only reads: linked, not copied. So are
 * `CLAUDE.md` and the other Markdown files beside it, which it may include.
 */
const LINKED_FOLDERS = [
  "agents",
  "commands",
  "output-styles",
  "plugins",
  "routines",
  "rules",
  "skills",
  "workflows",
];

/** Links what the user wrote for Claude Code into the config dir of a run. */
export function linkUserFiles(from: string, to: string): void {
  for (const name of namesIn(from)) {
    const linked = LINKED_FOLDERS.includes(name) || name.endsWith(".md");
    if (!linked || !isThere(`${from}/${name}`)) continue;
    Deno.symlinkSync(Deno.realPathSync(`${from}/${name}`), `${to}/${name}`);
  }
}
