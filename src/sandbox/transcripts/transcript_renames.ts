import { joinedBytes } from "../../joined_bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What is named otherwise at home than in the child's transcripts, as it stands in JSON. */
interface Renames {
  /** The path of what comes home, here and there. */
  readonly moved: { readonly from: Bytes; readonly to: Bytes };
  /** The ids that callers gave prompts, as values of JSON, by those that the child gave them. */
  readonly given: ReadonlyMap<string, Bytes>;
}

/**
 * What is named otherwise at home.
 *
 * @param options.from the child's config dir
 * @param options.to the user's config dir
 * @param options.given the ids that callers gave prompts, by those that the child gave them
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

/** Names everything in bytes as it is at home. */
export function renameAll(bytes: Bytes, names: Renames): Bytes {
  const { pieces, end } = renameIn(bytes, { names, from: 0 });
  return joinedBytes([...pieces, bytes.subarray(end)]);
}

/** The same with bytes that come in portions, wherever one of them ends; the last one is the first that is not full. */
export function* renamePortions(
  portions: Iterable<Bytes>,
  { names, full }: { readonly names: Renames; readonly full: number },
): Generator<Bytes> {
  // The beginning of a name may be at the end of a portion.
  const longest = Math.max(names.moved.from.length, names.given.size === 0 ? 0 : QUOTED + 1);
  let rest: Bytes = new Uint8Array();
  for (const portion of portions) {
    const bytes = rest.length === 0 ? portion : joinedBytes([rest, portion]);
    // What it begins with has been looked at, together with what is before it.
    const { pieces, end } = renameIn(bytes, { names, from: rest.length === 0 ? 0 : 1 });
    const kept = portion.length < full ? bytes.length : Math.max(end, bytes.length - longest + 1);
    yield joinedBytes([...pieces, bytes.subarray(end, kept)]);
    rest = bytes.subarray(kept);
  }
}

/** Bytes up to the end of the last name, in pieces, and where that end is. */
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

/** Where an id has dashes, and how long it is between its quotes. */
const DASHES = [8, 13, 18, 23];
const LENGTH = 36;
const QUOTED = LENGTH + 2;

/** The first id that has another name at home: a whole value of JSON, and no part of a text that quotes one. */
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
 * Where bytes are found in others.
 *
 * @param from where the search begins
 * @returns where they begin, or -1
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
