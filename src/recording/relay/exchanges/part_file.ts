import { namesIn } from "../../../../ffi/files/at_path.ts";
/** A file that is being written, and has no name of its own yet. */
export interface PartFile extends Disposable {
  readonly path: string;
  readonly file: Deno.FsFile;
  /** Closes the file: from then on it counts as one that nobody writes any more. */
  readonly close: () => void;
}

/** What such a file is called. */
const NAME = /^\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u;

/**
 * Makes a file for something that is to be there as a whole or not at all. It is locked as long as somebody writes it, and
 * removed when it is disposed of.
 *
 * @param options.mode its permissions, less those that the umask takes; 0600 by default
 * @throws {Error} when it cannot be made
 */
export function createPart(
  folder: string,
  { mode = 0o600 }: { readonly mode?: number } = {},
): PartFile {
  for (;;) {
    const path = `${folder}/.${crypto.randomUUID()}`;
    const file = Deno.openSync(path, { write: true, createNew: true, mode });
    lock(file);
    // Before it was locked, somebody may have taken it for one that nobody writes any more.
    if (file.statSync().nlink === 0) {
      file.close();
      continue;
    }
    let isOpen = true;
    const close = () => {
      if (isOpen) file.close();
      isOpen = false;
    };
    return {
      path,
      file,
      close,
      [Symbol.dispose]: () => {
        close();
        removeIfThere(path);
      },
    };
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Where files cannot be locked, nobody removes one of another program's. */
function lock(file: Deno.FsFile): void {
  try {
    file.lockSync(true);
  } catch {
    // It is written all the same.
  }
}

/** Removes what programs have left that were killed while they wrote; what is being written stays. */
export function removeLostParts(folder: string): void {
  for (const name of namesIn(folder).filter((name) => NAME.test(name))) {
    const path = `${folder}/${name}`;
    try {
      if (!Deno.lstatSync(path).isFile) continue;
      using file = Deno.openSync(path, { read: true, write: true });
      if (file.tryLockSync(true)) Deno.removeSync(path);
    } catch {
      // It is gone by now, somebody else's, or cannot be locked.
    }
  }
}
