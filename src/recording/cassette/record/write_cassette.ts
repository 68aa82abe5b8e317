import { CliError } from "../../../cli_error.ts";
import {
  API_FOLDER,
  CASSETTE_FORMAT,
  type CassetteMeta,
  CAST_FILE,
  encodeEntry,
  encodeEvent,
  encodeHeader,
  encodeMeta,
  type ForkOrigin,
  META_FILE,
  TAPE_FILE,
} from "../cassette_format.ts";
import type { CassetteSink } from "./create_recording.ts";
import { REDACTED } from "../../redaction/redact_pieces.ts";
import { fileAt } from "../../../../ffi/files/at_path.ts";

/** Writes a cassette into a folder as it is recorded, readable by nobody but the user. */
export interface CassetteWriter extends CassetteSink {
  /** Whether there is anything of it. */
  readonly isBegun: boolean;
  /** Notes how many secrets were taken out of a part that somebody else writes, also when this has ended. */
  readonly taken: (part: string, secrets: number) => void;
  /**
   * Ends it.
   *
   * @throws {CliError} when not all of it could be written
   */
  readonly close: () => void;
}

/**
 * Begins to write a cassette into a folder that is taken for it: what it is given is in its file before it returns, so that whatever ends this program leaves
 * a cassette that is as long as the run was.
 *
 * What cannot be written is told at the end, and the run goes on without.
 *
 * @param options.version the version of this program
 * @param options.flags what Claude Code was told on its command line, without secrets
 * @param options.forkedFrom where the conversation comes from, if it goes on with a recorded one
 */
export function writeCassette(
  { path: folder, cast }: Pick<ClaimedFolder, "path" | "cast">,
  { version, platform, flags = [], forkedFrom }: Pick<CassetteMeta, "platform" | "flags"> & {
    readonly version: string;
    readonly forkedFrom?: ForkOrigin | undefined;
  },
): CassetteWriter {
  let isBegun = false;
  let meta: CassetteMeta | undefined;
  let failure: unknown;
  const files = new Map([[CAST_FILE, cast]]);
  const attempt = (write: () => void) => {
    if (failure !== undefined) return;
    try {
      write();
    } catch (error) {
      failure = error;
    }
  };
  const saveMeta = (changed: CassetteMeta) => {
    meta = changed;
    // In the place of the one before all at once.
    const unfinished = `${folder}/${META_FILE}.unfinished`;
    // Whoever else may write to the folder could have put a link there.
    removeIfThere(unfinished);
    Deno.writeTextFileSync(unfinished, encodeMeta(meta), { createNew: true, mode: 0o600 });
    Deno.renameSync(unfinished, `${folder}/${META_FILE}`);
  };
  const note = (name: string, secrets: number) => {
    const known = meta?.scrubbed[name];
    if (meta === undefined || (secrets === 0 && known !== undefined)) return;
    saveMeta({ ...meta, scrubbed: { ...meta.scrubbed, [name]: (known ?? 0) + secrets } });
  };
  const append = (name: string, text: string) =>
    attempt(() => {
      const file = files.get(name);
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; file !== undefined && at < bytes.length;) {
        at += file.writeSync(bytes.subarray(at));
      }
      note(name, text.split(REDACTED).length - 1);
    });
  return {
    get isBegun() {
      return isBegun;
    },
    begin: (header) => {
      isBegun = true;
      attempt(() => {
        const tape = `${folder}/${TAPE_FILE}`;
        files.set(
          TAPE_FILE,
          Deno.openSync(tape, { append: true, createNew: true, mode: 0o600 }),
        );
        saveMeta({
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
      append(CAST_FILE, encodeHeader(header));
    },
    taken: (part, secrets) => attempt(() => note(part, secrets)),
    version: (claudeVersion) =>
      attempt(() => {
        if (meta === undefined || meta.claude_code === claudeVersion) return;
        saveMeta({ ...meta, claude_code: claudeVersion });
      }),
    event: (event) => append(CAST_FILE, encodeEvent(event)),
    entry: (entry) => append(TAPE_FILE, encodeEntry(entry)),
    close: () => {
      for (const file of files.values()) file.close();
      if (failure === undefined) return;
      throw new CliError(`Cannot write the recording: ${(failure as Error).message}`, {
        suggestion: "Give --record a folder on a disk with room",
        cause: failure,
      });
    },
  };
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** A folder that is one recorder's alone. */
interface ClaimedFolder {
  readonly path: string;
  /** Its cast, in which there is nothing yet: whoever has that file's lock has the folder, until it is closed. */
  readonly cast: Deno.FsFile;
  /** Takes away what was made for the recording. */
  readonly giveUp: () => void;
}

const SUGGESTION = "Give --record a folder that does not exist yet, or an empty one";

/**
 * Takes a folder for a recording, which it makes, mode 0700, unless it is there and empty. Of several recorders that come
 * at once one gets it. What a recorder that was killed before its run was started has left, an empty cast without a lock,
 * is as good as nothing.
 *
 * @throws {CliError} when it cannot be had
 */
export function claimFolder(path: string): ClaimedFolder {
  const failed = `Cannot record in ${path}`;
  const isOurs = !isEmptyFolder(path, failed) && isMade(path, failed);
  const castPath = `${path}/${CAST_FILE}`;
  const isLeft = isEmptyFile(castPath);
  let cast: Deno.FsFile;
  try {
    cast = Deno.openSync(castPath, { append: true, createNew: !isLeft, mode: 0o600 });
  } catch (cause) {
    if (cause instanceof Deno.errors.AlreadyExists) throw takenByOther(failed, cause);
    if (isOurs) removeIfEmpty(path);
    throw unwritable(failed, cause);
  }
  // Another one may have had it, and be done with it, since it was looked at.
  if (!isLocked(cast, !isLeft) || !isStillThere(cast, castPath)) {
    cast.close();
    throw takenByOther(failed);
  }
  return {
    path,
    cast,
    giveUp: () => {
      removeIfEmpty(castPath);
      cast.close();
      if (isOurs) removeIfEmpty(path);
    },
  };
}

function takenByOther(failed: string, cause?: unknown): CliError {
  return new CliError(`${failed}: another run has just begun to record there`, {
    suggestion: SUGGESTION,
    cause,
  });
}

/** @param isNew what counts where the file system has no locks: whether this is who has made the file */
function isLocked(file: Deno.FsFile, isNew: boolean): boolean {
  try {
    return file.tryLockSync(true);
  } catch {
    return isNew;
  }
}

/** Whether a file is that at the path, and still has nothing in it. */
function isStillThere(file: Deno.FsFile, path: string): boolean {
  const { dev, ino, size } = file.statSync();
  try {
    const there = Deno.lstatSync(path);
    return size === 0 && there.dev === dev && there.ino === ino;
  } catch {
    return false;
  }
}

/** Makes the folder; false where somebody else has made it by now. */
function isMade(path: string, failed: string): boolean {
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

/** What somebody else has put something into stays, and so does what is gone. */
function removeIfEmpty(path: string): void {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile || size === 0) Deno.removeSync(path);
  } catch {
    // A folder that is not empty cannot be removed.
  }
}

/** Whether there is a file with nothing in it, and no link to one. */
function isEmptyFile(path: string): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size === 0;
  } catch {
    return false;
  }
}

/** Whether nothing is in a folder but what a recorder has made that was killed before its run. */
function isLeftBehind(folder: string, names: readonly Deno.DirEntry[]): boolean {
  return isEmptyFile(`${folder}/${CAST_FILE}`) &&
    names.every(({ name, isDirectory }) =>
      name === CAST_FILE ||
      (name === API_FOLDER && isDirectory &&
        [...Deno.readDirSync(`${folder}/${name}`)].length === 0)
    );
}

/** False when there is no such folder. */
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
