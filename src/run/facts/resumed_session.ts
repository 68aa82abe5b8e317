import { namesIn } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import type { FoundSessions, FoundTranscript } from "../plan/plan_facts.ts";
import type { Resumption, RunOrder } from "../plan/run_order.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import { backgroundSessions } from "../../sandbox/processes/background_sessions.ts";
import { readLines } from "../../sandbox/transcripts/read_lines.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { projectSlug } from "../../claude/transcript/files/project_slug.ts";
import {
  isSameTitle,
  type SessionKind,
  sessionKind,
  sessionTitle,
} from "../../claude/transcript/files/session_description.ts";
import { isSessionId } from "../../claude/transcript/files/session_id.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";
import type { FolderFile } from "../../sandbox/folder/folder_contents.ts";
import { cutTranscript } from "../../claude/transcript/files/cut_transcript.ts";

/** Where sessions are looked for. */
interface SessionPlaces {
  /** The user's config dir. */
  readonly configDir: string;
  /** Real path of the working directory. */
  readonly cwd: string;
}

/** A file with the name of a session's transcript. */
interface Candidate {
  readonly id: string;
  /** Path below `projects/`. */
  readonly path: string;
  readonly modified: number;
  /** In bytes. */
  readonly size: number;
}

const TRANSCRIPT = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/iu;

/** How much of a transcript's beginning and of its end is looked through for a title, in bytes. */
const TITLED_BYTES = 65_536;

/**
 * Looks up the session that a run is to go on with, as `claude -p` does: the latest is that of the working directory's
 * own folder which was written to last, whoever wrote it; titles are those of the worktrees of its repository too.
 *
 * What killed runs left has to be at home by then.
 */
export function findSessions(resumption: Resumption, places: SessionPlaces): FoundSessions {
  const latest = resumption.latest ? latestSession(places) : undefined;
  if (latest !== undefined) return { latest };
  if (resumption.named === undefined) return {};
  const named = isSessionId(resumption.named)
    ? [resumption.named]
    : titled(resumption.named, places);
  const [id, ...more] = named;
  const transcript = resumption.upTo === undefined || id === undefined || more.length > 0
    ? undefined
    : transcriptOf(id, places);
  return { named, ...(transcript === undefined ? {} : { transcript }) };
}

/**
 * The session that was written to last, without those in which nobody has said anything. What is at work in the
 * background is left to itself.
 */
function latestSession({ configDir, cwd }: SessionPlaces): string | undefined {
  const atWork = backgroundSessions(configDir);
  for (const { id, path, size } of candidatesIn([projectSlug(cwd)], configDir)) {
    if (atWork.has(id)) continue;
    const kind = kindOf(`${configDir}/projects/${path}`);
    if (kind === "conversation") return id;
    if (kind === "aside") continue;
    if (size === 0) return undefined;
    if (kind === "background") return id;
  }
  return undefined;
}

/** What a transcript is of, as far as it can be read. */
function kindOf(path: string): SessionKind {
  try {
    return sessionKind(readLines(path));
  } catch (error) {
    if (isUnreadable(error)) return "wordless";
    throw error;
  }
}

function titled(name: string, { configDir, cwd }: SessionPlaces): readonly string[] {
  const found = candidatesIn(slugsOf(cwd, configDir), configDir).filter(({ path, size }) => {
    const file = `${configDir}/projects/${path}`;
    const head = linesIn(file, { most: TITLED_BYTES });
    const tail = size <= TITLED_BYTES ? [] : linesIn(file, { from: size - TITLED_BYTES });
    const title = sessionTitle([...head, ...tail]);
    return title !== undefined && isSameTitle(title, name) && sessionKind(head) !== "aside";
  });
  return [...new Set(found.map(({ id }) => id))];
}

/** The folders of a repository's worktrees and of all folders in them; without further worktrees that of the cwd. */
function slugsOf(cwd: string, configDir: string): readonly string[] {
  const own = projectSlug(cwd);
  const worktrees = worktreesOf(cwd).map(projectSlug);
  if (worktrees.length <= 1) return [own];
  const others = namesIn(`${configDir}/projects`).filter((name) =>
    worktrees.some((slug) => name === slug || name.startsWith(`${slug}-`))
  );
  return [...new Set([own, ...others])];
}

function transcriptOf(id: string, { configDir, cwd }: SessionPlaces): FoundTranscript | undefined {
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

/** Transcripts in some folders, the one that was written to last first. */
function candidatesIn(slugs: readonly string[], configDir: string): readonly Candidate[] {
  return slugs.flatMap((slug) =>
    namesIn(`${configDir}/projects/${slug}`).flatMap((name): readonly Candidate[] => {
      const id = TRANSCRIPT.exec(name)?.[1];
      if (id === undefined) return [];
      const path = `${slug}/${name}`;
      try {
        // A link may lead to anything, and nobody has named it.
        const { isFile, mtime, size } = Deno.lstatSync(`${configDir}/projects/${path}`);
        return isFile ? [{ id, path, modified: mtime?.getTime() ?? 0, size }] : [];
      } catch {
        return [];
      }
    })
  ).sort((one, other) => other.modified - one.modified);
}

/** Lines of a part of a transcript; none where it cannot be read, or is gone by now. */
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
 * What is left of the transcript of a session that is resumed in part; undefined where all of it is resumed, or there
 * is none.
 *
 * @throws {CliError} when there is no such part of it
 */
export function resumedPart(
  { resume, resumption: { upTo, dropsTurn } = { latest: false } }: Pick<
    RunOrder,
    "resume" | "resumption"
  >,
  { found: { latest, transcript } }: { readonly found: FoundSessions },
): FolderFile | undefined {
  if (resume !== undefined || latest !== undefined) return undefined;
  if (upTo === undefined || transcript === undefined) return undefined;
  const cut = cutTranscript(transcript.text, { upTo, dropsTurn });
  if (cut.kind === "cut") return { path: transcript.path, text: cut.text };
  if (cut.kind === "absent") {
    throw new CliError(`No message found with message.uuid of: ${upTo}`, {
      suggestion: "Use the uuid of an assistant message that ended an answer",
      isUnbegun: true,
    });
  }
  if (cut.by === "turn") {
    // Whoever uses an Agent SDK knows it by its first words.
    throw new CliError(`Resume rejected by --resume-drops-turn: ${cut.reason}`, {
      suggestion: "Leave it out, or resume at the end of the turn before",
      isUnbegun: true,
    });
  }
  throw new UnsupportedError(`Cannot honour --resume-session-at: ${cut.reason}`, {
    suggestion: "Use the uuid of an assistant message that ended an answer, or run claude -p",
  });
}
