import { MAX_SOCKET_PATH } from "../../ffi/unix_socket.ts";
import { CliError } from "../cli_error.ts";

/**
 * Sees to it that a socket can be at a path.
 *
 * @throws {CliError} when the path is too long for that
 */
export function requireShortPath(path: string): void {
  if (new TextEncoder().encode(path).length <= MAX_SOCKET_PATH) return;
  throw new CliError(
    "Cannot deliver the prompt as it is: the private folder's path is longer than a socket's may be",
    { suggestion: "Set TMPDIR to a folder with a shorter path, or change the prompt's beginning" },
  );
}
