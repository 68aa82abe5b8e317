import type { Owner } from "./owner.ts";
import { parentOf } from "../parent_of.ts";
import { removeEmpty } from "../remove_empty.ts";
import { removeFolder } from "../remove_folder.ts";

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
  if (litter !== undefined) removeEmpty(litter);
  return problem;
}
