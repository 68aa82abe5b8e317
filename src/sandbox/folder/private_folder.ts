import { folderParts } from "./folder_parts.ts";
import { type OwnedSession, type Owner, thisOwner, writeOwner } from "./owner.ts";
import { removeEmpty, removeFolder } from "../on_disk.ts";
import { parentOf } from "../paths.ts";
import { folderOfRuns, makeFolderIn } from "../places/folder_of_runs.ts";

/** Pid and start time of the owner, and what is kept of the name when another process takes the folder over. */
export interface PrivateFolderName extends Pick<Owner, "pid" | "startTime"> {
  /** Eight characters that nobody can guess. */
  readonly random: string;
}

const NAME = /^(\d+)-(\d+)-([0-9a-f]{8})$/u;

/** The name of a run's private folder, which tells its owner before anything in it is read. */
export function privateFolderName({ pid, startTime, random }: PrivateFolderName): string {
  return `${pid}-${startTime}-${random}`;
}

/** What such a name says; `undefined` for all other names. */
export function parsePrivateFolderName(name: string): PrivateFolderName | undefined {
  const [, pid, startTime = "", random = ""] = NAME.exec(name) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startTime, random };
}

/** Whether there are files in a folder of a private folder, or in a folder of that; links are none. */
export function holdsFiles(folder: string): boolean {
  try {
    return [...Deno.readDirSync(folder)].some(({ name, isFile, isDirectory }) =>
      isFile || (isDirectory && holdsFiles(`${folder}/${name}`))
    );
  } catch {
    return false;
  }
}

/** How many characters of a folder's name nobody can guess. */
const RANDOM_LENGTH = 8;

/**
 * A folder named with pid and start time of its owner, whose file is the first thing in it.
 *
 * @param place where it is made: `TMPDIR` or another place for the folder of runs
 * @param options.session the session that is to come home from it
 * @param options.litter what the run may leave elsewhere
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
