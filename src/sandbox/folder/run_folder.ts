import { fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import {
  containsFiles,
  listOwnedFolders,
  makePrivateFolder,
  privateFolderFailure,
} from "./private_folder.ts";
import { judgeOwner, litterOf, type Owner } from "./owner.ts";
import { removeEmpty, removeFolder } from "../remove_folder.ts";
import { absoluteDir, parentOf } from "../../paths.ts";
import { ForeignFolderError, orderPlaces } from "./run_places.ts";
import { folderParts } from "./folder_layout.ts";

/** Options of `makeRunFolder`. */
export interface RunFolderOptions {
  /** The places where runs may have their private folders, `TMPDIR` first. */
  readonly places: readonly [string, ...string[]];
  /** The value of `XDG_RUNTIME_DIR`, if any. */
  readonly runtimeDir?: string | undefined;
  /** Real paths of the working directory, of the root of its git repository, and of every added directory. */
  readonly folders: readonly string[];
  /** Real paths of all folders that the run's tools may write to. */
  readonly writable: readonly string[];
  /** The session whose transcript is forwarded, and the user's config dir; absent if the session is not kept. */
  readonly session?: { readonly id: string; readonly configDir: string };
}

/**
 * Makes the private folder of a run, with only the owner's file in it. It is in `TMPDIR`, or in another place if the run's
 * tools can write to `TMPDIR`. Other users cannot read it.
 *
 * @throws {CliError} if it cannot be made
 */
export function makeRunFolder(
  { places, runtimeDir, session, ...reach }: RunFolderOptions,
): Owner {
  const [tmp] = places;
  try {
    return makeInFirst(orderPlaces(places, reach), {
      tmp,
      litter: litterOf({ tmp, runtimeDir }),
      ...(session === undefined
        ? {}
        : { session: { ...session, configDir: absoluteDir(session.configDir) } }),
    });
  } catch (cause) {
    throw privateFolderFailure(tmp, cause);
  }
}

/**
 * Makes the folder in the first place where that works.
 *
 * @param options.tmp `TMPDIR`
 * @param options.litter folders that Claude Code may make elsewhere
 */
function makeInFirst(
  candidates: readonly string[],
  { tmp, litter, session }:
    & { readonly tmp: string; readonly litter: readonly string[] }
    & Pick<RunFolderOptions, "session">,
): Owner {
  const found = litter.filter((path) => fileAt(path) !== undefined);
  // A folder that another run owns too: the last of the runs has to remove it.
  const ofRuns = found.length === 0
    ? []
    : listOwnedFolders(candidates).flatMap(({ owner }) => owner.litter ?? []);
  let failure: unknown;
  for (const place of candidates) {
    try {
      refuseOpenFolder(place);
      return makePrivateFolder(place, {
        ...(session === undefined ? {} : { session }),
        litter: litter.filter((path) => !found.includes(path) || ofRuns.includes(path)),
      });
    } catch (cause) {
      failure = cause;
      // A problem of the folder that the user chose is reported, unless another user causes it.
      if (place === tmp && !(cause instanceof ForeignFolderError)) break;
    }
  }
  throw failure;
}

/** Refuses a place where another user could replace our folder, as ssh(1) and sudo(8) do. */
function refuseOpenFolder(tmp: string): void {
  const open = findOpenFolder(tmp);
  if (open === undefined) return;
  throw new CliError(
    `Cannot create a private folder in ${tmp}: every user can rename what is in ${open}`,
    { suggestion: `Set its sticky bit: chmod +t ${open}, or set TMPDIR to a folder of your own` },
  );
}

const OTHERS_WRITE = 0o002;
const OTHERS_ENTER = 0o001;
const STICKY = 0o1000;

/**
 * Finds the folder on a path in which every user can rename entries: writable by all, without the sticky bit, and not
 * inside a folder that others cannot enter.
 *
 * The owners of the folders on the path, and groups that may write there, are trusted, because the user chose `TMPDIR`.
 *
 * @param path absolute and without links
 */
function findOpenFolder(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "");
  const folders = names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
  for (const folder of ["/", ...folders]) {
    const { isDirectory, mode: found } = Deno.statSync(folder);
    const mode = found ?? 0;
    if (!isDirectory) return undefined;
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) return folder;
    if ((mode & OTHERS_ENTER) === 0) return undefined;
  }
  return undefined;
}

/**
 * Removes a run's private folder, the folder of runs if it is empty, and folders that the run left elsewhere.
 *
 * @returns the error if the private folder could not be removed
 */
export function removeRunFolder(
  { path, litter }: Pick<Owner, "path" | "litter">,
): Error | undefined {
  const problem = removeFolder(path);
  removeEmpty(parentOf(path));
  for (const each of litter ?? []) removeEmpty(each);
  return problem;
}

/** A private folder with a session whose transcript is not completely forwarded. */
interface SessionHolder {
  readonly path: string;
  /** The process of the run; absent if the run has ended and could not forward the transcript. */
  readonly pid?: number;
}

/** Options of `findSessionHolder`. */
interface SessionHolderOptions {
  /** The user's config dir that the session belongs to. */
  readonly configDir: string;
  /** The run that searches. Only runs that began before it are considered. */
  readonly before: Owner;
  /** The places where runs may have their private folders. */
  readonly places: readonly string[];
}

/**
 * Finds the run that has a session, or that had it and could not forward its transcript.
 *
 * If two runs begin with one session at the same moment, both may find nothing, as with two `claude -p`. Then their
 * transcripts are forwarded to one file.
 */
export function findSessionHolder(
  id: string,
  { configDir, before, places }: SessionHolderOptions,
): SessionHolder | undefined {
  const home = absoluteDir(configDir);
  for (const { path, owner } of listOwnedFolders(places)) {
    if (owner.session === undefined) continue;
    if (owner.session.id !== id || owner.session.configDir !== home) continue;
    if (!beganBefore(owner, before)) continue;
    const state = judgeOwner(owner);
    if (state === "live") return { path, pid: owner.pid };
    if (state === "dead" && containsFiles(`${folderParts(path).configDir}/projects`)) {
      return { path };
    }
  }
  return undefined;
}

/**
 * Whether a run began before another one. Runs that began at the same time are ordered by path, so exactly one of two
 * is first.
 */
function beganBefore(owner: Owner, other: Owner): boolean {
  const [one = 0, two = 0] = [owner.session?.since, other.session?.since];
  return one < two || (one === two && owner.path < other.path);
}

/**
 * Refuses a session that another run has. Claude Code itself would not notice, because it sees only its own sandbox.
 *
 * @param owner the run that wants the session
 * @throws {CliError} if another run has it, or had it and could not forward its transcript
 */
export function refuseHeldSession(owner: Owner, places: readonly string[]): void {
  if (owner.session === undefined) return;
  const { id, configDir } = owner.session;
  const holder = findSessionHolder(id, { configDir, before: owner, places });
  if (holder === undefined) return;
  throw new CliError(`Error: Session ID ${id} is already in use.`, {
    suggestion: `${holderAdvice(holder)}, or give another --session-id`,
    failedBeforeStart: true,
  });
}

/** Returns what the user can do about a session that another run has. */
export function holderAdvice({ path, pid }: SessionHolder): string {
  return pid === undefined
    ? `Its transcript is still in ${path}: move it with claude-print sweep`
    : `Wait for the run that has it, process ${pid}`;
}
