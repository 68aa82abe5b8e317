import { libc } from "./libc.ts";

/** Size of a terminal in character cells, each 1 to 65535. */
export interface WindowSize {
  readonly rows: number;
  readonly cols: number;
}

/** The size a child's terminal has when no terminal of the user's gives one. */
export const DEFAULT_WINDOW_SIZE: WindowSize = { rows: 50, cols: 220 };

/** TIOCGWINSZ of ioctl_tty(2). */
const GET_WINDOW_SIZE = 0x5413n;

/**
 * The size of the terminal behind `fd`, or undefined when `fd` is no terminal or does not know its
 * size.
 *
 * A terminal that was never told its size says 0 rows and 0 columns.
 */
export function windowSize(fd: number): WindowSize | undefined {
  const winsize = new Uint16Array(4);
  if (libc().ioctl(fd, GET_WINDOW_SIZE, winsize) !== 0) return undefined;
  const [rows = 0, cols = 0] = winsize;
  return rows === 0 || cols === 0 ? undefined : { rows, cols };
}
