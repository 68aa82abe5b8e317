import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { LARGEST_FILE, type OtherAgents } from "../plan/placed_agents.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { SettingSource } from "../../sandbox/child/read_settings.ts";
import { upFrom } from "../../sandbox/paths.ts";

/** How many entries of folders are looked at, and how deep: beyond that nothing is clear. */
const MOST_ENTRIES = 5000;
const DEEPEST = 8;

/**
 * Looks for the agents that the user and the project have, in at least all the places where Claude Code does
 * (2.1.330): the user's config dir, the project's folder and what is above it, all worktrees, and added directories.
 *
 * @param options.sources those that `--setting-sources` leaves
 * @param options.addDirs real paths of the added directories
 */
export function otherAgents(
  { projectRoot, userDir, addDirs, sources }: {
    readonly projectRoot: string;
    readonly userDir: string;
    readonly addDirs: readonly string[];
    readonly sources: ReadonlySet<SettingSource>;
  },
): OtherAgents {
  const project = sources.has("project")
    ? [...upFrom(projectRoot), ...worktreesOf(projectRoot), ...addDirs]
      .map((dir) => `${dir}/.claude/agents`)
    : [];
  const names: string[] = [];
  let left = MOST_ENTRIES;
  const look = (dir: string, depth: number): string | undefined => {
    for (const entry of entriesOf(dir)) {
      if (--left < 0 || depth > DEEPEST) return dir;
      const path = `${dir}/${entry}`;
      const found = entry.endsWith(".md") ? nameIn(textOf(path)) : undefined;
      if (found === null) return path;
      if (found !== undefined) names.push(found);
      const unclear = look(path, depth + 1);
      if (unclear !== undefined) return unclear;
    }
    return undefined;
  };
  const user = sources.has("user") ? [`${userDir}/agents`] : [];
  for (const dir of new Set([...user, ...project])) {
    const unclear = look(dir, 0);
    if (unclear !== undefined) return { names, unclear };
  }
  return { names };
}

/** The names in a folder, one after the other; none in what is no folder, or is not there. */
function* entriesOf(dir: string): Generator<string> {
  try {
    for (const { name } of Deno.readDirSync(dir)) yield name;
  } catch {
    // Claude Code reads nothing there either.
  }
}

function textOf(path: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: LARGEST_FILE }));
  } catch {
    // Claude Code does not read it either.
    return "";
  }
}

/** Whatever ends a line for a reader of YAML. */
const LINE_END = /\r\n|[\n\r\x85\u2028\u2029]/u;

/**
 * The name that a file gives its agent: undefined where it has none, null where only a reader of YAML could tell, as one
 * may write a key or a name in many ways.
 */
function nameIn(text: string): string | undefined | null {
  const [opening = "", ...rest] = text.split(LINE_END);
  if (!/^---\s*$/u.test(opening)) return undefined;
  const end = rest.findIndex((line) => /^---\s*$/u.test(line));
  const lines = end < 0 ? rest : rest.slice(0, end);
  const isPlain = lines.every((line) => /^(?:\s|#|- |[\w-]+:(?:\s|$)|$)/u.test(line));
  if (!isPlain) return null;
  const places = lines.flatMap((line, place) => line.startsWith("name:") ? [place] : []);
  const [place] = places;
  if (place === undefined) {
    // All of it may be indented.
    return lines.every((line) => /^(?:\s|#|$)/u.test(line)) &&
        lines.some((line) => line.trim() !== "")
      ? null
      : undefined;
  }
  const next = lines.slice(place + 1).find((line) => line.trim() !== "") ?? "";
  const value = lines[place]?.slice("name:".length).trim() ?? "";
  const [, quoted, doubly] = /^(?:'([^']*)'|"([^"\\]*)")(?:\s+#.*)?$/u.exec(value) ?? [];
  const name = quoted ?? doubly ?? plainName(value);
  return name === undefined || places.length > 1 || /^\s/u.test(next) ? null : name;
}

/** A name without quotes, perhaps with a comment after it. */
function plainName(value: string): string | undefined {
  const comment = value.indexOf("#");
  const name = comment < 0 ? value : value.slice(0, comment);
  if (!/^\w[^:]*$/u.test(name)) return undefined;
  return comment < 0 || name.endsWith(" ") || name.endsWith("\t") ? name.trimEnd() : undefined;
}
