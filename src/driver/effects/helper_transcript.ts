import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { nameOf, parentOf } from "../../paths.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { type Entry, lineOf, parseEntry } from "../../claude/transcript/entry.ts";
import { asText, type JsonObject } from "../../json_object.ts";
import { lineId, straightened } from "../../claude/transcript/entry_order.ts";
import { projectSlug } from "../../claude/transcript/session_files.ts";
import { escapeJson } from "./helper_protocol.ts";

/** What was noted in a session: text that is added to a file, by its path below `projects/`. */
export interface Note {
  readonly path: string;
  readonly text: string;
}

/** A session, and the child's config dir, in which it is. */
interface SessionLocation {
  readonly configDir: string;
  readonly sessionId: string;
}

/** Lines without an id that belong to a session and not to the process that has written them. */
const SESSION_LINE_TYPES = ["last-prompt", "custom-title", "ai-title", "agent-name", "agent-color"];

/** Texts of files below `projects/`, by their paths there. */
export type PlacedFiles = ReadonlyMap<string, string>;

/** The files of a config dir's own below its `projects/`; what is linked there is another's. */
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
 * What a helper has written below its own `projects/`, with the child's config dir in the place of its own.
 *
 * @param options.before what was there before
 * @param options.commandsAlone whether only lines count that tell the model of a command
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

/** Lines that a transcript holds by now, and that are to be noted. */
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

/** What the model is told of a command with: a caveat, the command, and what it has said. */
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

/** The transcript of a session in a config dir; undefined where there is none. */
export function findTranscript(configDir: string, sessionId: string): string | undefined {
  return namesIn(`${configDir}/projects`)
    .map((slug) => `${configDir}/projects/${slug}/${sessionId}.jsonl`).find((path) =>
      fileAt(path) !== undefined
    );
}

/** Adds what was noted in a session to what is there of it in the child's config dir. */
export function writeNotes(
  noted: readonly Note[],
  { configDir, sessionId }: SessionLocation,
): void {
  for (const { path, text } of noted) {
    // It is moved where a turn enters a worktree.
    const known = path.endsWith(`/${sessionId}.jsonl`)
      ? findTranscript(configDir, sessionId)
      : undefined;
    writeOrAppend(known ?? `${configDir}/projects/${path}`, text);
  }
}

/**
 * Adds texts of the user to a session, which the model reads at the beginning of the next message.
 *
 * When 2.1.330 resumes a session that ends with the user, it adds the answer "No response requested.". A virtual answer
 * keeps it from that, and is not sent to the API.
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
  // Of two ends of a session 2.1.330 goes on from the one that it is told.
  const lastPrompt = texts[0]?.slice(0, 200);
  const end = { type: "last-prompt", lastPrompt, leafUuid: answer.uuid, sessionId };
  writeOrAppend(path, [context, answer, end].map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/**
 * Adds lines to a transcript, which is made where there is none, or writes another file anew; where something else is,
 * nothing is written.
 */
function writeOrAppend(path: string, text: string): void {
  Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
  if (fileAt(path) !== undefined && !Deno.lstatSync(path).isFile) return;
  const append = path.endsWith(".jsonl");
  const written = append ? attachLines(readText(path), text) : text;
  Deno.writeTextFileSync(path, written, { append, mode: 0o600 });
}

/**
 * What of some lines goes on with a transcript as it is. Those that follow from one that others have gone on from
 * meanwhile would take the place of what is there: they are left out. Where nothing has been said since, they follow from
 * what Claude Code has noted of the end of its turn: of two ends it would go on from that.
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
 * Places a copy of a transcript in a config dir, beside links to what is there with it: of one that is not in order,
 * as it should be, and of any if something is to be noted there.
 *
 * @param options.last a further line of the copy
 * @returns whether something was placed in the place of the child's transcripts
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
  const text = straightened(read) ?? (notes || last !== undefined ? read : undefined);
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

/** What a transcript holds by now; nothing where it cannot be read, as Claude Code will find. */
function readText(path: string): string {
  try {
    return new TextDecoder().decode(readTranscript(path));
  } catch (error) {
    if (error instanceof UnfitFileError || error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
