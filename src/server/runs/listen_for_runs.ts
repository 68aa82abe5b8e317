import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { acceptUnix, listenUnix, waitForNobody } from "../../../ffi/descriptors/unix_socket.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { mostOpenFiles } from "../../../ffi/processes/most_open_files.ts";
import { processTraits } from "../pool/process_traits.ts";
import { programIdentity } from "../program_identity.ts";
import { type RunService, serveConnection } from "./run_connection.ts";

/** How many clients may wait to be taken: the others go on by themselves at once. */
const BACKLOG = 128;
/** How long no connection is taken where one cannot be had, in milliseconds. */
const RESTING_MS = 100;
/** How much of the files that may be open is for connections, and how many there may be: runs need others. */
const SHARE = 0.5;
const MOST_CONNECTIONS = 1000;

/** Where runs are listened for, and how they are carried out. */
export interface RunListenerOptions
  extends Pick<RunService, "perform" | "onMistake">, Partial<Pick<RunService, "refusal">> {
  /** A path at which nothing is, or the fd of a socket that is listened on already. */
  readonly at: { readonly path: string } | { readonly fd: number };
}

/** Somebody who carries out runs that are handed over. */
export interface RunListener extends Disposable {
  /** How many runs are under way. */
  readonly runs: number;
  /** Takes no more of them, and resolves once those that are under way are over. */
  readonly close: () => Promise<void>;
}

/**
 * Listens for runs that other processes of this program hand over, and carries them out.
 *
 * Disposed, it takes no more of them; those that are under way go on.
 *
 * @throws {LibcError} when the socket cannot be had
 */
export function listenForRuns(options: RunListenerOptions): RunListener {
  const { at, perform, onMistake, refusal = unlike } = options;
  const closing = new AbortController();
  const service: RunService = {
    program: programIdentity(),
    refusal,
    perform,
    onMistake,
    closing: closing.signal,
  };
  const listener = "fd" in at ? at.fd : listenUnix(at.path, { backlog: BACKLOG });
  // Whoever hands a socket over need not know that nothing may wait here.
  waitForNobody(listener);
  const poller = new Poller();
  const connections = new Set<Promise<void>>();
  let isOpen = true;
  const most = mostOpenFiles() * SHARE;
  const serve = (fd: number) => {
    // It is the lowest one that was free, and its client goes on by itself.
    if (fd >= most || connections.size >= MOST_CONNECTIONS) return closeFd(fd);
    const connection = serveConnection(fd, service).catch(onMistake)
      .finally(() => connections.delete(connection));
    connections.add(connection);
  };
  const listen = async () => {
    let restsMs = -1;
    let isFull = false;
    while (isOpen) {
      // Where there can be no more open files the next one is tried after a rest.
      await poller.wait(restsMs < 0 ? [{ fd: listener, read: true }] : [], restsMs);
      restsMs = -1;
      try {
        for (let fd = next(); fd !== undefined; fd = next()) serve(fd);
        isFull = false;
      } catch (error) {
        if (!(error instanceof LibcError)) throw error;
        if (!isFull) onMistake(error);
        isFull = true;
        restsMs = RESTING_MS;
      }
    }
  };
  const next = () => isOpen ? acceptUnix(listener) : undefined;
  const listening = listen().catch(onMistake).finally(() => {
    poller[Symbol.dispose]();
    closeFd(listener);
  });
  const stop = () => {
    isOpen = false;
    closing.abort();
    poller.wake();
  };
  return {
    get runs() {
      return connections.size;
    },
    close: async () => {
      stop();
      await listening;
      await Promise.all(connections);
    },
    [Symbol.dispose]: stop,
  };
}

/** Why no child of this process does for one that another process could start, if it does not. */
function unlike(pid: number): string | undefined {
  try {
    if (processTraits(pid) === processTraits("self")) return undefined;
  } catch (error) {
    if (!(error instanceof LibcError)) throw error;
    return "the server cannot see the program's process";
  }
  return "the server has other limits, rights or namespaces";
}
