import { checked } from "../errno.ts";
import { libc } from "../libc.ts";

/** Requests of ioctl_tty(2). */
const TCGETS = 0x5401n;
const TCSETS = 0x5402n;
const TCFLSH = 0x540bn;

/** Bits of `c_lflag`: whole lines, and showing what is typed. */
const ICANON = 0o2;
const ECHO = 0o10;

/** The kernel's `struct termios` on x86_64, in bytes: its size, rounded up, and where `c_lflag` and Ctrl-Z are. */
const TERMIOS_BYTES = 64;
const LFLAG = 12;
const VSUSP = 17 + 10;

/**
 * Makes a terminal swallow what is typed, until disposed: nothing is shown, and nothing is left for the program
 * that reads the terminal next. Ctrl-C keeps its meaning; Ctrl-Z has none, since a shell could not use the screen.
 *
 * @param fd open on the terminal
 * @throws LibcError ENOTTY when it is not
 */
export function silenceInput(fd: number): Disposable {
  const attempt = { call: "ioctl", action: "silence the terminal" };
  const { ioctl } = libc();
  const before = new Uint8Array(TERMIOS_BYTES);
  checked(ioctl(fd, TCGETS, before), attempt);
  const silent = before.slice();
  const view = new DataView(silent.buffer);
  view.setUint32(LFLAG, view.getUint32(LFLAG, true) & ~(ICANON | ECHO), true);
  view.setUint8(VSUSP, 0);
  checked(ioctl(fd, TCSETS, silent), attempt);
  return {
    [Symbol.dispose]: () => {
      // A null argument is TCIFLUSH: what was typed is thrown away. A terminal that is gone needs neither.
      ioctl(fd, TCFLSH, null);
      ioctl(fd, TCSETS, before);
    },
  };
}
