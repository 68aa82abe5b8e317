import { readTranscript } from "./read_transcript.ts";

/** What is forwarded from where to where. */
export interface ForwardOptions {
  /** The child's config dir. */
  readonly from: string;
  /** The user's config dir. */
  readonly to: string;
  /** Bytes that were copied in before the run, by path below `projects/`: only what follows them is new. */
  readonly resumed: Readonly<Record<string, number>>;
  /** Names the run in the names of unfinished files, which are finished when they are forwarded again. */
  readonly run: string;
}

/** What became of it. */
export interface Forwarded {
  /** How many files were brought home: new ones, and resumed ones that have grown. */
  readonly files: number;
  /** One sentence for each file that could not be. */
  readonly failures: readonly string[];
}

/**
 * Brings what the child wrote below `projects/` home, byte for byte: transcripts, subagents' transcripts,
 * memory. `claude --resume` and usage statistics then see the run as one of the user's sessions.
 *
 * A new file appears whole or not at all, and takes nobody's place; a resumed one is appended to, or left as it
 * was. What an earlier call brought home already, whole or in part, is not brought twice.
 */
export function forwardTranscripts(options: ForwardOptions): Forwarded {
  const failures: string[] = [];
  let files = 0;
  const visit = (path: string) => {
    for (const entry of Deno.readDirSync(`${options.from}/projects/${path}`)) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory) {
        visit(inner);
      } else if (entry.isFile) {
        try {
          if (forward(inner, options)) files++;
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          failures.push(`Cannot copy the transcript to ${options.to}/projects/${inner}: ${why}`);
        }
      }
    }
  };
  try {
    // Where a tool has put a link, what it leads to is no transcript.
    if (!Deno.lstatSync(`${options.from}/projects`).isDirectory) throw new Error("it is no folder");
    visit("");
  } catch (error) {
    // A run that never got to a prompt has no projects folder.
    if (!(error instanceof Deno.errors.NotFound)) {
      failures.push(`Cannot read the child's transcripts: ${(error as Error).message}`);
    }
  }
  return { files, failures };
}

/** Brings one file home; false if there is nothing new in it. */
function forward(path: string, { from, to, resumed, run }: ForwardOptions): boolean {
  const source = readTranscript(`${from}/projects/${path}`);
  const target = `${to}/projects/${path}`;
  const known = resumed[path];
  const present = sizeOf(target);
  if (known !== undefined && present !== undefined) {
    const missing = missingOf(source.subarray(known), { target, known, present });
    // Whatever another run of the same session added meanwhile stays, as with two `claude --resume` at once.
    if (missing.length > 0) append(target, missing, present);
    return missing.length > 0;
  }
  Deno.mkdirSync(target.slice(0, target.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  const part = `${target}.${run}.part`;
  try {
    Deno.writeFileSync(part, source, { mode: 0o600 });
    // Unlike a rename, a link does not replace what another run may have put there meanwhile.
    Deno.linkSync(part, target);
    return true;
  } catch (error) {
    const isThere = error instanceof Deno.errors.AlreadyExists &&
      text(readTranscript(target)) === text(source);
    if (isThere) return false;
    throw error;
  } finally {
    try {
      Deno.removeSync(part);
    } catch {
      // It was never made.
    }
  }
}

/** What of the new bytes is not there yet, though it may have been brought home before, whole or in part. */
function missingOf(
  bytes: Uint8Array<ArrayBuffer>,
  { target, known, present }: {
    readonly target: string;
    readonly known: number;
    readonly present: number;
  },
): Uint8Array<ArrayBuffer> {
  if (present <= known) return bytes;
  const wanted = text(bytes);
  const there = text(readTranscript(target, { from: known }));
  if (wanted.startsWith(there)) return bytes.subarray(there.length);
  return there.includes(wanted) ? bytes.subarray(bytes.length) : bytes;
}

/** Bytes as a string of as many characters, each byte another one. */
function text(bytes: Uint8Array<ArrayBuffer>): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** Appends, or takes back what a full disk let through. */
function append(target: string, bytes: Uint8Array, size: number): void {
  try {
    Deno.writeFileSync(target, bytes, { append: true });
  } catch (error) {
    Deno.truncateSync(target, size);
    throw error;
  }
}

function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch {
    return undefined;
  }
}
