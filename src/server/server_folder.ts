import { closeFd } from "../../ffi/descriptors/fd.ts";
import { connectUnix, MAX_SOCKET_PATH } from "../../ffi/descriptors/unix_socket.ts";
import { ERRNO, LibcError } from "../../ffi/errno.ts";
import { CliError } from "../cli_error.ts";
import { removeEmpty } from "../sandbox/on_disk.ts";
import { makeFolderIn } from "../sandbox/places/folder_of_runs.ts";
import { whyForeign } from "../sandbox/places/why_foreign.ts";
import type { ServerPlaces } from "./server_places.ts";
import { readRegularFile } from "../../ffi/files/regular_file.ts";

/** What has gone wrong, as every error begins. */
const STARTING = "Cannot start the server";

/** How often a folder is looked for that a server removes as it ends, or a socket that it closes, and the wait between, in milliseconds. */
const TRIES = 10;
const RESTING_MS = 50;

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
  const sockets = [httpSocket, ...(inherits ? [] : [runSocket])];
  const tokens = [places.token, `${places.token}.part`];
  const giveBack = () => {
    Deno.removeSync(places.lock);
    lock.close();
  };
  try {
    // Nothing is removed where something else is in the way.
    const dead = sockets.filter((path) => isDeadSocket(path));
    for (const path of [...dead, ...tokens.filter((each) => isToken(each))]) Deno.removeSync(path);
  } catch (error) {
    giveBack();
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      for (const path of sockets) removeIf(isSocket, path);
      for (const path of tokens) removeIf(isToken, path);
      giveBack();
      removeEmpty(folder);
      if (places.runs !== undefined) removeEmpty(places.runs);
    },
  };
}

/**
 * Makes what a server has in its folder.
 *
 * @throws {CliError} when the system does not let it, as on a full disk
 */
export function inServerFolder<Made>(
  { folder }: Pick<ServerPlaces, "folder">,
  make: () => Made,
): Made {
  try {
    return make();
  } catch (cause) {
    // A folder that has just gone is made once more.
    const isOfSystem = cause instanceof Error && "code" in cause && cause.code !== "ENOENT";
    if (!isOfSystem) throw cause;
    throw new CliError(`${STARTING} in ${folder}: ${cause.message}`, {
      suggestion: "Make room there, or set XDG_RUNTIME_DIR to a folder of your own that has some",
      cause,
    });
  }
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
      checkLock(lock);
      file = inServerFolder(
        places,
        () => Deno.openSync(lock, { read: true, write: true, create: true, mode: 0o600 }),
      );
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

/** Removes something unless it is not there any more, or somebody has put something else there meanwhile. */
function removeIf(isOurs: (path: string) => boolean, path: string): void {
  try {
    if (isOurs(path)) Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof CliError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Whether there is a socket.
 *
 * @throws {CliError} when there is something else, or another user's
 */
function isSocket(path: string): boolean {
  return isOurs(path, ({ isSocket }) => isSocket === true);
}

/**
 * Whether there is a socket on which nobody listens any more.
 *
 * @throws {CliError} when somebody does, or as `isSocket` does
 */
function isDeadSocket(path: string): boolean {
  if (!isSocket(path)) return false;
  // Of a process that is ending the lock may be given back a moment before the socket.
  for (let tries = 1;; tries++) {
    try {
      closeFd(connectUnix(path));
    } catch (error) {
      const errno = error instanceof LibcError ? error.errno : undefined;
      if (errno === ERRNO.ECONNREFUSED) return true;
      // Too many wait already for somebody who listens.
      if (errno !== ERRNO.EAGAIN) {
        throw inTheWay(path, `nobody can tell whether it is dead (${(error as Error).message})`);
      }
    }
    if (tries === TRIES) throw inTheWay(path, "another process listens on it");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RESTING_MS);
  }
}

/**
 * Whether there is a token of a server's.
 *
 * @throws {CliError} when there is something else, or another user's
 */
function isToken(path: string): boolean {
  return isOurs(path, ({ isFile }) => isFile && holdsToken(path));
}

/**
 * Whether there is nothing, or the lock of a server.
 *
 * @throws {CliError} when there is something else, or another user's
 */
function checkLock(path: string): void {
  isOurs(path, ({ isFile, size }) => isFile && size === 0);
}

/**
 * Whether there is something.
 *
 * @param isKind whether it is what a server of this user would have made
 * @throws {CliError} when it is something else, or another user's
 */
function isOurs(path: string, isKind: (found: Deno.FileInfo) => boolean): boolean {
  let found: Deno.FileInfo;
  try {
    found = Deno.lstatSync(path);
  } catch {
    return false;
  }
  if (found.uid !== Deno.uid()) throw inTheWay(path, "it is another user's");
  if (!isKind(found)) throw inTheWay(path, "no server has made it");
  return true;
}

function inTheWay(path: string, why: string): CliError {
  return new CliError(`${STARTING}: ${path} is in the way: ${why}`, {
    suggestion: "Move it elsewhere or remove it, or set XDG_RUNTIME_DIR to another folder",
  });
}

function lengthOf(path: string): number {
  return new TextEncoder().encode(path).length;
}

/** Bytes of a token. */
const LENGTH = 32;

/**
 * Writes a new token into a file that nobody but this user can read, and gives it.
 *
 * @param path of the file, in a private folder
 */
export function writeToken(path: string): string {
  const token = crypto.getRandomValues(new Uint8Array(LENGTH)).toHex();
  // Whoever finds it, finds all of it.
  const unfinished = `${path}.part`;
  Deno.writeTextFileSync(unfinished, `${token}\n`, { mode: 0o600 });
  Deno.renameSync(unfinished, path);
  return token;
}

/** Whether a file holds what `writeToken` writes, or a part of it, as on a full disk, and nothing else. */
function holdsToken(path: string): boolean {
  try {
    const text = new TextDecoder().decode(readRegularFile(path, { limit: 2 * LENGTH + 1 }));
    return /^[0-9a-f]*\n?$/u.test(text);
  } catch {
    return false;
  }
}
