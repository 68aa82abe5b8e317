import { isUnixListener } from "../../../ffi/descriptors/unix_socket.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { SOCKET_NAME } from "./unit_files.ts";

/** The first descriptor that systemd hands over; see sd_listen_fds(3). */
const FIRST_FD = 3;

/**
 * The listening socket that systemd has handed this process, by its descriptor; undefined without one.
 *
 * What is meant for another process, as it is for a child that has inherited the variables, is not for this one.
 *
 * @throws {CliError} when the descriptor is no such socket
 */
export function inheritedSocket(
  env: Environment,
  { pid, isListener = isUnixListener }: {
    readonly pid: number;
    readonly isListener?: (fd: number) => boolean;
  },
): number | undefined {
  if (env["LISTEN_PID"] !== `${pid}`) return undefined;
  const names = (env["LISTEN_FDNAMES"] ?? "").split(":");
  const count = Number(env["LISTEN_FDS"]);
  const at = names.indexOf(SOCKET_NAME);
  if (at === -1 || !(at < count)) return undefined;
  const fd = FIRST_FD + at;
  if (isListener(fd)) return fd;
  throw new CliError(
    `Cannot start the server: descriptor ${fd} of LISTEN_FDS is no Unix socket that is listened on`,
    { suggestion: "Write the units anew: claude-print serve --install; or unset LISTEN_PID" },
  );
}
