import { entryAt } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { parentOf } from "../../paths.ts";
import { buildRenames, indexOfBytes, renameAll, renamePortions } from "./transcript_renames.ts";
import { readTranscript } from "./read_transcript.ts";

/** What is forwarded from where to where. */
export interface ForwardOptions {
  /** The child's config dir. */
  readonly from: string;
  /** Its path as the child knew it, where the folder has been renamed since. */
  readonly known?: string;
  /** The user's config dir. */
  readonly to: string;
  /** Bytes that were copied in before the run, by path below `projects/`: only what follows them is new. */
  readonly resumed: Readonly<Record<string, number>>;
  /** How far earlier calls have forwarded each file while the child ran, by path below `projects/`. */
  readonly brought?: Readonly<Record<string, Brought>>;
  /** The ids that callers gave messages, by the child's ids. Forwarded transcripts have the callers' ids. */
  readonly given?: ReadonlyMap<string, string>;
  /**
   * Given while the child goes on: only transcripts and notes of subagents come home, in whole lines, and stay here too.
   * Of the session's own nothing is taken behind the line with this id, if there is one: what that says of ids is not
   * known yet.
   */
  readonly goesOn?: { readonly upTo?: string | undefined };
}

/** How far a file is forwarded: bytes of the child's file, and the position in the user's file after which the next bytes go. */
interface Brought {
  readonly here: number;
  readonly there: number;
}

/** The result of forwarding. */
export interface Forwarded {
  /** How many files were forwarded: new ones, and resumed ones that have grown. */
  readonly files: number;
  /** How many could not be forwarded, and are still in the child's config dir. */
  readonly left: number;
  /** A sentence for each failure. */
  readonly failures: readonly string[];
  /** How far each file is forwarded, if the child still runs. */
  readonly brought?: Readonly<Record<string, Brought>>;
}

/**
 * Brings what the child wrote below `projects/` home: transcripts, subagents' transcripts, memory. `claude --resume` and
 * usage statistics then see the run as one of the user's sessions. All is as the child wrote it, byte for byte, but in lines
 * of transcripts for paths of what has come home, so that a session that goes on finds there what the model was told of,
 * and for the ids of prompts to which callers gave others, which `claude -p` writes down (2.1.330).
 * What has come home is removed here.
 *
 * A file comes home whole or not at all, and takes nobody's place: what is new in a resumed transcript is appended to
 * it, and so is all of one whose session has a transcript there since, as two `claude -p` with one `--session-id` at
 * once append to one file (2.1.330). Only what is noted of a resumed subagent is written anew, as Claude
 * Code does when the subagent goes on. What an earlier call brought home already, whole or in part, is not brought twice.
 * As `claude -p` writes there as it goes on, so may what is new come home before the child's end.
 */
export function forwardTranscripts(options: ForwardOptions): Forwarded {
  const failures: string[] = [];
  let files = 0;
  let left = 0;
  const brought: Record<string, Brought> = { ...options.brought };
  const attempt = (path: string, action: () => void) => {
    try {
      action();
    } catch (error) {
      left++;
      failures.push(
        `Cannot copy the transcript to ${options.to}/projects/${path}: ${reasonOf(error)}`,
      );
    }
  };
  const visit = (path: string, places: Places) => {
    for (const entry of Deno.readDirSync(`${options.from}/projects/${path}`)) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory) attempt(inner, () => visit(inner, places));
      if (entry.isFile) {
        attempt(inner, () => {
          if (options.goesOn === undefined) {
            if (forwardFile(inner, { ...options, place: places[inner] })) files++;
            return;
          }
          const place = forwardSoFar(inner, {
            ...options,
            ...options.goesOn,
            place: places[inner],
          });
          if (place === undefined) return;
          brought[inner] = place;
          files++;
        });
      } else if (inner.endsWith(".jsonl")) {
        failures.push(`Cannot bring the transcript ${inner} home: it is no regular file`);
      }
    }
  };
  try {
    // Where a tool has put a link, what it leads to is no transcript.
    if (!Deno.lstatSync(`${options.from}/projects`).isDirectory) {
      failures.push("Cannot read the child's transcripts: their folder is no folder");
      return { files, left, failures };
    }
  } catch (error) {
    // A run that never got to a prompt has no projects folder.
    if (error instanceof Deno.errors.NotFound) return { files, left, failures };
  }
  attempt("", () => visit("", applyMoves(options)));
  return { files, left, failures, ...(options.goesOn === undefined ? {} : { brought }) };
}

/** How far files are home, by their paths below `projects/`. */
type Places = Readonly<Record<string, Brought>>;

/**
 * Moves a resumed session in the user's config dir as 2.1.330 has moved the child's: when a turn enters or leaves a
 * worktree, the session goes to the project of that folder.
 *
 * @returns how far files are home, by where they are now
 */
function applyMoves({ from, to, resumed, brought }: ForwardOptions): Places {
  const slugs = [...Deno.readDirSync(`${from}/projects`)].map(({ name }) => name);
  const copied = Object.entries(resumed).map(([path, size]) =>
    [path, { here: size, there: size }] as const
  );
  const places: Places = { ...Object.fromEntries(copied), ...brought };
  let moved = Object.entries(places);
  for (const path of Object.keys(places)) {
    // A project's name has no slash and no dot, so that the path cannot lead elsewhere.
    const [, old = "", session] = /^([A-Za-z0-9-]+)\/([^/]+)\.jsonl$/u.exec(path) ?? [];
    if (session === undefined || entryAt(`${from}/projects/${path}`) !== undefined) continue;
    const slug = slugs.find((each) =>
      places[`${each}/${session}.jsonl`] === undefined &&
      entryAt(`${from}/projects/${each}/${session}.jsonl`) !== undefined
    );
    if (slug === undefined) continue;
    for (const name of [`${session}.jsonl`, session]) {
      const target = `${to}/projects/${slug}/${name}`;
      if (entryAt(`${to}/projects/${old}/${name}`) === undefined || entryAt(target) !== undefined) {
        continue;
      }
      Deno.mkdirSync(`${to}/projects/${slug}`, { recursive: true, mode: 0o700 });
      Deno.renameSync(`${to}/projects/${old}/${name}`, target);
    }
    const isOfSession = (each: string) => each === path || each.startsWith(`${old}/${session}/`);
    moved = moved.map(([each, place]) => [
      isOfSession(each) ? `${slug}${each.slice(old.length)}` : each,
      place,
    ]);
  }
  return Object.fromEntries(moved);
}

/** One file that comes home, and how far it is there. */
type OneFile = Pick<ForwardOptions, "from" | "known" | "to" | "given"> & {
  readonly place: Brought | undefined;
};

/** Brings one file home; false if there was nothing new in it. */
function forwardFile(path: string, { from, known = from, to, place, given }: OneFile): boolean {
  const source = `${from}/projects/${path}`;
  const target = `${to}/projects/${path}`;
  const isNew = create(target);
  // Behind a whole value, JSON has no more.
  if (!isNew && place !== undefined && path.endsWith(".json")) {
    const isChanged = replace(target, { source, known: place.here });
    remove(source);
    return isChanged;
  }
  let count = 0;
  try {
    const names = path.endsWith(".jsonl") ? buildRenames({ from: known, to, given }) : undefined;
    if (isNew) {
      const portions = portionsOf(source);
      const missing = names === undefined
        ? portions
        : renamePortions(portions, { names, full: PORTION });
      count = append(target, missing);
    } else {
      const bytes = readTranscript(source, { from: place?.here ?? 0 });
      const there = { target, known: place?.there };
      count = append(target, [
        findMissing(names === undefined ? bytes : renameAll(bytes, names), there),
      ]);
    }
  } catch (error) {
    if (isNew) removeEmpty(target);
    throw error;
  }
  remove(source);
  return count > 0;
}

/**
 * Brings home what is new in a file to which the child goes on writing.
 *
 * @returns how far it is home now; undefined if it is as far as it was
 */
function forwardSoFar(
  path: string,
  { from, known = from, to, place, given, upTo }: OneFile & ForwardOptions["goesOn"],
): Brought | undefined {
  const source = `${from}/projects/${path}`;
  const target = `${to}/projects/${path}`;
  if (path.endsWith(".json")) return forwardNote({ source, target, place });
  if (!path.endsWith(".jsonl")) return undefined;
  const here = place?.here ?? 0;
  const read = readTranscript(source, { from: here });
  const isOwn = /^[^/]+\/[^/]+$/u.test(path);
  const bytes = read.subarray(0, isOwn ? endOfLine(read, upTo) : endOfLine(read));
  if (bytes.length === 0) return undefined;
  const isNew = create(target);
  try {
    // Somebody may have removed what was home already.
    const all = isNew && here > 0 ? readTranscript(source, { most: here + bytes.length }) : bytes;
    const told = renameAll(all, buildRenames({ from: known, to, given }));
    append(target, [isNew ? told : findMissing(told, { target, known: place?.there })]);
  } catch (error) {
    if (isNew) removeEmpty(target);
    throw error;
  }
  return { here: here + bytes.length, there: Deno.statSync(target).size };
}

/** Brings home what is noted of a subagent, whole. */
function forwardNote(
  { source, target, place }: {
    readonly source: string;
    readonly target: string;
    readonly place: Brought | undefined;
  },
): Brought | undefined {
  const bytes = readTranscript(source);
  if (bytes.length === place?.here || bytes.at(-1) !== CLOSING) return undefined;
  const isNew = create(target);
  if (isNew) append(target, [bytes]);
  else if (place === undefined) return undefined;
  else replace(target, { source, known: place.here });
  return { here: bytes.length, there: bytes.length };
}

/** The end of the last complete line, or of the line with an id; 0 if there is none. */
function endOfLine(bytes: Bytes, id?: string): number {
  if (id === undefined) return bytes.lastIndexOf(NEWLINE) + 1;
  const key = new TextEncoder().encode(`"uuid":${JSON.stringify(id)}`);
  const at = indexOfBytes(bytes, key);
  return at < 0 ? 0 : bytes.indexOf(NEWLINE, at) + 1;
}

/** How many bytes of a new file are in memory at a time. */
const PORTION = 128_000;

type Bytes = Uint8Array<ArrayBuffer>;

function* portionsOf(path: string): Generator<Bytes> {
  for (let from = 0;; from += PORTION) {
    const bytes = readTranscript(path, { from, most: PORTION });
    yield bytes;
    if (bytes.length < PORTION) return;
  }
}

/**
 * Puts a file in the place of the one that it was copied from, if it has another size by now: where it has not, others
 * may have changed that one.
 */
function replace(
  target: string,
  { source, known }: { readonly source: string; readonly known: number },
): boolean {
  const bytes = readTranscript(source);
  // A link may be the user's own where a session came from.
  const place = Deno.realPathSync(target);
  if (bytes.length === known || areSame(bytes, readTranscript(place))) return false;
  const part = `${place}.part`;
  remove(part);
  try {
    Deno.writeFileSync(part, bytes, { createNew: true, mode: 0o600 });
    Deno.renameSync(part, place);
  } catch (error) {
    remove(part);
    throw error;
  }
  return true;
}

/** Makes an empty file, unless there is something. */
function create(target: string): boolean {
  Deno.mkdirSync(parentOf(target), { recursive: true, mode: 0o700 });
  try {
    Deno.openSync(target, { write: true, createNew: true, mode: 0o600 }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/**
 * What of a file is not in that of the same name at home, though it may have been brought there before, whole or in
 * part, and others may have added to it.
 *
 * @param bytes what follows the bytes that had come from there
 * @param options.known how many bytes those are
 */
function findMissing(
  bytes: Bytes,
  { target, known }: { readonly target: string; readonly known: number | undefined },
): Bytes {
  // A link may be the user's own where a session came from, but is not ours to write through.
  const { isFile } = known === undefined ? Deno.lstatSync(target) : Deno.statSync(target);
  if (!isFile) throw new Error("there is something else than a file");
  const there = readTranscript(target, { from: known ?? 0 });
  if (indexOfBytes(there, bytes) >= 0) return bytes.subarray(bytes.length);
  const begun = overlapWith(there, bytes);
  if (known === undefined && !target.endsWith(".jsonl") && begun !== there.length) {
    throw new Error("there is another file of this name");
  }
  // Whoever was killed while writing has left half a line.
  return begun === undefined ? Uint8Array.from([NEWLINE, ...bytes]) : bytes.subarray(begun);
}

/**
 * How much of some bytes is at the end of others, as a call leaves it that is killed, perhaps behind what others have
 * added; undefined when those end in the middle of a line of somebody else's.
 */
function overlapWith(there: Bytes, wanted: Bytes): number | undefined {
  let line = 0;
  do {
    const count = there.length - line;
    if (count <= wanted.length && areSame(there.subarray(line), wanted.subarray(0, count))) {
      return count;
    }
    line = there.indexOf(NEWLINE, line) + 1;
  } while (line > 0);
  return undefined;
}

const NEWLINE = 0x0a;
const CLOSING = 0x7d;

function areSame(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && indexOfBytes(one, other) === 0;
}

/**
 * Appends, or takes back what a full disk let through, unless others have appended since.
 *
 * @returns how many bytes that were
 */
function append(target: string, portions: Iterable<Uint8Array>): number {
  using file = Deno.openSync(target, { append: true });
  const position = () => file.seekSync(0, Deno.SeekMode.Current);
  let start: number | undefined;
  let written = 0;
  try {
    for (const bytes of portions) {
      for (let done = 0; done < bytes.length;) {
        const count = file.writeSync(bytes.subarray(done));
        start ??= position() - count;
        done += count;
        written += count;
      }
    }
    return written;
  } catch (error) {
    const isLast = start !== undefined && file.statSync().size === start + written;
    if (isLast) file.truncateSync(start);
    throw error;
  }
}

/** Removes a file that we have made, if it is still empty. */
function removeEmpty(path: string): void {
  try {
    if (Deno.lstatSync(path).size === 0) Deno.removeSync(path);
  } catch {
    // It has been removed meanwhile.
  }
}

/** Removes a file. If that fails, forwarding it again finds that it has been forwarded. */
function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // Whoever removes its folder says why it cannot be.
  }
}

/** Why, without the call and its path. */
function reasonOf(error: unknown): string {
  if (error instanceof UnfitFileError) return error.reason;
  const why = error instanceof Error ? error.message : String(error);
  return why.replace(/ \(os error \d+\).*$/su, "");
}
