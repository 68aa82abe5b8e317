import type { Owner } from "./owner.ts";

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

/**
 * Why something of such a name is no private folder of this user's, if it is none. It is not followed if it is a link:
 * what others may have put there is theirs.
 *
 * @throws {Deno.errors.NotFound} when there is nothing
 */
export function whyForeign(path: string): string | undefined {
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  if (!isDirectory) return "it is no folder";
  if (uid !== Deno.uid()) return "it is another user's";
  return ((mode ?? 0) & 0o777) === 0o700 ? undefined : "others may enter it";
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
