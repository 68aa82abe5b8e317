import { folderOfRuns, makeFolderIn } from "../places/folder_of_runs.ts";
import { partsOf } from "./folder_parts.ts";
import { type OwnedSession, type Owner, thisOwner, writeOwner } from "./owner.ts";
import { parentOf } from "../parent_of.ts";
import { privateFolderName } from "./private_folder.ts";
import { removeEmpty } from "../remove_empty.ts";
import { removeFolder } from "../remove_folder.ts";

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
    readonly litter?: string;
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
    Deno.mkdirSync(partsOf(path).own, { mode: 0o700 });
    writeOwner(path, owner);
  } catch (error) {
    removeFolder(path);
    removeEmpty(parentOf(path));
    throw error;
  }
  return owner;
}
