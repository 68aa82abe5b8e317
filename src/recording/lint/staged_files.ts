import { CliError } from "../../cli_error.ts";
import { createPart, type PartFile, removeLostParts } from "../relay/exchanges/part_file.ts";

/** A file that is written beside the one in whose place it is to be. */
export interface StagedFile {
  readonly write: (text: string) => void;
  /** Nothing more is written. */
  readonly end: () => void;
}

/** A file that has no place yet. */
interface Staged {
  readonly part: PartFile;
  /** Puts it there. */
  readonly into: (from: string) => void;
  pending: string;
}

/** How many files are kept open until all are written, so that nobody takes them for lost ones; of more, some are closed. */
const MOST_OPEN = 200;
/** Text that is written at once, in UTF-16 units. */
const BUFFER = 256 * 1024;

/**
 * Files that are all written before the first of them is in its place: until then, and whatever goes wrong, everything is
 * as it was. Each file is in its place as a whole.
 */
export class StagedFiles implements Disposable {
  readonly #staged: Staged[] = [];
  readonly #folders = new Set<string>();
  /** What the files are for, as an error says it. */
  readonly #what: string;
  readonly #place: (path: string) => string;

  /**
   * @param what is being done, such as `scrub hello`
   * @param options.place where what comes of a file has its place: that of the file by default
   */
  constructor(
    what: string,
    { place = (path) => path }: { readonly place?: (path: string) => string } = {},
  ) {
    this.#what = what;
    this.#place = place;
  }

  /**
   * Begins a file. What writers that were killed have left in its folder is removed.
   *
   * @param beside the file that it comes of, with no more permissions than that
   * @param into puts the file in its place once all are written; by default in that which comes of `beside`
   * @throws {CliError} when it cannot be made or written
   */
  begin(beside: string, into?: (from: string) => void): StagedFile {
    const target = this.#place(beside);
    const folder = target.includes("/") ? target.replace(/(?<=.)\/[^/]*$|[^/]+$/u, "") : ".";
    const staged: Staged = {
      part: this.#attempt(() => {
        const { mode } = Deno.statSync(beside);
        if (target !== beside) Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!this.#folders.has(folder)) removeLostParts(folder);
        this.#folders.add(folder);
        // By its name it could by now be a link of somebody who may write to the folder.
        return createPart(folder, { mode: (mode ?? 0o600) & 0o777 });
      }),
      into: into ?? ((path) => Deno.renameSync(path, target)),
      pending: "",
    };
    this.#staged.push(staged);
    return {
      write: (text) => {
        staged.pending += text;
        if (staged.pending.length >= BUFFER) this.#attempt(() => flush(staged));
      },
      end: () => {
        if (this.#staged.length <= MOST_OPEN) return;
        this.#attempt(() => {
          flush(staged);
          staged.part.close();
        });
      },
    };
  }

  /**
   * Puts all files in their places.
   *
   * @throws {CliError} when one cannot be written, before any is in its place, or cannot be put there
   */
  commit(): void {
    this.#attempt(() => {
      for (const staged of this.#staged) if (staged.pending !== "") flush(staged);
      for (const { part, into } of this.#staged) into(part.path);
    });
  }

  #attempt<Value>(act: () => Value): Value {
    try {
      return act();
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      throw new CliError(`Cannot ${this.#what}: ${(cause as Error).message}`, {
        suggestion: "Give it folders of yours on a disk with room",
        cause,
      });
    }
  }

  [Symbol.dispose](): void {
    for (const { part } of this.#staged.splice(0)) part[Symbol.dispose]();
  }
}

const encoder = new TextEncoder();

function flush(staged: Staged): void {
  const bytes = encoder.encode(staged.pending);
  staged.pending = "";
  for (let at = 0; at < bytes.length;) at += staged.part.file.writeSync(bytes.subarray(at));
}
