import type { Environment } from "../../sandbox/environment.ts";
import { SOCKET_NAME } from "./unit_files.ts";

/** The first descriptor that systemd hands over; see sd_listen_fds(3). */
const FIRST_FD = 3;

/**
 * The listening socket that systemd has handed this process, by its descriptor; undefined without one.
 *
 * What is meant for another process, as it is for a child that has inherited the variables, is not for this one.
 */
export function inheritedSocket(
  env: Environment,
  { pid }: { readonly pid: number },
): number | undefined {
  if (env["LISTEN_PID"] !== `${pid}`) return undefined;
  const names = (env["LISTEN_FDNAMES"] ?? "").split(":");
  const count = Number(env["LISTEN_FDS"]);
  const at = names.indexOf(SOCKET_NAME);
  return at !== -1 && at < count ? FIRST_FD + at : undefined;
}
