import { namesIn } from "../../../ffi/files/at_path.ts";
import { foldersOfRuns } from "../places/folder_of_runs.ts";
import { whyForeign } from "../places/why_foreign.ts";
import { type Owner, readOwner } from "./owner.ts";
import { parsePrivateFolderName } from "./private_folder.ts";

/** A run's private folder, and whose it is. */
export interface OwnedFolder {
  readonly path: string;
  readonly owner: Owner;
}

/** The private folders of this user's runs in some places, as far as they say whose they are. */
export function ownedFoldersIn(places: readonly string[]): readonly OwnedFolder[] {
  return places.flatMap(privateFoldersIn).filter(isOurs).flatMap((path) => {
    const owner = readOwner(path);
    return typeof owner === "object" ? [{ path, owner }] : [];
  });
}

function isOurs(path: string): boolean {
  try {
    return whyForeign(path) === undefined;
  } catch {
    // It has been removed since.
    return false;
  }
}

function privateFoldersIn(place: string): readonly string[] {
  return foldersOfRuns(place).flatMap((runs) =>
    namesIn(runs).filter((name) => parsePrivateFolderName(name) !== undefined)
      .map((name) => `${runs}/${name}`)
  );
}
