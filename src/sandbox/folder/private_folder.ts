import { folderParts } from "./folder_layout.ts";
import {
  NO_PROCESS,
  type OwnedSession,
  type Owner,
  OWNER_FILE,
  readOwner,
  thisOwner,
  writeOwner,
} from "./owner.ts";
import { removeEmpty, removeFolder } from "../remove_folder.ts";
import { parentOf } from "../../paths.ts";
import { folderOfRuns, foldersOfRuns, makeFolderIn, whyForeign } from "./run_places.ts";
import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { ERRNO } from "../../../ffi/errno.ts";
import { CliError } from "../../cli_error.ts";

/** The parts of a private folder's name. A process that claims the folder keeps the random part. */
export interface PrivateFolderName extends Pick<Owner, "pid" | "startTime"> {
  /** Eight random characters. */
  readonly random: string;
}

const NAME = /^(\d+)-(\d+)-([0-9a-f]{8})$/u;

/** Returns the name of a private folder. It names the owner's process. */
export function privateFolderName({ pid, startTime, random }: PrivateFolderName): string {
  return `${pid}-${startTime}-${random}`;
}

/** Parses such a name; undefined for other names. */
export function parsePrivateFolderName(name: string): PrivateFolderName | undefined {
  const [, pid, startTime = "", random = ""] = NAME.exec(name) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startTime, random };
}

/** Whether a folder contains a file, at any depth. Links do not count. */
export function containsFiles(folder: string): boolean {
  try {
    return [...Deno.readDirSync(folder)].some(({ name, isFile, isDirectory }) =>
      isFile || (isDirectory && containsFiles(`${folder}/${name}`))
    );
  } catch {
    return false;
  }
}

/** The number of random characters in a folder's name. */
const RANDOM_LENGTH = 8;

/**
 * Makes a private folder of this process and writes the owner's file.
 *
 * @param place the place of the folder of runs, for example `TMPDIR`
 * @param options.session the session whose transcript is forwarded
 * @param options.litter folders that the run may leave elsewhere
 */
export function makePrivateFolder(
  place: string,
  { session, litter }: {
    readonly session?: Omit<OwnedSession, "since">;
    readonly litter?: readonly string[];
  } = {},
): Owner {
  const self = thisOwner();
  const random = crypto.randomUUID().slice(0, RANDOM_LENGTH);
  const path = makeFolderIn(folderOfRuns(place), privateFolderName({ ...self, random }));
  const owner = {
    ...self,
    path,
    ...(litter === undefined ? {} : { litter }),
    ...(session === undefined ? {} : {
      session: { ...session, since: performance.timeOrigin + performance.now() },
    }),
  };
  try {
    Deno.mkdirSync(folderParts(path).own, { mode: 0o700 });
    writeOwner(path, owner);
  } catch (error) {
    removeFolder(path);
    removeEmpty(parentOf(path));
    throw error;
  }
  return owner;
}

/** A private folder and its owner. */
interface OwnedFolder {
  readonly path: string;
  readonly owner: Owner;
}

/** Lists the private folders of this user in some places that have an owner's file. */
export function listOwnedFolders(places: readonly string[]): readonly OwnedFolder[] {
  return places.flatMap(privateFoldersIn).filter(isOurs).flatMap((path) => {
    const owner = readOwner(path);
    return typeof owner === "object" ? [{ path, owner }] : [];
  });
}

function isOurs(path: string): boolean {
  try {
    return whyForeign(path) === undefined;
  } catch {
    // It was removed meanwhile.
    return false;
  }
}

function privateFoldersIn(place: string): readonly string[] {
  return foldersOfRuns(place).flatMap((runs) =>
    namesIn(runs).filter((name) => parsePrivateFolderName(name) !== undefined)
      .map((name) => `${runs}/${name}`)
  );
}

/** The maximum size of a file, in bytes. */
const LIMIT = 16_000_000;

/** The file of the ids that the caller gave, in the closed part of the folder. */
const GIVEN_IDS_FILE = "given-ids";

/**
 * Records that the transcript's `line` is the message to which the caller gave the id `given`. After a SIGKILL a sweep needs
 * this file. Each note is written as soon as the child's own id is known, by one write(2) that begins with a line feed, so
 * that a note cut off by a full disk does not damage the next one.
 */
export function noteGivenId(
  folder: string,
  { line, given }: { readonly line: string; readonly given: string },
): void {
  const path = `${folderParts(folder).own}/${GIVEN_IDS_FILE}`;
  Deno.writeTextFileSync(path, `\n${JSON.stringify([line, given])}\n`, {
    append: true,
    mode: 0o600,
  });
}

/** Reads the recorded ids of the caller, by the ids of the transcript. Ignores incomplete notes. */
export function givenIdsOf(folder: string): ReadonlyMap<string, string> {
  return new Map(readGivenIds(folder).split("\n").flatMap(parsePair));
}

function readGivenIds(folder: string): string {
  try {
    const path = `${folderParts(folder).own}/${GIVEN_IDS_FILE}`;
    return new TextDecoder().decode(readRegularFile(path, { limit: LIMIT }));
  } catch {
    // Without notes, lines keep the ids of the transcript.
    return "";
  }
}

function parsePair(text: string): readonly (readonly [string, string])[] {
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return [];
    const [line, given]: readonly unknown[] = value;
    return typeof line === "string" && typeof given === "string" ? [[line, given]] : [];
  } catch {
    return [];
  }
}

/**
 * Removes everything in the private folder of an ended run except its transcripts and its owner's file, and renames the
 * folder so that a later sweep forwards the transcripts.
 *
 * @param path the folder's current path
 * @returns the new path; the old one if it cannot be renamed. Then a sweep finds it after the end of this process
 */
export function keepTranscripts(path: string, owner: Owner): string {
  const random = owner.path.slice(owner.path.lastIndexOf("-") + 1);
  const folder = parentOf(path);
  const kept = `${folder}/${privateFolderName({ ...NO_PROCESS, random })}`;
  const { own, configDir } = folderParts(path);
  removeAllBut([own, configDir].map((part) => part.slice(path.length + 1)), path);
  removeAllBut([OWNER_FILE, GIVEN_IDS_FILE], own);
  removeAllBut(["projects"], configDir);
  try {
    const { litter: _, ...rest } = owner;
    writeOwner(path, { ...rest, ...NO_PROCESS, path: kept });
    Deno.renameSync(path, kept);
    return kept;
  } catch {
    return path;
  }
}

/** Removes everything in a folder except some names, as far as possible. */
function removeAllBut(names: readonly string[], folder: string): void {
  for (const name of namesIn(folder)) {
    if (!names.includes(name)) removeFolder(`${folder}/${name}`);
  }
}

/**
 * Returns the error for a private folder that cannot be made or filled.
 *
 * @param action what failed, such as "Cannot create a private folder in /tmp"
 * @param options.suggestion the remedy, unless the cause has its own
 */
export function folderFailure(
  action: string,
  { suggestion, cause }: { readonly suggestion: string; readonly cause: unknown },
): CliError {
  return new CliError(`${action}: ${reasonOf(cause)}`, {
    suggestion: remedyOf(cause) ?? suggestion,
    cause,
  });
}

/** The error for a private folder that cannot be made. A `CliError` stays as it is. */
export function privateFolderFailure(tmp: string, cause: unknown): CliError {
  return cause instanceof CliError
    ? cause
    : folderFailure(`Cannot create a private folder in ${tmp}`, {
      suggestion: "Set TMPDIR to a folder you can write to",
      cause,
    });
}

/** The remedy for a limit of file sizes. Another place would not help. */
function remedyOf(cause: unknown): string | undefined {
  return cause instanceof Error && cause.message.includes(`(os error ${ERRNO.EFBIG})`)
    ? "Raise the limit of the size of files: ulimit -f"
    : undefined;
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (cause instanceof Deno.errors.NotFound || cause instanceof Deno.errors.NotADirectory) {
    return "no such folder";
  }
  if (cause instanceof Deno.errors.NotCapable) {
    return "Deno does not let this program write there";
  }
  return cause instanceof Error ? cause.message : String(cause);
}
