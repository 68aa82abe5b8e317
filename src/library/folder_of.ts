import { absolutePath } from "../sandbox/absolute_path.ts";
import { currentFolder } from "../run/facts/current_folder.ts";

/**
 * The working directory that a program names, as a path from the root.
 *
 * @throws {CliError} when there is none to work in
 */
export function folderOf(cwd: string | undefined): string {
  if (cwd?.startsWith("/")) return cwd;
  const current = currentFolder('Name a folder with "cwd"');
  return cwd === undefined ? current : absolutePath(cwd, current);
}
