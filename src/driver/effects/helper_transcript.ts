import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { nameOf, parentOf } from "../../paths.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { type Entry, lineOf, parseEntry } from "../../claude/transcript/entry.ts";
import { asText, type JsonObject } from "../../json_object.ts";
import { lineId, sortTranscript } from "../../claude/transcript/entry_order.ts";
import { projectSlug } from "../../claude/transcript/session_files.ts";
import { escapeJson } from "./helper_protocol.ts";

/** Text that a helper has written to the session, and the file below `projects/` to which it will be added. */
export interface Note {
  readonly path: string;
  readonly text: string;
}

/** A session, and the config dir that has its transcript. */
interface SessionLocation {
  readonly configDir: string;
  readonly sessionId: string;
}

/** Types of lines without an id that belong to the session, and not only to the process that wrote them. */
const SESSION_LINE_TYPES = ["last-prompt", "custom-title", "ai-title", "agent-name", "agent-color"];

/** Texts of files below `projects/`, by their paths there. */
export type PlacedFiles = ReadonlyMap<string, string>;

/** Reads the files below a config dir's `projects/`; links are left out. */
export function readProjectFiles(configDir: string): PlacedFiles {
  const files = new Map<string, string>();
  const visit = (folder: string) => {
    for (const name of namesIn(`${configDir}/projects${folder}`)) {
      const inner = `${folder}/${name}`;
      const file = `${configDir}/projects${inner}`;
      const { isFile, isDirectory } = Deno.lstatSync(file);
      if (isDirectory) visit(inner);
      if (isFile) files.set(inner.slice(1), readText(file));
    }
  };
  visit("");
  return files;
}

/**
 * Finds the lines that a helper has written below its `projects/`. Paths of its config dir are replaced by those of the
 * child's.
 *
 * @param options.before the files before the helper started
 * @param options.commandsAlone whether only the lines of commands count
 */
export function findNotes(
  { helperDir, configDir, before, commandsAlone = false }: {
    readonly helperDir: string;
    readonly configDir: string;
    readonly before: PlacedFiles;
    readonly commandsAlone?: boolean;
  },
): readonly Note[] {
  const isNoted = commandsAlone ? isCommandLine : isSessionLine;
  return [...readProjectFiles(helperDir)].flatMap(([path, text]) => {
    const known = before.get(path);
    const added = path.endsWith(".jsonl")
      ? newLines(text, { before: known, isNoted })
      : text === known || commandsAlone
      ? ""
      : text;
    return added === ""
      ? []
      : [{ path, text: added.replaceAll(escapeJson(helperDir), escapeJson(configDir)) }];
  });
}

/** The lines that were added to a transcript and that count. */
function newLines(
  text: string,
  { before = "", isNoted }: {
    readonly before: string | undefined;
    readonly isNoted: (line: string) => boolean;
  },
): string {
  const known = new Set(before.split("\n"));
  return text.split("\n").filter((line) => !known.has(line) && isNoted(line))
    .map((line) => `${line}\n`).join("");
}

/** The beginning of the lines that describe a command to the model: a caveat, the command, its output. */
const COMMAND_TEXT = /^<(?:local-command-|command-name>)/u;

function isCommandLine(line: string): boolean {
  const entry = parseEntry(line);
  return entry?.type === "user" && typeof entry.message.content === "string" &&
    COMMAND_TEXT.test(entry.message.content);
}

function isSessionLine(line: string): boolean {
  const entry = parseEntry(line);
  return entry !== undefined &&
    (lineId(entry) !== undefined || SESSION_LINE_TYPES.includes(asText(lineOf(entry)["type"])));
}

/** Finds the transcript of a session in a config dir. */
export function findTranscript(configDir: string, sessionId: string): string | undefined {
  return namesIn(`${configDir}/projects`)
    .map((slug) => `${configDir}/projects/${slug}/${sessionId}.jsonl`).find((path) =>
      fileAt(path) !== undefined
    );
}

/** Adds notes to the files of the session in a config dir. */
export function writeNotes(
  noted: readonly Note[],
  { configDir, sessionId }: SessionLocation,
): void {
  for (const { path, text } of noted) {
    // Claude Code moves the transcript when a turn enters a worktree.
    const known = path.endsWith(`/${sessionId}.jsonl`)
      ? findTranscript(configDir, sessionId)
      : undefined;
    writeOrAppend(known ?? `${configDir}/projects/${path}`, text);
  }
}

/**
 * Adds texts of the user to a session. The model reads them before the next message.
 *
 * When 2.1.330 resumes a session that ends with a line of the user, it adds the answer "No response requested.". A
 * virtual answer prevents that, and is not sent to the API.
 */
export function appendContext(
  texts: readonly string[],
  { configDir, sessionId, cwd, version }: SessionLocation & {
    readonly cwd: string;
    readonly version: string | undefined;
  },
): void {
  const folder = Deno.realPathSync(cwd);
  const path = findTranscript(configDir, sessionId) ??
    `${configDir}/projects/${projectSlug(folder)}/${sessionId}.jsonl`;
  const last = parseEntries(readText(path)).map(lineId).findLast((id) => id !== undefined);
  const own = () => ({
    ...{ isSidechain: false, userType: "external", cwd: folder, sessionId, version },
    ...{ timestamp: new Date().toISOString(), uuid: crypto.randomUUID() },
  });
  const context = {
    ...{ ...own(), parentUuid: last ?? null, type: "user" },
    message: { role: "user", content: texts.map((text) => ({ type: "text", text })) },
  };
  const answer = {
    ...{ ...own(), parentUuid: context.uuid, type: "assistant", isVirtual: true },
    message: {
      ...{ id: crypto.randomUUID(), type: "message", role: "assistant", model: "<synthetic>" },
      content: [{ type: "text", text: "The next command belongs to this message." }],
      usage: { input_tokens: 0, output_tokens: 0 },
    },
  };
  // If a session has two ends, 2.1.330 resumes from the end that `last-prompt` names.
  const lastPrompt = texts[0]?.slice(0, 200);
  const end = { type: "last-prompt", lastPrompt, leafUuid: answer.uuid, sessionId };
  writeOrAppend(path, [context, answer, end].map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Appends to a transcript, or replaces another file. Writes nothing if the path is no regular file, such as a link. */
function writeOrAppend(path: string, text: string): void {
  Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
  if (fileAt(path) !== undefined && !Deno.lstatSync(path).isFile) return;
  const append = path.endsWith(".jsonl");
  const written = append ? attachLines(readText(path), text) : text;
  Deno.writeTextFileSync(path, written, { append, mode: 0o600 });
}

/**
 * Attaches lines to the end of a transcript.
 *
 * The helper's lines follow the line that was last when it started. If the child has written messages since, lines with
 * a parent would replace those messages in the session, so they are left out. If the child has written only notes about
 * the end of its turn, the first line gets the last note as its parent: Claude Code resumes from the later of two ends.
 */
function attachLines(there: string, added: string): string {
  const [first] = parseEntries(added).filter((entry) => lineId(entry) !== undefined);
  const parent = first === undefined || first.type === "other" ? undefined : first.parentUuid;
  const entries = parseEntries(there);
  const place = entries.findLastIndex((entry) => lineId(entry) === parent);
  const isLeft = entries.slice(place + 1).some(({ type }) =>
    type === "user" || type === "assistant"
  );
  if (isLeft) {
    return added.split("\n").filter((line) => !/"(?:parentUuid|leafUuid)"/u.test(line)).join("\n");
  }
  const last = entries.map(lineId).findLast((id) => id !== undefined);
  return last === undefined || typeof parent !== "string"
    ? added
    : added.replace(`"parentUuid":"${parent}"`, () => `"parentUuid":"${last}"`);
}

function parseEntries(text: string): readonly Entry[] {
  return text.split("\n").map(parseEntry).filter((entry) => entry !== undefined);
}

/**
 * Copies a transcript into a helper's config dir, with links to the files next to it. It is copied only if the helper
 * writes to it, if a line must be added, or if its lines are out of order; the copy is in order.
 *
 * @param options.last a line to add to the copy
 * @returns whether the helper now has its own `projects/` folder
 */
export function copyTranscript(
  path: string | undefined,
  { from, configDir, notes, last }: {
    readonly from: string;
    readonly configDir: string;
    readonly notes: boolean;
    readonly last: JsonObject | undefined;
  },
): boolean {
  if (path === undefined) {
    if (notes) Deno.mkdirSync(`${configDir}/projects`, { mode: 0o700 });
    return notes;
  }
  const read = readText(path);
  const text = sortTranscript(read) ?? (notes || last !== undefined ? read : undefined);
  if (text === undefined) return false;
  const folder = `${configDir}${parentOf(path).slice(from.length)}`;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of namesIn(parentOf(path))) {
    if (name !== nameOf(path)) Deno.symlinkSync(`${parentOf(path)}/${name}`, `${folder}/${name}`);
  }
  const end = last === undefined ? "" : `${JSON.stringify(last)}\n`;
  Deno.writeTextFileSync(`${folder}/${nameOf(path)}`, text + end, { mode: 0o600 });
  return true;
}

/** Reads a transcript; empty if it cannot be read. Claude Code itself reports that error. */
function readText(path: string): string {
  try {
    return new TextDecoder().decode(readTranscript(path));
  } catch (error) {
    if (error instanceof UnfitFileError || error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
