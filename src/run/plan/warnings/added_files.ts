/** A file that `--add-dir` names, as the caller has written it, and the folder that it is in. */
export interface AddedFile {
  readonly path: string;
  readonly parent: string;
}

/** What `claude -p` says on stderr of what `--add-dir` names that is no folder. */
export function addedFileWarnings(files: readonly AddedFile[] = []): readonly string[] {
  return files.map(({ path, parent }) =>
    `${path} is not a directory. Did you mean to add the parent directory ${parent}?`
  );
}
