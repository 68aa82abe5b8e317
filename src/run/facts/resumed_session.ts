import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { cutTranscript } from "../../claude/transcript/cut_transcript.ts";
import { type Entry, parseEntry } from "../../claude/transcript/entry.ts";
import { trimEarlierEntry } from "../../claude/transcript/kept_entry.ts";
import { isSessionId, projectSlug } from "../../claude/transcript/session_files.ts";
import {
  isSameTitle,
  readSessionKind,
  readSessionTitle,
  type SessionKind,
} from "../../claude/transcript/session_description.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";
import { definedFields } from "../../defined_fields.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { FolderFile } from "../../sandbox/folder/folder_layout.ts";
import { readLines, readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import type { FoundSessions, FoundTranscript } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { readProcessStat } from "../../sandbox/run_processes.ts";
import { isJsonObject } from "../../json_object.ts";

/** The places in which sessions are searched for. */
export interface SessionPlaces {
  /** The user's config dir. */
  readonly configDir: string;
  /** Real path of the working directory. */
  readonly cwd: string;
}

/** A file with the name of a session's transcript. */
interface Candidate {
  readonly id: string;
  /** The path below `projects/`. */
  readonly path: string;
  /** The time of the last change, in milliseconds since the epoch. */
  readonly modified: number;
  /** The size in bytes. */
  readonly size: number;
}

const TRANSCRIPT = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/iu;

/** The number of bytes at a transcript's beginning and at its end that are searched for a title. */
const TITLED_BYTES = 65_536;

/**
 * Finds the session to resume, as `claude -p` does. The latest session is the session of the working directory to which
 * any program wrote last. Titles are searched for in all worktrees of the repository.
 *
 * Transcripts of killed runs must have been moved to the user's config dir before.
 */
export function findSessions(
  resumption: NonNullable<RunOrder["resumption"]>,
  places: SessionPlaces,
): FoundSessions {
  const latest = resumption.latest ? latestSession(places) : undefined;
  if (latest !== undefined) return { latest };
  if (resumption.named === undefined) return {};
  const named = isSessionId(resumption.named)
    ? [resumption.named]
    : sessionsTitled(resumption.named, places);
  const [id, ...more] = named;
  const transcript = resumption.upTo === undefined || id === undefined || more.length > 0
    ? undefined
    : findTranscript(id, places);
  return { named, ...definedFields({ transcript }) };
}

/**
 * Reads the entries of a session's transcript.
 *
 * @param options.trims whether only the parts are read that this run needs
 */
export function readEntries(
  path: string,
  { trims }: { readonly trims: boolean },
): readonly Entry[] {
  const entries: Entry[] = [];
  for (const line of readLines(path)) {
    const entry = parseEntry(line);
    const kept = entry !== undefined && trims ? trimEarlierEntry(entry) : entry;
    if (kept !== undefined) entries.push(kept);
  }
  return entries;
}

/** The last written session that has a message. Background sessions that still work are skipped. */
function latestSession({ configDir, cwd }: SessionPlaces): string | undefined {
  const working = backgroundSessions(configDir);
  for (const { id, path, size } of candidatesIn([projectSlug(cwd)], configDir)) {
    if (working.has(id)) continue;
    const kind = readKindOfFile(`${configDir}/projects/${path}`);
    if (kind === "conversation") return id;
    if (kind === "aside") continue;
    if (size === 0) return undefined;
    if (kind === "background") return id;
  }
  return undefined;
}

function readKindOfFile(path: string): SessionKind {
  try {
    return readSessionKind(readLines(path));
  } catch (error) {
    if (isUnreadable(error)) return "wordless";
    throw error;
  }
}

function sessionsTitled(name: string, { configDir, cwd }: SessionPlaces): readonly string[] {
  const found = candidatesIn(slugsOf(cwd, configDir), configDir).filter(({ path, size }) => {
    const file = `${configDir}/projects/${path}`;
    const head = linesIn(file, { most: TITLED_BYTES });
    const tail = size <= TITLED_BYTES ? [] : linesIn(file, { from: size - TITLED_BYTES });
    const title = readSessionTitle([...head, ...tail]);
    return title !== undefined && isSameTitle(title, name) && readSessionKind(head) !== "aside";
  });
  return [...new Set(found.map(({ id }) => id))];
}

/**
 * The project folders of all worktrees and of folders in them. With only one worktree, the project folder of the
 * working directory.
 */
function slugsOf(cwd: string, configDir: string): readonly string[] {
  const own = projectSlug(cwd);
  const worktrees = worktreesOf(cwd).map(projectSlug);
  if (worktrees.length <= 1) return [own];
  const others = namesIn(`${configDir}/projects`).filter((name) =>
    worktrees.some((slug) => name === slug || name.startsWith(`${slug}-`))
  );
  return [...new Set([own, ...others])];
}

function findTranscript(
  id: string,
  { configDir, cwd }: SessionPlaces,
): FoundTranscript | undefined {
  const own = projectSlug(cwd);
  const slugs = [own, ...namesIn(`${configDir}/projects`).filter((name) => name !== own)];
  for (const slug of slugs) {
    const path = `${slug}/${id}.jsonl`;
    try {
      Deno.statSync(`${configDir}/projects/${path}`);
    } catch {
      continue;
    }
    const bytes = readTranscript(`${configDir}/projects/${path}`);
    return { path, text: new TextDecoder().decode(bytes) };
  }
  return undefined;
}

/** Transcripts in project folders, the last written first. */
function candidatesIn(slugs: readonly string[], configDir: string): readonly Candidate[] {
  return slugs.flatMap((slug) =>
    namesIn(`${configDir}/projects/${slug}`).flatMap((name): readonly Candidate[] => {
      const id = TRANSCRIPT.exec(name)?.[1];
      if (id === undefined) return [];
      const path = `${slug}/${name}`;
      try {
        // Links are not followed, because nobody has named them, and they may lead to any file.
        const { isFile, mtime, size } = Deno.lstatSync(`${configDir}/projects/${path}`);
        return isFile ? [{ id, path, modified: mtime?.getTime() ?? 0, size }] : [];
      } catch {
        return [];
      }
    })
  ).sort((one, other) => other.modified - one.modified);
}

/** Lines of a part of a transcript; none if it cannot be read, or has just been removed. */
function linesIn(
  path: string,
  part: { readonly from?: number; readonly most?: number },
): readonly string[] {
  try {
    return new TextDecoder().decode(readTranscript(path, part)).split("\n");
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof UnfitFileError;
}

/**
 * The part of a transcript that `--resume-session-at` resumes; undefined if all of it is resumed, or none.
 *
 * @throws {CliError} when the transcript has no such part
 */
export function resumedPart(
  { resume, resumption: { upTo, dropsTurn } = { latest: false } }: Pick<
    RunOrder,
    "resume" | "resumption"
  >,
  { latest, transcript }: FoundSessions,
): FolderFile | undefined {
  if (resume !== undefined || latest !== undefined) return undefined;
  if (upTo === undefined || transcript === undefined) return undefined;
  const cut = cutTranscript(transcript.text, { upTo, dropsTurn });
  if (cut.kind === "cut") return { path: transcript.path, text: cut.text };
  if (cut.kind === "absent") {
    throw new CliError(`No message found with message.uuid of: ${upTo}`, {
      suggestion: "Use the uuid of an assistant message that ended an answer",
      failedBeforeStart: true,
    });
  }
  if (cut.by === "turn") {
    // Users of an Agent SDK recognise this error by its first words.
    throw new CliError(`Resume rejected by --resume-drops-turn: ${cut.reason}`, {
      suggestion: "Leave it out, or resume at the end of the turn before",
      failedBeforeStart: true,
    });
  }
  throw new UnsupportedError(`Cannot honour --resume-session-at: ${cut.reason}`, {
    suggestion: "Use the uuid of an assistant message that ended an answer, or run claude -p",
  });
}

/** The maximum size of a process's record, in bytes. Real records have less than a thousand. */
const LIMIT = 65_536;

/**
 * The ids of the sessions that currently work in the background. Each process of Claude Code keeps a record in the
 * user's config dir.
 */
function backgroundSessions(configDir: string): ReadonlySet<string> {
  const sessions = new Set<string>();
  for (const name of namesIn(`${configDir}/sessions`)) {
    if (!/^\d+\.json$/u.test(name)) continue;
    try {
      const bytes = readRegularFile(`${configDir}/sessions/${name}`, { limit: LIMIT });
      const record: unknown = JSON.parse(new TextDecoder().decode(bytes));
      if (!isJsonObject(record)) continue;
      const { pid, sessionId, kind } = record;
      if (typeof kind !== "string" || kind === "interactive") continue;
      if (typeof sessionId !== "string" || typeof pid !== "number") continue;
      if (readProcessStat(pid)?.ended === false) sessions.add(sessionId);
    } catch {
      // The process has ended in the meantime, or the file is no record.
    }
  }
  return sessions;
}
