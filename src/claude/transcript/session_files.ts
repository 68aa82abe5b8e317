const MAXIMUM_LENGTH = 200;

/**
 * Names the folder under `projects/` in which Claude Code keeps the transcripts of a directory.
 *
 * Every UTF-16 unit outside `[A-Za-z0-9]` becomes `-`. A name longer than 200 units is cut there and
 * gets `-` and a hash of the whole path. Checked against Claude Code 2.1.330.
 *
 * @param directory the real path (symbolic links resolved) of the child's working directory
 */
export function projectSlug(directory: string): string {
  const slug = directory.replace(/[^A-Za-z0-9]/g, "-");
  return slug.length <= MAXIMUM_LENGTH
    ? slug
    : `${slug.slice(0, MAXIMUM_LENGTH)}-${hash(directory)}`;
}

function hash(text: string): string {
  let value = 0;
  for (let index = 0; index < text.length; index++) {
    value = (Math.imul(value, 31) + text.charCodeAt(index)) | 0;
  }
  return Math.abs(value).toString(36);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;

/** Whether a value can be a session's id. Ids become parts of paths and arguments. */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}
