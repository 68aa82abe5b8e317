import { checked } from "../errno.ts";
import { libc } from "../libc.ts";

/** Requests of ioctl_tty(2). */
const TCGETS = 0x5401n;
const TCSETS = 0x5402n;
const TCFLSH = 0x540bn;

/** Bits of `c_lflag`: line mode, and echo of typed characters. */
const ICANON = 0o2;
const ECHO = 0o10;

/** The kernel's `struct termios` on x86_64: its rounded size and the offsets of `c_lflag` and VSUSP (Ctrl-Z), in bytes. */
const TERMIOS_BYTES = 64;
const LFLAG = 12;
const VSUSP = 17 + 10;

/**
 * Makes a terminal drop typed characters until disposed. They are not shown, and the next program that reads the
 * terminal does not receive them. Ctrl-C keeps its effect. Ctrl-Z has no effect, because a shell could not use the
 * screen.
 *
 * @param fd open on the terminal
 * @throws LibcError ENOTTY if it is no terminal
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
      // A null argument is TCIFLUSH, which drops typed characters. Both calls fail on a closed terminal, which needs neither.
      ioctl(fd, TCFLSH, null);
      ioctl(fd, TCSETS, before);
    },
  };
}
