import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { absolutePath, upFrom } from "../../sandbox/paths.ts";
import { isJsonObject } from "../../json_object.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";
import { LARGEST_AGENT_FILE, type OtherAgents } from "../plan/caller_agents.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { SettingSource } from "../../sandbox/child/read_settings.ts";

const FLAG = "--agents=";
/** The largest file that is read for agents, in bytes. */
const LARGEST_GIVEN_FILE = 16 * 1024 * 1024;

/** What `--agents` is given that counts, unless it is the beginning of a JSON object, or nothing. */
export function agentsElsewhere({ forwarded }: Pick<RunOrder, "forwarded">): string | undefined {
  const given = forwarded.findLast((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  return given === undefined || given === "" || given.trimStart().startsWith("{")
    ? undefined
    : given;
}

/**
 * The agents of a file, as the text of a JSON object: `claude -p` reads what is no JSON as the path of one (2.1.330), and
 * the interactive Claude Code does not.
 *
 * @param given what `--agents` is given in their place
 * @param options.cwd the folder from which a relative path leads to the file
 * @throws {CliError} when it is other JSON, or no file with such an object
 */
export function readAgents(given: string, { cwd }: { readonly cwd: string }): string {
  if (parsed(given) !== undefined) throw refusal("it is not a JSON object");
  const path = absolutePath(given, cwd);
  const text = readGivenFile(path);
  if (!isJsonObject(parsed(text))) throw refusal(`${path} holds no JSON object`);
  return text;
}

function readGivenFile(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: LARGEST_GIVEN_FILE });
    return new TextDecoder().decode(bytes).trim();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw refusal(`${path} is not there, and what is not JSON is the path of a file`, cause);
    }
    if (cause instanceof UnfitFileError) {
      throw refusal(`${path} cannot be read: ${cause.reason}`, cause);
    }
    throw cause;
  }
}

/** What a text is as JSON, if it is any that can be walked over. */
function parsed(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --agents: ${why}`, {
    suggestion:
      `Give a JSON object such as {"reviewer": {"description": "Reviews code", "prompt": ` +
      `"You review."}}, or a file of at most 16 MiB that holds one`,
    cause,
  });
}

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
      const found = entry.endsWith(".md") ? nameIn(readAgentFile(path)) : undefined;
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

function readAgentFile(path: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: LARGEST_AGENT_FILE }));
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
