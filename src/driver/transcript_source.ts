import { followLines } from "./follow_lines.ts";

/** Tails the session's transcript: the only one the sandbox holds, wherever the child puts it. */
export class TranscriptSource {
  readonly #projects: string;
  readonly #resumed: ReadonlyMap<string, number>;
  #found: { readonly path: string; readonly read: () => readonly string[] } | undefined;

  /** @param options.resumed transcripts that were there before, by path below `projects/`, and their size */
  constructor(options: {
    readonly configDir: string;
    readonly resumed: ReadonlyMap<string, number>;
  }) {
    this.#projects = `${options.configDir}/projects`;
    this.#resumed = options.resumed;
  }

  /** Path of the transcript; `undefined` until the child has written to one. */
  get path(): string | undefined {
    this.#found ??= this.#find();
    return this.#found?.path;
  }

  /** The complete lines added since the last read. */
  read(): readonly string[] {
    this.#found ??= this.#find();
    return this.#found?.read() ?? [];
  }

  /** A transcript that is new or has grown beyond what was copied in. */
  #find(): { readonly path: string; readonly read: () => readonly string[] } | undefined {
    for (const slug of list(this.#projects)) {
      for (const name of list(`${this.#projects}/${slug}`)) {
        if (!name.endsWith(".jsonl")) continue;
        const known = this.#resumed.get(`${slug}/${name}`) ?? 0;
        const path = `${this.#projects}/${slug}/${name}`;
        if (sizeOf(path) > known) return { path, read: followLines(path, known) };
      }
    }
    return undefined;
  }
}

/** Size of a regular file in bytes; of anything else 0. */
function sizeOf(path: string): number {
  try {
    const { isFile, size } = Deno.statSync(path);
    return isFile ? size : 0;
  } catch {
    // A link that leads nowhere, or a file that was removed just now.
    return 0;
  }
}

function list(dir: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
