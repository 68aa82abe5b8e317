import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { print, visible } from "./print.ts";

/** stdout and stderr of this program. */
const OWN = { stdout: 1, stderr: 2 } as const;

/** A stderr that nobody reads is told nothing more once it owes so many bytes. */
const MOST_UNTOLD = 1024 * 1024;

/**
 * stdout and stderr of this program, or of another one, written to without ever waiting for who reads them, so that signals and limits
 * go on. What is not read yet is kept: of stdout everything, which is no more than the run has said.
 *
 * Where both are one terminal, pipe or socket, one outlet serves both, and all stays in order.
 */
export class Outlets implements Disposable {
  /** Both absent where libc cannot be used: then nothing runs, and little is printed. */
  readonly stdout: Outlet | undefined;
  readonly stderr: Outlet | undefined;

  /** The fd of stderr. */
  readonly stderrFd: number;
  #isSilent = false;

  /** @param fds of this process, which are its own unless they are somebody else's */
  constructor({ stdout, stderr }: { readonly stdout: number; readonly stderr: number } = OWN) {
    this.stderrFd = stderr;
    try {
      this.stdout = new Outlet(stdout);
      // Two files on one path are written to at places of their own.
      const { kind, id } = fdStat(stdout);
      const isOne = kind !== "file" && id === fdStat(stderr).id;
      this.stderr = isOne ? this.stdout : new Outlet(stderr);
    } catch (error) {
      if (!(error instanceof LibcUnavailableError)) throw error;
    }
  }

  /** Both, or the one that serves both. */
  get all(): readonly Outlet[] {
    return [...new Set([this.stdout, this.stderr])].filter((outlet) => outlet !== undefined);
  }

  /** Prints a text on stdout, as it is. */
  print(text: string): void {
    if (this.#isSilent) return;
    if (this.stdout === undefined) print(Deno.stdout, text);
    else this.stdout.write(text);
  }

  /** Tells a person something on stderr; a stderr that takes nothing is none of the run's business. */
  tell(text: string): void {
    if (!this.#isSilent) this.tellLeft(text);
  }

  /** Tells a person what a run leaves behind, also where nothing else is said any more. */
  tellLeft(text: string): void {
    if (this.stderr === undefined) print(Deno.stderr, text);
    else if (this.stderr.pending < MOST_UNTOLD || this.stderr === this.stdout) {
      this.stderr.write(visible(text));
    }
  }

  /** From now on nothing is said but what is left behind, and nothing of what nobody has read yet. */
  silence(): void {
    this.#isSilent = true;
    for (const outlet of this.all) outlet.drop();
  }

  [Symbol.dispose](): void {
    this.stdout?.[Symbol.dispose]();
    this.stderr?.[Symbol.dispose]();
  }
}
