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

/** Where a run's private folder may be, and what is to come home from it. */
export interface RunFolderOptions {
  /** The places where runs may have their private folders, `TMPDIR` first. */
  readonly places: readonly [string, ...string[]];
  /** What `XDG_RUNTIME_DIR` names, if anything. */
  readonly runtimeDir?: string | undefined;
  /** Real paths of the working directory, of the root of its git repository, and of every added directory. */
  readonly folders: readonly string[];
  /** Real paths of all folders that the run's tools may write to. */
  readonly writable: readonly string[];
  /** The session that is to come home, and the user's config dir; absent when nothing is to be kept of it. */
  readonly session?: { readonly id: string; readonly configDir: string };
}

/**
 * Makes the private folder of a run in `TMPDIR`, or where the run's tools cannot write if they can write there. Nobody
 * else can read it, and there is nothing in it but whose it is.
 *
 * @throws {CliError} when it cannot be made
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
 * The run's folder, in the first place that will do.
 *
 * @param options.tmp `TMPDIR`
 * @param options.litter what Claude Code may make elsewhere
 */
function makeInFirst(
  candidates: readonly string[],
  { tmp, litter, session }:
    & { readonly tmp: string; readonly litter: readonly string[] }
    & Pick<RunFolderOptions, "session">,
): Owner {
  const found = litter.filter((path) => fileAt(path) !== undefined);
  // What another run has made, or will, may be there after its end because of this one.
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
      // Who names a folder is told what is wrong with it, unless another user keeps us out of there.
      if (place === tmp && !(cause instanceof ForeignFolderError)) break;
    }
  }
  throw failure;
}

/** Refuses, as ssh(1) and sudo(8) do, a place where another user could put a folder of theirs in the place of ours. */
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
 * The folder in a path that lets every user rename what is in it, and so put something else in its place: writable by
 * all, without the sticky bit, and not behind a folder that others cannot enter.
 *
 * Whoever owns a folder of the path, or belongs to a group that may write there, is trusted, as `TMPDIR` names it.
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
 * Removes a run's private folder, the folder of runs if there is no other run, and what the run left elsewhere.
 *
 * @returns why the private folder could not be removed, if it could not
 */
export function removeRunFolder(
  { path, litter }: Pick<Owner, "path" | "litter">,
): Error | undefined {
  const problem = removeFolder(path);
  removeEmpty(parentOf(path));
  for (const each of litter ?? []) removeEmpty(each);
  return problem;
}

/** A private folder that has a session whose transcript is not at home yet. */
interface SessionHolder {
  readonly path: string;
  /** The process whose run goes on in it; absent when the run is over and its transcript could not be brought home. */
  readonly pid?: number;
}

/** Whose session is looked for, and where. */
interface SessionHolderOptions {
  /** The user's config dir that the session belongs to. */
  readonly configDir: string;
  /** The run that looks for it: only who began before it counts. */
  readonly before: Owner;
  /** The places where runs may have their private folders. */
  readonly places: readonly string[];
}

/**
 * Finds the run that has a session, or had it and could not bring it home.
 *
 * Two runs that begin with one session at the same moment may both find nobody, as two `claude -p` do; their
 * transcripts come home into one file then.
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

/** Whether a run began before another one, in an order that is the same for both. */
function beganBefore(owner: Owner, other: Owner): boolean {
  const [one = 0, two = 0] = [owner.session?.since, other.session?.since];
  return one < two || (one === two && owner.path < other.path);
}

/**
 * Refuses a session that another run has: a sandbox knows no other sessions, so Claude Code itself would not notice that
 * the id is taken.
 *
 * @param owner whose session it is to be; without one there is nothing to refuse
 * @throws {CliError} when another run has it, or had it and could not bring it home
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

/** What is to be done about a session that another run has. */
export function holderAdvice({ path, pid }: SessionHolder): string {
  return pid === undefined
    ? `Its transcript is still in ${path}: bring it home with claude-print sweep`
    : `Wait for the run that has it, process ${pid}`;
}
