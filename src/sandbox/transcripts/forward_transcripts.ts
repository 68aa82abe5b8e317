import { entryAt } from "../../../ffi/files/at_path.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { parentOf } from "../../paths.ts";
import { buildRenames, indexOfBytes, renameAll, renamePortions } from "./transcript_renames.ts";
import { readTranscript } from "./read_transcript.ts";

/** Options of `forwardTranscripts`. */
export interface ForwardOptions {
  /** The child's config dir. */
  readonly from: string;
  /** Its path while the child ran, if the folder was renamed since. */
  readonly known?: string;
  /** The user's config dir. */
  readonly to: string;
  /** Sizes of the files that were copied before the run, by path below `projects/`. The bytes after that are new. */
  readonly resumed: Readonly<Record<string, number>>;
  /** How far earlier calls have forwarded each file while the child ran, by path below `projects/`. */
  readonly brought?: Readonly<Record<string, Brought>>;
  /** The ids that callers gave messages, by the child's ids. Forwarded transcripts have the callers' ids. */
  readonly given?: ReadonlyMap<string, string>;
  /**
   * Set while the child runs: only complete lines of transcripts, and notes of subagents, are forwarded, and the child's
   * files stay. The session's own transcript is forwarded up to the line with the id `upTo`, because the caller's ids of
   * later lines are not known yet.
   */
  readonly goesOn?: { readonly upTo?: string | undefined };
}

/** How far a file is forwarded: bytes of the child's file, and the position in the user's file for the next bytes. */
interface Brought {
  readonly here: number;
  readonly there: number;
}

/** The result of forwarding. */
export interface Forwarded {
  /** The number of forwarded files: new ones, and resumed ones that have grown. */
  readonly files: number;
  /** The number of files that could not be forwarded, and are still in the child's config dir. */
  readonly left: number;
  /** A sentence for each failure. */
  readonly failures: readonly string[];
  /** How far each file is forwarded, if the child still runs. */
  readonly brought?: Readonly<Record<string, Brought>>;
}

/**
 * Moves what the child wrote below `projects/` to the user's config dir: transcripts, subagents' transcripts, memory.
 * `claude --resume` and usage statistics then see the run as one of the user's sessions.
 *
 * Files stay byte for byte the same, with two exceptions in transcripts. Paths below the child's `projects/` become the
 * user's, so that a resumed session finds the files that the model knows. Ids of messages become the caller's, as in
 * `claude -p` (2.1.330).
 *
 * A file is forwarded completely or not at all, and never replaces a file. The new part of a resumed transcript is
 * appended. If the session got a transcript there meanwhile, everything is appended, as two `claude -p` with one
 * `--session-id` append to one file (2.1.330). Only the notes of a resumed subagent are replaced, as Claude Code does. What
 * an earlier call has forwarded, completely or in part, is not forwarded again.
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
        failures.push(`Cannot move the transcript ${inner}: it is not a regular file`);
      }
    }
  };
  try {
    // A tool may have put a link there.
    if (!Deno.lstatSync(`${options.from}/projects`).isDirectory) {
      failures.push("Cannot read the child's transcripts: projects is not a folder");
      return { files, left, failures };
    }
  } catch (error) {
    // Before the first prompt there is no projects folder.
    if (error instanceof Deno.errors.NotFound) return { files, left, failures };
  }
  attempt("", () => visit("", applyMoves(options)));
  return { files, left, failures, ...(options.goesOn === undefined ? {} : { brought }) };
}

/** How far files are forwarded, by path below `projects/`. */
type Places = Readonly<Record<string, Brought>>;

/**
 * Moves a resumed session in the user's config dir as Claude Code has moved the child's: when a turn enters or leaves a
 * worktree, 2.1.330 moves the session to the project of that folder.
 *
 * @returns how far files are forwarded, by their new paths
 */
function applyMoves({ from, to, resumed, brought }: ForwardOptions): Places {
  const slugs = [...Deno.readDirSync(`${from}/projects`)].map(({ name }) => name);
  const copied = Object.entries(resumed).map(([path, size]) =>
    [path, { here: size, there: size }] as const
  );
  const places: Places = { ...Object.fromEntries(copied), ...brought };
  let moved = Object.entries(places);
  for (const path of Object.keys(places)) {
    // A project's name has no slash and no dot, so the path cannot leave the folder.
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

/** One file, and how far it is forwarded. */
type OneFile = Pick<ForwardOptions, "from" | "known" | "to" | "given"> & {
  readonly place: Brought | undefined;
};

/** Forwards one file; false if it has nothing new. */
function forwardFile(path: string, { from, known = from, to, place, given }: OneFile): boolean {
  const source = `${from}/projects/${path}`;
  const target = `${to}/projects/${path}`;
  const isNew = create(target);
  // A JSON file is one value, so it is replaced.
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
 * Forwards the new part of a file to which the child still writes.
 *
 * @returns how far it is forwarded now; undefined if there is nothing new
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
    // The forwarded file may have been removed.
    const all = isNew && here > 0 ? readTranscript(source, { most: here + bytes.length }) : bytes;
    const renamed = renameAll(all, buildRenames({ from: known, to, given }));
    append(target, [isNew ? renamed : findMissing(renamed, { target, known: place?.there })]);
  } catch (error) {
    if (isNew) removeEmpty(target);
    throw error;
  }
  return { here: here + bytes.length, there: Deno.statSync(target).size };
}

/** Forwards the notes of a subagent, if they are complete. */
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

/** The number of bytes of a new file that are in memory at a time. */
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
 * Replaces the file that a file was copied from, if its size has changed. Otherwise another program may have changed the
 * original.
 */
function replace(
  target: string,
  { source, known }: { readonly source: string; readonly known: number },
): boolean {
  const bytes = readTranscript(source);
  // The user's file may be a link.
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

/** Makes an empty file; false if the path exists. */
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
 * Returns the part of some bytes that the user's file does not have. An earlier call may have forwarded them completely or
 * in part, and other programs may have appended to the file.
 *
 * @param bytes the bytes after those that were copied from the user's file
 * @param options.known how many bytes were copied
 */
function findMissing(
  bytes: Bytes,
  { target, known }: { readonly target: string; readonly known: number | undefined },
): Bytes {
  // A link is followed only if the session was copied from it.
  const { isFile } = known === undefined ? Deno.lstatSync(target) : Deno.statSync(target);
  if (!isFile) throw new Error("it is not a regular file");
  const there = readTranscript(target, { from: known ?? 0 });
  if (indexOfBytes(there, bytes) >= 0) return bytes.subarray(bytes.length);
  const begun = overlapWith(there, bytes);
  if (known === undefined && !target.endsWith(".jsonl") && begun !== there.length) {
    throw new Error("another file has this name");
  }
  // The user's file ends with an incomplete line of another program.
  return begun === undefined ? Uint8Array.from([NEWLINE, ...bytes]) : bytes.subarray(begun);
}

/**
 * Returns how many of the wanted bytes are already at the end of the user's file. A call that was killed leaves a part.
 * Undefined if the file ends in the middle of another program's line.
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
 * Appends bytes. If the disk is full, removes the part that was written, unless another program has appended since.
 *
 * @returns how many bytes were written
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

/** Removes a file that is still empty. */
function removeEmpty(path: string): void {
  try {
    if (Deno.lstatSync(path).size === 0) Deno.removeSync(path);
  } catch {
    // It has been removed meanwhile.
  }
}

/** Removes a file. If that fails, the next call finds that the file is already forwarded. */
function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // The removal of its folder reports the reason.
  }
}

/** Returns an error's reason without the system call and the path. */
function reasonOf(error: unknown): string {
  if (error instanceof UnfitFileError) return error.reason;
  const why = error instanceof Error ? error.message : String(error);
  return why.replace(/ \(os error \d+\).*$/su, "");
}
