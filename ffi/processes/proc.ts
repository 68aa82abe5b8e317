import { cString } from "../c_string.ts";
import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd, type FdStat, fdStat } from "../descriptors/fd.ts";
import { readNames } from "../files/open_folder.ts";
import { libc } from "../libc.ts";

// Deno opens no file below /proc, and few below /dev, for a program that lacks one of its permissions.

const O_RDONLY = 0;
const O_DIRECTORY = 0o200000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;

/** The maximum length of a link's target, with its NUL (PATH_MAX). */
const LONGEST_PATH = 4096;

/**
 * Reads a file below `/proc` or `/dev` to its end. For a pipe or a terminal, this may take any time.
 *
 * @throws LibcError ENOENT or ESRCH when the process has ended, EACCES when it belongs to another user.
 */
export function readProcFile(path: string): Uint8Array<ArrayBuffer> {
  const fd = open(path, O_RDONLY | O_CLOEXEC);
  try {
    let bytes = new Uint8Array(4096);
    let size = 0;
    for (;;) {
      const free = bytes.subarray(size);
      const count = Number(libc().read(fd, free, BigInt(free.length)));
      if (count === -1 && lastErrno() === ERRNO.EINTR) continue;
      checked(count, { call: "read", action: "read", path });
      if (count === 0) return bytes.subarray(0, size);
      size += count;
      if (size < bytes.length) continue;
      const larger = new Uint8Array(4 * bytes.length);
      larger.set(bytes);
      bytes = larger;
    }
  } finally {
    closeFd(fd);
  }
}

/**
 * Reads the strings of a file below `/proc`, each of which ends with a NUL, such as a command line or an environment.
 *
 * @throws LibcError as readProcFile does.
 */
export function readProcStrings(path: string): readonly Uint8Array<ArrayBuffer>[] {
  const bytes = readProcFile(path);
  const strings: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < bytes.length;) {
    const nul = bytes.indexOf(0, from);
    const end = nul === -1 ? bytes.length : nul;
    strings.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return strings;
}

/**
 * Returns the target of a link below `/proc`, such as `pid:[4026531836]` for a namespace.
 *
 * @throws LibcError for the errors of readlink(2).
 */
export function readProcLink(path: string): string {
  const target = new Uint8Array(LONGEST_PATH);
  const length = Number(libc().readlink(cString(path), target, BigInt(target.length)));
  checked(length, { call: "readlink", action: "read the link", path });
  return new TextDecoder().decode(target.subarray(0, length));
}

/**
 * Returns the object that an fd of another process refers to. Opens no file and does not block.
 *
 * @throws LibcError ENOENT when the process or its fd does not exist, EACCES when it belongs to another user.
 */
export function statProcFd(pid: number, fd: number): FdStat {
  const path = `/proc/${pid}/fd/${fd}`;
  const held = open(path, O_PATH | O_CLOEXEC);
  try {
    return fdStat(held);
  } finally {
    closeFd(held);
  }
}

/**
 * Returns the pids of all visible processes.
 *
 * @throws LibcError when `/proc` cannot be read.
 */
export function readProcPids(): readonly number[] {
  const fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  try {
    return readNames(fd, { path: "/proc" }).filter((name) => /^\d+$/u.test(name)).map(Number);
  } finally {
    closeFd(fd);
  }
}

function open(path: string, flags: number): number {
  return checked(libc().open(cString(path), flags), { call: "open", action: "open", path });
}

/** The maximum number of open files of this process (`ulimit -n`); Infinity without a limit. */
export function mostOpenFiles(): number {
  const limits = new TextDecoder().decode(readProcFile("/proc/self/limits"));
  return Number(/^Max open files +(\d+)/mu.exec(limits)?.[1] ?? Infinity);
}
