import { joinedBytes } from "../../joined_bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The texts that are replaced in forwarded transcripts. */
interface Renames {
  /** The child's `projects` path and the user's, encoded as in JSON. */
  readonly moved: { readonly from: Bytes; readonly to: Bytes };
  /** The caller's ids of messages as JSON values, by the child's ids. */
  readonly given: ReadonlyMap<string, Bytes>;
}

/**
 * Prepares the replacements for `renameAll` and `renamePortions`.
 *
 * @param options.from the child's config dir
 * @param options.to the user's config dir
 * @param options.given the caller's ids of messages, by the child's ids
 */
export function buildRenames({ from, to, given = new Map() }: {
  readonly from: string;
  readonly to: string;
  readonly given?: ReadonlyMap<string, string> | undefined;
}): Renames {
  const encoder = new TextEncoder();
  const inJson = (dir: string) => encoder.encode(JSON.stringify(`${dir}/projects/`).slice(1, -1));
  return {
    moved: { from: inJson(from), to: inJson(to) },
    given: new Map(
      [...given].map(([line, id]) => [line, encoder.encode(JSON.stringify(id))] as const),
    ),
  };
}

/** Applies all replacements. */
export function renameAll(bytes: Bytes, names: Renames): Bytes {
  const { pieces, end } = renameIn(bytes, { names, from: 0 });
  return joinedBytes([...pieces, bytes.subarray(end)]);
}

/** Applies them to bytes that come in portions of the size `full`. The last portion is smaller. A match may span two portions. */
export function* renamePortions(
  portions: Iterable<Bytes>,
  { names, full }: { readonly names: Renames; readonly full: number },
): Generator<Bytes> {
  // A match may begin at the end of a portion.
  const longest = Math.max(names.moved.from.length, names.given.size === 0 ? 0 : QUOTED + 1);
  let rest: Bytes = new Uint8Array();
  for (const portion of portions) {
    const bytes = rest.length === 0 ? portion : joinedBytes([rest, portion]);
    // The first byte was already searched with the byte before it.
    const { pieces, end } = renameIn(bytes, { names, from: rest.length === 0 ? 0 : 1 });
    const kept = portion.length < full ? bytes.length : Math.max(end, bytes.length - longest + 1);
    yield joinedBytes([...pieces, bytes.subarray(end, kept)]);
    rest = bytes.subarray(kept);
  }
}

/**
 * Replaces all matches. Returns the new bytes up to the end of the last match, in pieces, and the position of that
 * end in the original bytes.
 */
function renameIn(
  bytes: Bytes,
  { names: { moved, given }, from }: { readonly names: Renames; readonly from: number },
): { readonly pieces: readonly Bytes[]; readonly end: number } {
  const pieces: Bytes[] = [];
  let end = 0;
  let path = indexOfBytes(bytes, moved.from);
  let id = findId(bytes, { given, from });
  while (path >= 0 || id !== undefined) {
    if (id === undefined || (path >= 0 && path < id.at)) {
      pieces.push(bytes.subarray(end, path), moved.to);
      end = path + moved.from.length;
      path = indexOfBytes(bytes, moved.from, end);
    } else {
      pieces.push(bytes.subarray(end, id.at), id.given);
      end = id.at + QUOTED;
      id = findId(bytes, { given, from: end });
    }
  }
  return { pieces, end };
}

const QUOTE = 0x22;
const DASH = 0x2d;
const BACKSLASH = 0x5c;

/** The positions of the dashes in an id, and its length without and with quotes. */
const DASHES = [8, 13, 18, 23];
const LENGTH = 36;
const QUOTED = LENGTH + 2;

/** Finds the first id to replace. It has to be a complete JSON string, not part of a text that quotes one. */
function findId(
  bytes: Bytes,
  { given, from }: { readonly given: Renames["given"]; readonly from: number },
): { readonly at: number; readonly given: Bytes } | undefined {
  if (given.size === 0) return undefined;
  const [first = 0] = DASHES;
  for (let dash = bytes.indexOf(DASH, from); dash >= 0; dash = bytes.indexOf(DASH, dash + 1)) {
    const start = dash - first;
    const at = start - 1;
    const isId = at >= from && bytes[at] === QUOTE && bytes[at - 1] !== BACKSLASH &&
      bytes[start + LENGTH] === QUOTE && DASHES.every((place) => bytes[start + place] === DASH);
    if (!isId) continue;
    const found = given.get(String.fromCharCode(...bytes.subarray(start, start + LENGTH)));
    if (found !== undefined) return { at, given: found };
  }
  return undefined;
}

/**
 * Finds bytes in others.
 *
 * @param from the position at which the search begins
 * @returns the position of the first match, or -1
 */
export function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from = 0): number {
  const [first] = wanted;
  if (first === undefined) return from;
  const last = bytes.length - wanted.length;
  for (let at = bytes.indexOf(first, from); at >= 0 && at <= last;) {
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
    at = bytes.indexOf(first, at + 1);
  }
  return -1;
}
