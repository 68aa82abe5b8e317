import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { connectUnix, peerOf } from "../../../ffi/descriptors/unix_socket.ts";
import { whyForeign } from "../../sandbox/places/why_foreign.ts";

/** A server of this user's, to which there is a connection. */
export interface ServerConnection {
  readonly fd: number;
  /** Ends it, where nothing is handed over. */
  readonly close: () => void;
  /** Its process. */
  readonly pid: number;
}

/**
 * Connects to the server of this user that has a socket in a private folder of theirs.
 *
 * @returns why there is none to be used, if there is not
 */
export function connectToServer(
  { folder, runSocket }: { readonly folder: string; readonly runSocket: string },
): ServerConnection | string {
  try {
    const foreign = whyForeign(folder);
    if (foreign !== undefined) return `${folder} cannot be trusted: ${foreign}`;
    const fd = connectUnix(runSocket);
    const { pid, uid } = peerOf(fd);
    if (uid === Deno.uid()) return { fd, pid, close: () => closeFd(fd) };
    closeFd(fd);
    return `the server at ${runSocket} is another user's`;
  } catch (error) {
    const isNone = error instanceof LibcError || error instanceof LibcUnavailableError ||
      error instanceof RangeError || error instanceof Deno.errors.NotFound;
    if (!isNone) throw error;
    return error.message;
  }
}
