import { CliError } from "../../../cli_error.ts";
import {
  API_FOLDER,
  CASSETTE_FORMAT,
  type CassetteMeta,
  CAST_FILE,
  type CastEvent,
  type CastHeader,
  encodeEntry,
  encodeEvent,
  encodeHeader,
  encodeMeta,
  type ForkOrigin,
  META_FILE,
  TAPE_FILE,
  type TapeEntry,
} from "../cassette_format.ts";
import type { CassetteSink } from "./recorder.ts";
import { REDACTED } from "../../redaction/redact_pieces.ts";
import { fileAt, tryRemove } from "../../../../ffi/files/at_path.ts";

/**
 * Writes a cassette into a claimed folder while it is recorded. Only the user can read its files. Each call writes its
 * part to the file before it returns, so that a crash loses nothing.
 *
 * A write error does not disturb the run. `close()` reports it.
 */
export class CassetteWriter implements CassetteSink {
  readonly #folder: string;
  readonly #facts: WriterFacts;
  readonly #files: Map<string, Deno.FsFile>;
  #meta: CassetteMeta | undefined;
  #failure: unknown;
  #isBegun = false;

  constructor({ path, cast }: Pick<ClaimedFolder, "path" | "cast">, facts: WriterFacts) {
    this.#folder = path;
    this.#facts = facts;
    this.#files = new Map([[CAST_FILE, cast]]);
  }

  /** Whether the cast has a header. */
  get isBegun(): boolean {
    return this.#isBegun;
  }

  begin(header: CastHeader): void {
    const { version, platform, flags = [], forkedFrom } = this.#facts;
    this.#isBegun = true;
    this.#attempt(() => {
      const tape = Deno.openSync(`${this.#folder}/${TAPE_FILE}`, {
        append: true,
        createNew: true,
        mode: 0o600,
      });
      this.#files.set(TAPE_FILE, tape);
      this.#saveMeta({
        format: CASSETTE_FORMAT,
        claude_print: version,
        platform,
        size: { cols: header.width, rows: header.height },
        when: new Date(header.timestamp * 1000).toISOString(),
        scrubbed: { [CAST_FILE]: 0, [TAPE_FILE]: 0 },
        ...(flags.length === 0 ? {} : { flags }),
        ...(forkedFrom === undefined ? {} : { forked_from: forkedFrom }),
      });
    });
    this.#append(CAST_FILE, encodeHeader(header));
  }

  version(claudeVersion: string): void {
    this.#attempt(() => {
      if (this.#meta === undefined || this.#meta.claude_code === claudeVersion) return;
      this.#saveMeta({ ...this.#meta, claude_code: claudeVersion });
    });
  }

  event(event: CastEvent): void {
    this.#append(CAST_FILE, encodeEvent(event));
  }

  entry(entry: TapeEntry): void {
    this.#append(TAPE_FILE, encodeEntry(entry));
  }

  /** Adds to the number of secrets removed from a part that another writer writes. It also works after `close()`. */
  addSecrets(part: string, secrets: number): void {
    this.#attempt(() => this.#addSecrets(part, secrets));
  }

  /**
   * Closes the files.
   *
   * @throws {CliError} if a part could not be written
   */
  close(): void {
    for (const file of this.#files.values()) file.close();
    if (this.#failure === undefined) return;
    throw new CliError(`Cannot write the recording: ${(this.#failure as Error).message}`, {
      suggestion: "Give --record a folder on a disk with room",
      cause: this.#failure,
    });
  }

  #append(name: string, text: string): void {
    this.#attempt(() => {
      const file = this.#files.get(name);
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; file !== undefined && at < bytes.length;) {
        at += file.writeSync(bytes.subarray(at));
      }
      this.#addSecrets(name, text.split(REDACTED).length - 1);
    });
  }

  #addSecrets(part: string, secrets: number): void {
    const known = this.#meta?.scrubbed[part];
    if (this.#meta === undefined || (secrets === 0 && known !== undefined)) return;
    const scrubbed = { ...this.#meta.scrubbed, [part]: (known ?? 0) + secrets };
    this.#saveMeta({ ...this.#meta, scrubbed });
  }

  #saveMeta(meta: CassetteMeta): void {
    this.#meta = meta;
    // A rename replaces the former file in one step.
    const unfinished = `${this.#folder}/${META_FILE}.unfinished`;
    // A link here could lead to a file of another user.
    tryRemove(unfinished);
    Deno.writeTextFileSync(unfinished, encodeMeta(meta), { createNew: true, mode: 0o600 });
    Deno.renameSync(unfinished, `${this.#folder}/${META_FILE}`);
  }

  /** Writes, unless writing has failed before. */
  #attempt(write: () => void): void {
    if (this.#failure !== undefined) return;
    try {
      write();
    } catch (error) {
      this.#failure = error;
    }
  }
}

/** The facts in `meta.json` that are known when a run starts. */
interface WriterFacts extends Pick<CassetteMeta, "platform" | "flags"> {
  /** The version of claude-print. */
  readonly version: string;
  readonly forkedFrom?: ForkOrigin | undefined;
}

/** A folder that one recorder has locked. */
interface ClaimedFolder {
  readonly path: string;
  /** The empty cast file. Its lock keeps other recorders away until the file is closed. */
  readonly cast: Deno.FsFile;
  /** Removes what was created for the recording. */
  readonly release: () => void;
}

const SUGGESTION = "Give --record a folder that does not exist yet, or an empty one";

/**
 * Claims a folder for a recording. Creates it with mode 0700 unless it exists and is empty. Only one of several
 * recorders can claim it.
 *
 * A recorder that was killed before its run started leaves an empty cast without a lock. Such a folder counts as empty.
 *
 * @throws {CliError} if the folder has files, another recorder has claimed it, or it cannot be created
 */
export function claimFolder(path: string): ClaimedFolder {
  const failed = `Cannot record in ${path}`;
  const wasMade = !isEmptyFolder(path, failed) && makeCassetteFolder(path, failed);
  const castPath = `${path}/${CAST_FILE}`;
  const isLeft = isEmptyFile(castPath);
  let cast: Deno.FsFile;
  try {
    cast = Deno.openSync(castPath, { append: true, createNew: !isLeft, mode: 0o600 });
  } catch (cause) {
    if (cause instanceof Deno.errors.AlreadyExists) throw takenByOther(failed, cause);
    if (wasMade) removeIfEmpty(path);
    throw unwritable(failed, cause);
  }
  // Another recorder may have claimed and finished the folder since the check.
  if (!isLocked(cast, !isLeft) || !isStillThere(cast, castPath)) {
    cast.close();
    throw takenByOther(failed);
  }
  return {
    path,
    cast,
    release: () => {
      removeIfEmpty(castPath);
      cast.close();
      if (wasMade) removeIfEmpty(path);
    },
  };
}

function takenByOther(failed: string, cause?: unknown): CliError {
  return new CliError(`${failed}: another run has just begun to record there`, {
    suggestion: SUGGESTION,
    cause,
  });
}

/** @param isNew whether this process created the file; this decides on file systems without locks */
function isLocked(file: Deno.FsFile, isNew: boolean): boolean {
  try {
    return file.tryLockSync(true);
  } catch {
    return isNew;
  }
}

/** Whether the path still names the open file, and the file is still empty. */
function isStillThere(file: Deno.FsFile, path: string): boolean {
  const { dev, ino, size } = file.statSync();
  try {
    const there = Deno.lstatSync(path);
    return size === 0 && there.dev === dev && there.ino === ino;
  } catch {
    return false;
  }
}

/** Creates the folder; false if another process created it at the same time. */
function makeCassetteFolder(path: string, failed: string): boolean {
  const parent = path.replace(/(?<!\/)\/+$/u, "").replace(/[^/]+$/u, "");
  if (fileAt(parent === "" ? "." : parent)?.isDirectory !== true) {
    throw new CliError(`${failed}: the folder above it does not exist`, {
      suggestion: `Make it first: mkdir -p ${parent}`,
    });
  }
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (cause) {
    if (cause instanceof Deno.errors.AlreadyExists && fileAt(path)?.isDirectory === true) {
      return false;
    }
    throw unwritable(failed, cause);
  }
}

function unwritable(failed: string, cause: unknown): CliError {
  return new CliError(`${failed}: ${(cause as Error).message}`, {
    suggestion: "Give --record a new folder in one that is yours",
    cause,
  });
}

/** Removes an empty file or folder. Ignores missing paths and folders that hold other files. */
function removeIfEmpty(path: string): void {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile || size === 0) Deno.removeSync(path);
  } catch {
    // Removing a folder with files fails, as intended.
  }
}

/** Whether the path is an empty file, and no link. */
function isEmptyFile(path: string): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size === 0;
  } catch {
    return false;
  }
}

/** Whether a folder has only the files of a recorder that was killed before its run. */
function isLeftBehind(folder: string, names: readonly Deno.DirEntry[]): boolean {
  return isEmptyFile(`${folder}/${CAST_FILE}`) &&
    names.every(({ name, isDirectory }) =>
      name === CAST_FILE ||
      (name === API_FOLDER && isDirectory &&
        [...Deno.readDirSync(`${folder}/${name}`)].length === 0)
    );
}

/** Whether a folder is empty; false if it does not exist. */
function isEmptyFolder(folder: string, failed: string): boolean {
  let names: readonly Deno.DirEntry[];
  try {
    names = [...Deno.readDirSync(folder)];
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return false;
    const isFile = cause instanceof Deno.errors.NotADirectory;
    const why = isFile ? "it is not a folder" : (cause as Error).message;
    throw new CliError(`${failed}: ${why}`, { suggestion: SUGGESTION, cause });
  }
  if (names.length > 0 && !isLeftBehind(folder, names)) {
    throw new CliError(`${failed}: there is something in it`, { suggestion: SUGGESTION });
  }
  return true;
}
