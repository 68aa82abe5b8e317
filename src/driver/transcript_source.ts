import { createLineSplitter } from "../transcript/line_splitter.ts";

/** Tails the session's transcript: the only one the sandbox holds, wherever the child puts it. */
export class TranscriptSource {
  readonly #projects: string;
  readonly #resumed: ReadonlyMap<string, number>;
  #path: string | undefined;
  #offset = 0;
  readonly #lines = createLineSplitter();

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
    this.#path ??= this.#find();
    return this.#path;
  }

  /** The complete lines added since the last read. */
  read(): readonly string[] {
    const { path } = this;
    if (path === undefined) return [];
    try {
      using file = Deno.openSync(path);
      const { size } = file.statSync();
      if (size <= this.#offset) return [];
      file.seekSync(this.#offset, Deno.SeekMode.Start);
      const bytes = new Uint8Array(size - this.#offset);
      const count = file.readSync(bytes) ?? 0;
      this.#offset += count;
      return this.#lines.push(bytes.subarray(0, count));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  /** A transcript that is new or has grown beyond what was copied in. */
  #find(): string | undefined {
    for (const slug of list(this.#projects)) {
      for (const name of list(`${this.#projects}/${slug}`)) {
        if (!name.endsWith(".jsonl")) continue;
        const known = this.#resumed.get(`${slug}/${name}`) ?? 0;
        const path = `${this.#projects}/${slug}/${name}`;
        if (Deno.statSync(path).size > known) {
          this.#offset = known;
          return path;
        }
      }
    }
    return undefined;
  }
}

function list(dir: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
