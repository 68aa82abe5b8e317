import { MAX_SOCKET_PATH } from "../../ffi/descriptors/unix_socket.ts";
import { CliError } from "../cli_error.ts";
import { removeEmpty } from "../sandbox/on_disk.ts";
import { makeFolderIn } from "../sandbox/places/folder_of_runs.ts";
import { whyForeign } from "../sandbox/places/why_foreign.ts";
import type { ServerPlaces } from "./places.ts";

/** What has gone wrong, as every error begins. */
const STARTING = "Cannot start the server";

/** How often a folder is looked for that a server removes as it ends. */
const TRIES = 10;

/**
 * Makes the private folder of this user's server, and holds it until it is disposed: nobody else's server is there
 * meanwhile. What a killed server has left in it is removed.
 *
 * A lock tells whether a server lives, because the kernel gives it back however its process ends; pids and sockets may be
 * another one's by then.
 *
 * @param options.inherits whether systemd listens on the socket for runs, which is its to remove
 * @throws {CliError} when another server lives, when the folder or something in it belongs to somebody else, or when a
 * path in it is too long for a socket
 */
export function holdServerFolder(
  places: ServerPlaces,
  { inherits = false }: { readonly inherits?: boolean } = {},
): Disposable {
  const { folder, httpSocket, runSocket } = places;
  const longest = Math.max(...[httpSocket, runSocket].map(lengthOf));
  if (longest > MAX_SOCKET_PATH) {
    throw new CliError(`${STARTING}: ${folder} is too long a path for a socket`, {
      suggestion: "Set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path",
    });
  }
  const lock = claim(places);
  const clear = () => {
    for (const path of [httpSocket, places.token, ...(inherits ? [] : [runSocket])]) {
      removeOwn(path);
    }
  };
  const giveBack = () => {
    Deno.removeSync(places.lock);
    lock.close();
  };
  try {
    clear();
  } catch (error) {
    giveBack();
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      try {
        clear();
        giveBack();
      } catch {
        // What somebody has put there meanwhile is theirs.
      }
      removeEmpty(folder);
      if (places.runs !== undefined) removeEmpty(places.runs);
    },
  };
}

/** The lock of the folder, which is made if need be. */
function claim(places: ServerPlaces): Deno.FsFile {
  const { folder, lock } = places;
  for (let tries = 1;; tries++) {
    makeFolder(places);
    let file: Deno.FsFile | undefined;
    try {
      const foreign = whyForeign(folder);
      if (foreign !== undefined) {
        throw new CliError(`${STARTING}: ${folder} cannot be trusted: ${foreign}`, {
          suggestion: "Remove it, or set XDG_RUNTIME_DIR or TMPDIR to a folder of your own",
        });
      }
      refuseForeign(lock);
      file = Deno.openSync(lock, { read: true, write: true, create: true, mode: 0o600 });
      if (!file.tryLockSync(true)) {
        throw new CliError(`${STARTING}: another one is there, in ${folder}`, {
          suggestion: 'Use it: "claude-print -p" does by itself; or end it by SIGTERM first',
        });
      }
      // A server that was just ending may have removed it before it was locked.
      if (Deno.lstatSync(lock).ino === file.statSync().ino) return file;
      file.close();
    } catch (error) {
      file?.close();
      if (!(error instanceof Deno.errors.NotFound) || tries >= TRIES) throw error;
    }
  }
}

function makeFolder({ folder, runs }: ServerPlaces): void {
  try {
    if (runs !== undefined) makeFolderIn(runs, folder.slice(runs.length + 1));
    else Deno.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (error instanceof CliError) throw error;
    throw new CliError(`${STARTING}: ${(error as Error).message}`, {
      suggestion: "Set XDG_RUNTIME_DIR or TMPDIR to a folder that can be written to",
      cause: error,
    });
  }
}

/** Removes what a server of this user has made; nothing if it is not there. */
function removeOwn(path: string): void {
  if (refuseForeign(path)) Deno.removeSync(path);
}

/**
 * Whether there is something.
 *
 * @throws {CliError} when it is another user's, or a folder
 */
function refuseForeign(path: string): boolean {
  let found: Deno.FileInfo;
  try {
    found = Deno.lstatSync(path);
  } catch {
    return false;
  }
  const why = found.uid !== Deno.uid()
    ? "it is another user's"
    : found.isDirectory || found.isSymlink
    ? "no server has made it"
    : undefined;
  if (why === undefined) return true;
  throw new CliError(`${STARTING}: ${path} is in the way: ${why}`, { suggestion: "Remove it" });
}

function lengthOf(path: string): number {
  return new TextEncoder().encode(path).length;
}
