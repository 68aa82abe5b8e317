import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";
import { type SignalName, SIGNALS } from "./signals.ts";

/** How a child ended: with an exit code, or by a signal's number. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number };

/** Number of pidfd_open(2) on x86_64. glibc has a function for it only since 2.36. */
const PIDFD_OPEN = 434n;
/** Number of pidfd_getfd(2). glibc has a function for it only since 2.36. */
const PIDFD_GETFD = 438n;
const WNOHANG = 1;

/**
 * Opens an fd that becomes readable for a poll once the process has ended, reaped or not. No child inherits it.
 *
 * @throws LibcError ESRCH when the process does not exist, or was already reaped.
 */
export function openPidfd(pid: number): number {
  const fd = libc().syscall(PIDFD_OPEN, BigInt(requirePid(pid)), 0n);
  return checked(Number(fd), { call: "pidfd_open", action: `watch process ${pid}` });
}

/**
 * Duplicates an fd of another process: the same open file, with the same position. No child inherits it.
 *
 * @throws LibcError EBADF if the process has no such fd, ESRCH if it has ended, EPERM if this process may not trace it. Then
 * its file can be opened, but its position stays unknown
 */
export function shareFd(pid: number, fd: number): number {
  const pidfd = openPidfd(pid);
  try {
    const shared = libc().syscall_of_three(PIDFD_GETFD, BigInt(pidfd), BigInt(fd), 0n);
    return checked(Number(shared), { call: "pidfd_getfd", action: `share fd ${fd} of ${pid}` });
  } finally {
    closeFd(pidfd);
  }
}

/**
 * Reaps the child `pid` if it has ended; undefined while it runs. Never blocks.
 *
 * It waits only for this child, so that Deno can reap its own children.
 *
 * @throws LibcError ECHILD when `pid` is no child of this process, or was already reaped.
 */
export function waitFor(pid: number): ExitStatus | undefined {
  const status = new Int32Array(1);
  const reaped = checked(libc().waitpid(requirePid(pid), status, WNOHANG), {
    call: "waitpid",
    action: `wait for process ${pid}`,
  });
  return reaped === 0 ? undefined : exitStatus(status[0] ?? 0);
}

/**
 * Kills the child `pid` and reaps it. Blocks while the kernel ends the child: some tenths of a millisecond for a
 * process that waits for input.
 *
 * @throws LibcError ECHILD when `pid` is no child of this process, or was already reaped.
 */
export function killAndReap(pid: number): void {
  kill(pid, "SIGKILL");
  const attempt = { call: "waitpid", action: `wait for process ${pid}` };
  checked(libc().waitpid(requirePid(pid), new Int32Array(1), 0), attempt);
}

/**
 * Sends a signal to one process; false when the process does not exist.
 *
 * A child that has ended but was not reaped still accepts signals, without an effect.
 *
 * @throws LibcError EPERM when the process belongs to another user.
 */
export function kill(pid: number, signal: SignalName): boolean {
  return send(requirePid(pid), { signal, action: `send ${signal} to process ${pid}` });
}

/**
 * Sends a signal to every process of the group that `pid` leads; false when the group is empty.
 *
 * A child of `spawn` leads its own group. A job that a shell starts is in another group.
 *
 * @throws LibcError EPERM when this process may signal none of the group.
 */
export function killGroup(pid: number, signal: SignalName): boolean {
  return send(-requirePid(pid), { signal, action: `send ${signal} to process group ${pid}` });
}

function send(
  target: number,
  options: { readonly signal: SignalName; readonly action: string },
): boolean {
  const result = libc().kill(target, SIGNALS[options.signal]);
  if (result === -1 && lastErrno() === ERRNO.ESRCH) return false;
  checked(result, { call: "kill", action: options.action });
  return true;
}

/** Refuses 0, -1 and 1, which mean "my group", "everyone" and init to kill(2) and waitpid(2). */
function requirePid(pid: number): number {
  if (!Number.isInteger(pid) || pid < 2 || pid > 0x7fffffff) {
    throw new RangeError(`Cannot address process ${pid}: that is no process id of a child`);
  }
  return pid;
}

/** Decodes the status word of wait(2). Stopped children are never reported. */
function exitStatus(word: number): ExitStatus {
  const signal = word & 0x7f;
  return signal === 0 ? { kind: "exited", code: (word >> 8) & 0xff } : { kind: "signaled", signal };
}
