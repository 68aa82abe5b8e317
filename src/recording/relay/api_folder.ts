import { entryAt, fileAt } from "../../../ffi/files/at_path.ts";
/** The cassette of a further Claude Code, in the folder of the first one of its conversation. */
const FURTHER = /^(.*)\/([2-9]|[1-9]\d+)$/u;

/**
 * The folder in which the exchanges of a cassette are: its own, unless it is that of a further Claude Code in a
 * conversation, whose exchanges are with those of the first one.
 */
export function apiFolder(cassette: string): string {
  const own = `${cassette}/api`;
  if (fileAt(own)?.isDirectory === true) return own;
  const first = furtherOf(cassette)?.first;
  return first === undefined ? own : `${first}/api`;
}

/** Which Claude Code of a conversation a cassette is of, and that of the first one; nothing where it may be that itself. */
export function furtherOf(
  cassette: string,
): { readonly first: string; readonly number: number } | undefined {
  const [, first, number] = FURTHER.exec(realPath(cassette) ?? "") ?? [];
  // A folder of that name may be below any folder `api`.
  const isFurther = first !== undefined && fileAt(`${first}/api`)?.isDirectory === true &&
    ["child.cast", "tape.jsonl"].some((part) => entryAt(`${first}/${part}`)?.isFile === true);
  return isFurther ? { first, number: Number(number) } : undefined;
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}
