import { readRegularFile, tryReadText, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { parseJson } from "../../claude/wire/json_text.ts";
import { CliError } from "../../cli_error.ts";
import { isJsonObject } from "../../json_object.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import { absolutePath, upFrom } from "../../paths.ts";
import { LARGEST_AGENT_FILE, type OtherAgents } from "../plan/caller_agents.ts";
import { flagValues, type RunOrder } from "../plan/run_order.ts";
import type { Places } from "./project_facts.ts";

/** The maximum size of a file that `--agents` names, in bytes. */
const LARGEST_NAMED_FILE = 16 * 1024 * 1024;

/**
 * Reads the file that the last `--agents` names. `claude -p` treats a value that is no JSON as a path (2.1.330), the
 * interactive Claude Code does not.
 *
 * @returns the text of a JSON object; undefined if the value is empty or itself begins like an object
 * @throws {CliError} when the value is other JSON, or the file has no JSON object
 */
export function readNamedAgents(
  { forwarded, cwd }: Pick<RunOrder, "forwarded" | "cwd">,
): string | undefined {
  const given = flagValues(forwarded, "--agents").at(-1);
  if (given === undefined || given === "" || given.trimStart().startsWith("{")) return undefined;
  if (parseJson(given) !== undefined) throw agentsError("it is not a JSON object");
  const path = absolutePath(given, cwd);
  const text = readNamedFile(path);
  if (!isJsonObject(parseJson(text))) throw agentsError(`${path} holds no JSON object`);
  return text;
}

function readNamedFile(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: LARGEST_NAMED_FILE });
    return new TextDecoder().decode(bytes).trim();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw agentsError(`${path} is not there, and what is not JSON is the path of a file`, cause);
    }
    if (cause instanceof UnfitFileError) {
      throw agentsError(`${path} cannot be read: ${cause.reason}`, cause);
    }
    throw cause;
  }
}

function agentsError(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --agents: ${why}`, {
    suggestion:
      `Give a JSON object such as {"reviewer": {"description": "Reviews code", "prompt": ` +
      `"You review."}}, or a file of at most 16 MiB that holds one`,
    cause,
  });
}

/** The maximum number of folder entries that are read, and the maximum depth. */
const MOST_ENTRIES = 5000;
const DEEPEST = 8;

/**
 * Finds the agents of the user and the project. It searches at least all places where Claude Code does (2.1.330): the
 * user's config dir, the project's folder and all folders above it, all worktrees, and added directories.
 */
export function findOtherAgents(
  { projectRoot, userDir, addedDirs, sources }: Pick<
    Places,
    "projectRoot" | "userDir" | "addedDirs" | "sources"
  >,
): OtherAgents {
  const names: string[] = [];
  let left = MOST_ENTRIES;
  /** Adds the names in a folder. Returns the first path that could hold an agent of any name. */
  const search = (dir: string, depth: number): string | undefined => {
    for (const entry of namesInFolder(dir)) {
      if (--left < 0 || depth > DEEPEST) return dir;
      const path = `${dir}/${entry}`;
      const name = entry.endsWith(".md")
        ? agentName(tryReadText(path, LARGEST_AGENT_FILE) ?? "")
        : undefined;
      if (name === null) return path;
      if (name !== undefined) names.push(name);
      const unclear = search(path, depth + 1);
      if (unclear !== undefined) return unclear;
    }
    return undefined;
  };
  const user = sources.has("user") ? [`${userDir}/agents`] : [];
  const project = sources.has("project")
    ? [...upFrom(projectRoot), ...worktreesOf(projectRoot), ...addedDirs]
      .map((dir) => `${dir}/.claude/agents`)
    : [];
  for (const dir of new Set([...user, ...project])) {
    const unclear = search(dir, 0);
    if (unclear !== undefined) return { names, unclear };
  }
  return { names };
}

/** The names in a folder, read one by one. Claude Code also ignores entries that it cannot read. */
function* namesInFolder(dir: string): Generator<string> {
  try {
    for (const { name } of Deno.readDirSync(dir)) yield name;
  } catch {
    // Not a folder.
  }
}

/** All line ends of YAML. */
const LINE_END = /\r\n|[\n\r\x85\u2028\u2029]/u;

/**
 * The name of an agent in a file: undefined if the file has none, null if only a YAML parser could find it, because
 * YAML has many ways to write a key and a name.
 */
function agentName(text: string): string | undefined | null {
  const [opening = "", ...rest] = text.split(LINE_END);
  if (!/^---\s*$/u.test(opening)) return undefined;
  const end = rest.findIndex((line) => /^---\s*$/u.test(line));
  const lines = end < 0 ? rest : rest.slice(0, end);
  const isPlain = lines.every((line) => /^(?:\s|#|- |[\w-]+:(?:\s|$)|$)/u.test(line));
  if (!isPlain) return null;
  const places = lines.flatMap((line, place) => line.startsWith("name:") ? [place] : []);
  const [place] = places;
  if (place === undefined) {
    const isIndented = lines.every((line) => /^(?:\s|#|$)/u.test(line)) &&
      lines.some((line) => line.trim() !== "");
    return isIndented ? null : undefined;
  }
  const next = lines.slice(place + 1).find((line) => line.trim() !== "") ?? "";
  const value = lines[place]?.slice("name:".length).trim() ?? "";
  const [, single, double] = /^(?:'([^']*)'|"([^"\\]*)")(?:\s+#.*)?$/u.exec(value) ?? [];
  const name = single ?? double ?? unquotedName(value);
  return name === undefined || places.length > 1 || /^\s/u.test(next) ? null : name;
}

/** A name without quotes, before an optional comment. */
function unquotedName(value: string): string | undefined {
  const comment = value.indexOf("#");
  const name = comment < 0 ? value : value.slice(0, comment);
  if (!/^\w[^:]*$/u.test(name)) return undefined;
  return comment < 0 || name.endsWith(" ") || name.endsWith("\t") ? name.trimEnd() : undefined;
}
