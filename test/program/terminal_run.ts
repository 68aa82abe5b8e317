import { closeFd, drainFd, writeFd } from "../../ffi/descriptors/fd.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { type ExitStatus, openPidfd, waitFor } from "../../ffi/processes/process.ts";
import { openPty, type WindowSize } from "../../ffi/terminal/pty.ts";
import { spawn } from "../../ffi/processes/spawn.ts";

/** A program that has ended, and what the terminal it ran in was sent. */
export interface TerminalRun {
  readonly exit: ExitStatus;
  readonly output: string;
}

/** Runs a program as a person would: stdin, stdout and stderr are a terminal of this size. */
export async function runInTerminal(
  [program = "", ...args]: readonly string[],
  { size, cwd, env, meanwhile = () => Promise.resolve(), type = () => undefined }: {
    readonly size: WindowSize;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    /** What happens to the program while it runs. */
    readonly meanwhile?: (
      terminal: { readonly resize: (size: WindowSize) => void },
    ) => Promise<void>;
    /** Returns the text to type for an output; each text is typed once. */
    readonly type?: (shown: string) => string | undefined;
  },
): Promise<TerminalRun> {
  using stack = new DisposableStack();
  const pty = stack.use(openPty(size));
  const poller = stack.use(new Poller());
  const pid = spawn(program, { args, env, cwd, pty });
  const pidfd = openPidfd(pid);
  stack.defer(() => closeFd(pidfd));
  const buffer = new Uint8Array(65536);
  const decoder = new TextDecoder();
  let output = "";
  let typed = "";
  const drain = () =>
    drainFd(pty.fd, {
      buffer,
      onBytes: (bytes) => output += decoder.decode(bytes, { stream: true }),
    });
  let exit: ExitStatus | undefined;
  const happening = meanwhile({ resize: (size) => pty.resize(size) });
  while (exit === undefined) {
    await poller.wait([{ fd: pty.fd, read: true }, { fd: pidfd, read: true }], 1000);
    drain();
    const text = type(output);
    if (text !== undefined && text !== typed) writeFd(pty.fd, new TextEncoder().encode(text));
    typed = text ?? typed;
    exit = waitFor(pid);
  }
  while (drain() === "more");
  await happening;
  return { exit, output };
}
