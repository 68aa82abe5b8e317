import { dirname, resolve } from "node:path";

/**
 * What `claude -p` says on stderr of what `--add-dir` names that is no folder.
 *
 * @param options.addedFiles as the caller has written them
 */
export function addedFileWarnings(
  { addedFiles = [], cwd }: { readonly addedFiles?: readonly string[]; readonly cwd: string },
): readonly string[] {
  return addedFiles.map((file) =>
    `${file} is not a directory. Did you mean to add the parent directory ${
      dirname(resolve(cwd, file))
    }?`
  );
}
