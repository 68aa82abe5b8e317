import { closeFd } from "../../ffi/descriptors/fd.ts";
import { connectUnix, MAX_SOCKET_PATH } from "../../ffi/descriptors/unix_socket.ts";
import { ERRNO, LibcError } from "../../ffi/errno.ts";
import { CliError } from "../cli_error.ts";
import { removeEmpty } from "../sandbox/remove_folder.ts";
import { makeFolderIn, whyForeign } from "../sandbox/folder/run_places.ts";
import type { ServerPlaces } from "./server_places.ts";
import { tryReadText } from "../../ffi/files/regular_file.ts";

/** The beginning of every error. */
const FAILURE = "Cannot start the server";

/** The number of attempts while another server is ending, and the wait between them, in milliseconds. */
const TRIES = 10;
const RETRY_MS = 50;

/**
 * Creates and locks the private folder of this user's server, until disposed. Removes the files that a killed server
 * has left in it.
 *
 * The lock shows whether a server runs, because the kernel releases it in every case when the process ends. A pid or a
 * socket could belong to another process by then.
 *
 * @param options.inherits whether systemd owns the socket for runs, and removes it
 * @throws {CliError} when another server runs, when the folder or a file in it belongs to another user, or when a path
 * is too long for a socket
 */
export function claimServerFolder(
  places: ServerPlaces,
  { inherits = false }: { readonly inherits?: boolean } = {},
): Disposable {
  const { folder, httpSocket, runSocket } = places;
  const longest = Math.max(...[httpSocket, runSocket].map(lengthOf));
  if (longest > MAX_SOCKET_PATH) {
    throw new CliError(`${FAILURE}: ${folder} is too long a path for a socket`, {
      suggestion: "Set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path",
    });
  }
  const lock = lockFolder(places);
  const sockets = [httpSocket, ...(inherits ? [] : [runSocket])];
  const tokens = [places.token, `${places.token}.part`];
  const unlock = () => {
    Deno.removeSync(places.lock);
    lock.close();
  };
  try {
    // All paths are checked first, so that no file is removed when one of them is foreign.
    const dead = sockets.filter((path) => isDeadSocket(path));
    for (const path of [...dead, ...tokens.filter((each) => isToken(each))]) Deno.removeSync(path);
  } catch (error) {
    unlock();
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      for (const path of sockets) removeOwn(isSocket, path);
      for (const path of tokens) removeOwn(isToken, path);
      unlock();
      removeEmpty(folder);
      if (places.runs !== undefined) removeEmpty(places.runs);
    },
  };
}

/**
 * Creates a file or socket in the server's folder.
 *
 * @throws {CliError} when the system refuses, for example on a full disk
 */
export function createInServerFolder<Made>(
  { folder }: Pick<ServerPlaces, "folder">,
  make: () => Made,
): Made {
  try {
    return make();
  } catch (cause) {
    // The caller handles a missing folder: it creates the folder again.
    const isOfSystem = cause instanceof Error && "code" in cause && cause.code !== "ENOENT";
    if (!isOfSystem) throw cause;
    throw new CliError(`${FAILURE} in ${folder}: ${cause.message}`, {
      suggestion: "Make room there, or set XDG_RUNTIME_DIR to a folder of your own that has some",
      cause,
    });
  }
}

/** Creates the folder if necessary, and locks it. */
function lockFolder(places: ServerPlaces): Deno.FsFile {
  const { folder, lock } = places;
  for (let tries = 1;; tries++) {
    makeServerFolder(places);
    let file: Deno.FsFile | undefined;
    try {
      const foreign = whyForeign(folder);
      if (foreign !== undefined) {
        throw new CliError(`${FAILURE}: ${folder} cannot be trusted: ${foreign}`, {
          suggestion: "Remove it, or set XDG_RUNTIME_DIR or TMPDIR to a folder of your own",
        });
      }
      checkLock(lock);
      file = createInServerFolder(
        places,
        () => Deno.openSync(lock, { read: true, write: true, create: true, mode: 0o600 }),
      );
      if (!file.tryLockSync(true)) {
        throw new CliError(`${FAILURE}: another one is there, in ${folder}`, {
          suggestion:
            'Use it: "claude-print -p" does by itself; or end it first: claude-print serve stop',
        });
      }
      // A server that was ending may have removed the file before it was locked.
      if (Deno.lstatSync(lock).ino === file.statSync().ino) return file;
      file.close();
    } catch (error) {
      file?.close();
      if (!(error instanceof Deno.errors.NotFound) || tries >= TRIES) throw error;
    }
  }
}

function makeServerFolder({ folder, runs }: ServerPlaces): void {
  try {
    if (runs !== undefined) makeFolderIn(runs, folder.slice(runs.length + 1));
    else Deno.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (error instanceof CliError) throw error;
    throw new CliError(`${FAILURE}: ${(error as Error).message}`, {
      suggestion: "Set XDG_RUNTIME_DIR or TMPDIR to a folder that can be written to",
      cause: error,
    });
  }
}

/** Removes a file of the server. Ignores a missing path, and a path with a foreign file. */
function removeOwn(isOwn: (path: string) => boolean, path: string): void {
  try {
    if (isOwn(path)) Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof CliError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** @throws {CliError} when the file at the path is no socket, or belongs to another user */
function isSocket(path: string): boolean {
  return isServerFile(path, ({ isSocket }) => isSocket === true);
}

/**
 * Whether the path has a socket on which no process listens.
 *
 * @throws {CliError} when a process listens, or as `isSocket` does
 */
function isDeadSocket(path: string): boolean {
  if (!isSocket(path)) return false;
  // The kernel may release the lock of an ending process a moment before it closes the socket.
  for (let tries = 1;; tries++) {
    try {
      closeFd(connectUnix(path));
    } catch (error) {
      const errno = error instanceof LibcError ? error.errno : undefined;
      if (errno === ERRNO.ECONNREFUSED) return true;
      // EAGAIN: a process listens, and its queue is full.
      if (errno !== ERRNO.EAGAIN) {
        throw obstructionError(
          path,
          `cannot check whether a process listens on it (${(error as Error).message})`,
        );
      }
    }
    if (tries === TRIES) throw obstructionError(path, "another process listens on it");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
  }
}

/** @throws {CliError} when the file at the path is no token, or belongs to another user */
function isToken(path: string): boolean {
  return isServerFile(path, ({ isFile }) => isFile && holdsToken(path));
}

/** @throws {CliError} when the file at the path is no lock of a server, or belongs to another user */
function checkLock(path: string): void {
  isServerFile(path, ({ isFile, size }) => isFile && size === 0);
}

/**
 * Whether a path exists.
 *
 * @param isKind whether a server could have created the file at the path
 * @throws {CliError} when no server could have created it, or it belongs to another user
 */
function isServerFile(path: string, isKind: (found: Deno.FileInfo) => boolean): boolean {
  let found: Deno.FileInfo;
  try {
    found = Deno.lstatSync(path);
  } catch {
    return false;
  }
  if (found.uid !== Deno.uid()) throw obstructionError(path, "it is another user's");
  if (!isKind(found)) throw obstructionError(path, "no server has made it");
  return true;
}

function obstructionError(path: string, why: string): CliError {
  return new CliError(`${FAILURE}: ${path} is in the way: ${why}`, {
    suggestion: "Move it elsewhere or remove it, or set XDG_RUNTIME_DIR to another folder",
  });
}

function lengthOf(path: string): number {
  return new TextEncoder().encode(path).length;
}

/** The length of a token in bytes. */
const TOKEN_BYTES = 32;

/**
 * Creates a token and writes it to a file that only this user can read.
 *
 * @param path in a private folder
 */
export function writeToken(path: string): string {
  const token = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)).toHex();
  // The file is renamed when it is complete, so that no client reads a part of it.
  const unfinished = `${path}.part`;
  Deno.writeTextFileSync(unfinished, `${token}\n`, { mode: 0o600 });
  Deno.renameSync(unfinished, path);
  return token;
}

/** Whether a file has only a token, or the beginning of one, for example after a full disk. */
function holdsToken(path: string): boolean {
  const text = tryReadText(path, 2 * TOKEN_BYTES + 1);
  return text !== undefined && /^[0-9a-f]*\n?$/u.test(text);
}
