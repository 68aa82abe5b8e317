import { closeFd, drainFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { type ExitStatus, killGroup, openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { DEFAULT_WINDOW_SIZE, openPty } from "../../../ffi/terminal/pty.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { type Check, failedCheck } from "./check.ts";

const SHELL = "/bin/sh";
const EXIT_CODE = 7;
/** Needs a controlling terminal, and the terminal on stdin and stdout. */
const SCRIPT = `: </dev/tty && [ -t 0 ] && [ -t 1 ] && printf seen && exit ${EXIT_CODE}`;
const OUTPUT = "seen";

/** Time a shell may take to say a word, in milliseconds. */
const LIMIT_MS = 5000;

/** Whether a program runs in a pseudo-terminal: a shell is started, its output seen, its end awaited. */
export async function ptyCheck(): Promise<Check> {
  const name = "pty";
  const startedAt = performance.now();
  const suggestion =
    "Look whether /dev/ptmx, /dev/pts and /dev/tty are there, as in a container with a tty";
  try {
    const { path, exit, output } = await runShell();
    const ms = Math.round(performance.now() - startedAt);
    const data = { path, ms };
    if (exit?.kind === "exited" && exit.code === EXIT_CODE && output === OUTPUT) {
      return { name, ok: true, detail: `a shell ran in ${path}, ${ms} ms`, data };
    }
    const detail = exit === undefined
      ? `Cannot run ${SHELL} in a pseudo-terminal: it did not end in ${LIMIT_MS / 1000} s`
      : `Cannot run ${SHELL} in a pseudo-terminal: its output or its end got lost`;
    return { name, ok: false, detail, suggestion, data: { ...data, exit: exit ?? null, output } };
  } catch (error) {
    return { suggestion, ...failedCheck(name, error) };
  }
}

/** Runs the script; without an exit it had to be killed. */
async function runShell(): Promise<
  { readonly path: string; readonly exit: ExitStatus | undefined; readonly output: string }
> {
  using stack = new DisposableStack();
  const poller = stack.use(new Poller());
  const pty = stack.use(openPty(DEFAULT_WINDOW_SIZE));
  const pid = spawn(SHELL, { args: ["-c", SCRIPT], env: {}, cwd: "/", pty });
  let exit: ExitStatus | undefined;
  stack.defer(() => {
    if (exit === undefined) killGroup(pid, "SIGKILL");
  });
  const pidfd = openPidfd(pid);
  stack.defer(() => closeFd(pidfd));
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);
  let output = "";
  const read = () =>
    drainFd(pty.fd, { buffer, onBytes: (bytes) => output += decoder.decode(bytes) }) !== "end";
  const deadline = performance.now() + LIMIT_MS;
  let open = true;
  while (exit === undefined && performance.now() < deadline) {
    await poller.wait(
      [{ fd: pidfd, read: true }, ...(open ? [{ fd: pty.fd, read: true }] : [])],
      deadline - performance.now(),
    );
    if (open) open = read();
    exit = waitFor(pid);
  }
  if (open) read();
  return { path: pty.path, exit, output };
}
