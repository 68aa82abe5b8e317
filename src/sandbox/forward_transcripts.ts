/** What is forwarded from where to where. */
export interface ForwardOptions {
  /** The child's config dir. */
  readonly from: string;
  /** The user's config dir. */
  readonly to: string;
  /** Bytes that were copied in before the run, by path below `projects/`: only what follows them is new. */
  readonly resumed: ReadonlyMap<string, number>;
}

/**
 * Brings what the child wrote below `projects/` home, byte for byte: transcripts, subagents' transcripts,
 * memory. `claude --resume` and usage statistics then see the run as one of the user's sessions.
 *
 * A new file appears whole or not at all, and takes nobody's place; a resumed one is appended to, or left as it
 * was.
 *
 * @returns one sentence for each file that could not be forwarded
 */
export function forwardTranscripts(options: ForwardOptions): readonly string[] {
  const failures: string[] = [];
  const visit = (path: string) => {
    for (const entry of Deno.readDirSync(`${options.from}/projects/${path}`)) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory) {
        visit(inner);
      } else if (entry.isFile) {
        try {
          forward(inner, options);
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          failures.push(`Cannot copy the transcript to ${options.to}/projects/${inner}: ${why}`);
        }
      }
    }
  };
  try {
    visit("");
  } catch (error) {
    // A run that never got to a prompt has no projects folder.
    if (!(error instanceof Deno.errors.NotFound)) {
      failures.push(`Cannot read the child's transcripts: ${(error as Error).message}`);
    }
  }
  return failures;
}

function forward(path: string, { from, to, resumed }: ForwardOptions): void {
  const source = `${from}/projects/${path}`;
  const target = `${to}/projects/${path}`;
  const known = resumed.get(path);
  const present = sizeOf(target);
  if (known !== undefined && present !== undefined) {
    // Whatever another run of the same session added meanwhile stays, as with two `claude --resume` at once.
    append(target, Deno.readFileSync(source).subarray(known), present);
    return;
  }
  Deno.mkdirSync(target.slice(0, target.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  const part = `${target}.${crypto.randomUUID()}.part`;
  try {
    Deno.writeFileSync(part, Deno.readFileSync(source), { mode: 0o600, createNew: true });
    // Unlike a rename, a link does not replace what another run may have put there meanwhile.
    Deno.linkSync(part, target);
    Deno.removeSync(part);
  } catch (error) {
    try {
      Deno.removeSync(part);
    } catch {
      // It was never made.
    }
    throw error;
  }
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
