import { checked, LibcError } from "../errno.ts";
import { closeFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";

/** Size of a terminal in character cells, each 1 to 65535. */
export interface WindowSize {
  readonly rows: number;
  readonly cols: number;
}

/** The size of a child's terminal if the user has no terminal with a size. */
export const DEFAULT_WINDOW_SIZE: WindowSize = { rows: 50, cols: 220 };

const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/** TIOCSWINSZ of ioctl_tty(2). */
const SET_WINDOW_SIZE = 0x5414n;

/**
 * The master side of a pseudo-terminal. It is nonblocking, and no child inherits it.
 *
 * Closing it hangs up the terminal: the processes whose controlling terminal it is get SIGHUP. When this process dies
 * in any way, the kernel does the same, because no other process has the master.
 */
export class Pty implements Disposable {
  /** The master's fd, the end that this program reads and writes. */
  readonly fd: number;
  /** The slave's path, the end that a child opens, such as "/dev/pts/3". */
  readonly path: string;
  #open = true;

  constructor(fd: number, path: string) {
    this.fd = fd;
    this.path = path;
  }

  /** The size that programs on the terminal see. */
  size(): WindowSize {
    this.#assertOpen("read the terminal size");
    return windowSize(this.fd) ?? { rows: 0, cols: 0 };
  }

  /** Changes the size. If it differs, the terminal's foreground processes get SIGWINCH. */
  resize(size: WindowSize): void {
    this.#assertOpen("set the terminal size");
    setWindowSize(this.fd, size);
  }

  /** Closes the master; a second call does nothing. */
  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    closeFd(this.fd);
  }

  #assertOpen(action: string): void {
    if (!this.#open) throw new Error(`Cannot ${action}: the terminal is closed`);
  }
}

/**
 * Opens a pseudo-terminal of the given size.
 *
 * Only the master is opened. Until a child opens the slave, reading the master returns "again", not "end".
 *
 * @throws RangeError for a size outside of 1 to 65535 cells in a direction.
 * @throws LibcError when there is no /dev/ptmx, or no free terminal.
 */
export function openPty(size: WindowSize): Pty {
  const { grantpt, posix_openpt, unlockpt } = libc();
  const fd = checked(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), {
    call: "posix_openpt",
    action: "open a pseudo-terminal",
    path: "/dev/ptmx",
  });
  try {
    checked(grantpt(fd), { call: "grantpt", action: "grant access to the pseudo-terminal" });
    checked(unlockpt(fd), { call: "unlockpt", action: "unlock the pseudo-terminal" });
    const path = slavePath(fd);
    setWindowSize(fd, size);
    return new Pty(fd, path);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

function slavePath(fd: number): string {
  const path = new Uint8Array(64);
  const errno = libc().ptsname_r(fd, path, BigInt(path.length));
  if (errno !== 0) {
    throw new LibcError(errno, { call: "ptsname_r", action: "name the pseudo-terminal" });
  }
  return new TextDecoder().decode(path.subarray(0, path.indexOf(0)));
}

function setWindowSize(fd: number, size: WindowSize): void {
  const { rows, cols } = size;
  for (const cells of [rows, cols]) {
    if (!Number.isInteger(cells) || cells < 1 || cells > 65535) {
      throw new RangeError(`Cannot set the terminal size to ${rows} rows and ${cols} columns`);
    }
  }
  checked(libc().ioctl(fd, SET_WINDOW_SIZE, Uint16Array.of(rows, cols, 0, 0)), {
    call: "ioctl",
    action: `set the terminal size to ${rows} rows and ${cols} columns`,
  });
}

/** TIOCGWINSZ of ioctl_tty(2). */
const GET_WINDOW_SIZE = 0x5413n;

/**
 * The size of the terminal behind `fd`; undefined when `fd` is no terminal or has no size.
 *
 * A terminal whose size was never set reports 0 rows and 0 columns.
 */
export function windowSize(fd: number): WindowSize | undefined {
  const winsize = new Uint16Array(4);
  if (libc().ioctl(fd, GET_WINDOW_SIZE, winsize) !== 0) return undefined;
  const [rows = 0, cols = 0] = winsize;
  return rows === 0 || cols === 0 ? undefined : { rows, cols };
}
