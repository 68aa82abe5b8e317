import { namesIn } from "../../../ffi/files/at_path.ts";
import { folderParts } from "./folder_parts.ts";
import { GIVEN_IDS_FILE } from "./given_ids.ts";
import { NOBODY, type Owner, OWNER_FILE, writeOwner } from "./owner.ts";
import { privateFolderName } from "./private_folder.ts";
import { removeFolder } from "../on_disk.ts";
import { parentOf } from "../paths.ts";

/**
 * Makes of the private folder of a run that is over what a later sweep brings home: its transcripts and whose they are,
 * under a name that tells that nobody works on it any more. Everything else in it is removed.
 *
 * @param path where the folder is now
 * @returns where it is from now on; where it was, if it cannot be renamed: then a sweep after this process's end finds it
 */
export function keepTranscripts(path: string, owner: Owner): string {
  const random = owner.path.slice(owner.path.lastIndexOf("-") + 1);
  const folder = parentOf(path);
  const kept = `${folder}/${privateFolderName({ ...NOBODY, random })}`;
  const { own, configDir } = folderParts(path);
  removeAllBut([own, configDir].map((part) => part.slice(path.length + 1)), path);
  removeAllBut([OWNER_FILE, GIVEN_IDS_FILE], own);
  removeAllBut(["projects"], configDir);
  try {
    const { litter: _, ...rest } = owner;
    writeOwner(path, { ...rest, ...NOBODY, path: kept });
    Deno.renameSync(path, kept);
    return kept;
  } catch {
    return path;
  }
}

/** Removes what is in a folder but for some names; what cannot be removed is in nobody's way. */
function removeAllBut(names: readonly string[], folder: string): void {
  for (const name of namesIn(folder)) {
    if (!names.includes(name)) removeFolder(`${folder}/${name}`);
  }
}
