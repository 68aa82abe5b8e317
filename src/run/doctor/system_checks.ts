import type { LibcInventory } from "../../../ffi/libc.ts";
import { type Platform, platformProblem } from "../../../ffi/platform.ts";
import { type Check, failedCheck, formatBytes } from "./check_report.ts";
import { closeFd, drainFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { type ExitStatus, killGroup, openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { DEFAULT_WINDOW_SIZE, openPty } from "../../../ffi/terminal/pty.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { makePrivateFolder } from "../../sandbox/folder/private_folder.ts";
import { removeEmpty, removeFolder } from "../../sandbox/remove_folder.ts";
import { parentOf } from "../../paths.ts";
import type { SweptFolder } from "../../sandbox/folder/sweep.ts";

/** Checks operating system, architecture and C library. */
export function platformCheck(platform: Platform): Check {
  const { os, arch, glibc } = platform;
  const data = { os, arch, glibc: glibc ?? null };
  const problem = platformProblem(platform);
  return problem === undefined
    ? { name: "platform", ok: true, detail: `${arch} Linux, glibc ${glibc ?? "unknown"}`, data }
    : { ...failedCheck("platform", problem), data };
}

/** Checks that the C library has every function that this program calls. */
export function libcCheck({ functions, missing }: LibcInventory): Check {
  const name = "libc";
  const data = { functions, missing };
  return missing.length === 0
    ? { name, ok: true, detail: `all ${functions} functions are there`, data }
    : {
      name,
      ok: false,
      detail: `${missing.length} of ${functions} functions are missing: ${missing.join(", ")}`,
      suggestion: "Use a system with an unmodified glibc, such as Debian 12",
      data,
    };
}

const SHELL = "/bin/sh";
const EXIT_CODE = 7;
/** Fails without a controlling terminal, and without a terminal on stdin and stdout. */
const SCRIPT = `: </dev/tty && [ -t 0 ] && [ -t 1 ] && printf seen && exit ${EXIT_CODE}`;
const OUTPUT = "seen";

/** How long the shell may take, in milliseconds. */
const SHELL_LIMIT_MS = 5000;

/** Checks pseudo-terminals: starts a shell in one, reads its output and waits for its exit. */
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
      ? `Cannot run ${SHELL} in a pseudo-terminal: it did not end in ${SHELL_LIMIT_MS / 1000} s`
      : `Cannot run ${SHELL} in a pseudo-terminal: its output or its end got lost`;
    return { name, ok: false, detail, suggestion, data: { ...data, exit: exit ?? null, output } };
  } catch (error) {
    return { suggestion, ...failedCheck(name, error) };
  }
}

/** Runs the script. `exit` is undefined if the shell had to be killed. */
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
  const deadline = performance.now() + SHELL_LIMIT_MS;
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

/** The minimum free disk space that a run needs for its transcript and logs, in bytes. */
const LEAST_FREE = 10_000_000;

/** How long a line may take through a FIFO, in milliseconds. */
const FIFO_LIMIT_MS = 1000;

/**
 * Checks a place for private folders: only this user can read a folder in it, it has room, and it can have a FIFO.
 *
 * @param tmp the place
 */
export async function fifoCheck(tmp: string): Promise<Check> {
  const name = "fifo";
  try {
    const free = await tryFolder(tmp);
    const data = { folder: tmp, free_bytes: free };
    return { name, ok: true, detail: `works in ${tmp}, ${formatBytes(free)} free`, data };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      name,
      ok: false,
      detail: `Cannot work in ${tmp}: ${why.replace(/ \(os error \d+\).*/su, "")}`,
      suggestion: "Set TMPDIR to a folder on a disk with room that you can write to",
      data: { folder: tmp },
    };
  }
}

/**
 * Creates a private folder, checks it and removes it.
 *
 * @returns the free disk space in bytes
 * @throws {Error} when a run could not use the folder
 */
async function tryFolder(tmp: string): Promise<number> {
  const { path } = makePrivateFolder(tmp);
  try {
    const mode = (Deno.statSync(path).mode ?? 0) & 0o777;
    if (mode !== 0o700) throw new Error(`a private folder gets the mode ${mode.toString(8)}`);
    // Loaded late because Deno 2.9.6 ends when it loads this module on a system without /proc.
    const { statfsSync } = await import("node:fs");
    const { bavail, bsize } = statfsSync(path);
    const free = bavail * bsize;
    if (free < LEAST_FREE) throw new Error(`only ${formatBytes(free)} are free`);
    if (!await carriesLine(`${path}/fifo`)) {
      throw new Error("a FIFO loses what is written to it");
    }
    return free;
  } finally {
    removeFolder(path);
    removeEmpty(parentOf(path));
  }
}

async function carriesLine(path: string): Promise<boolean> {
  const line = new TextEncoder().encode("line\n");
  makeFifo(path);
  using stack = new DisposableStack();
  const fd = openFifo(path);
  stack.defer(() => closeFd(fd));
  const poller = stack.use(new Poller());
  if (writeFd(fd, line) !== line.length) return false;
  const [ready] = await poller.wait([{ fd, read: true }], FIFO_LIMIT_MS);
  const buffer = new Uint8Array(16);
  if (ready?.readable !== true || readFd(fd, buffer) !== line.length) return false;
  return line.every((byte, index) => buffer[index] === byte);
}

/**
 * Checks for folders of runs that were killed, or could not move a transcript to the user's config dir.
 *
 * @param options.swept the result of a dry run of the sweep in `places`
 */
export function leftoversCheck(
  { swept, places }: { readonly swept: readonly SweptFolder[]; readonly places: readonly string[] },
): Check {
  const name = "leftovers";
  const paths = (verdict: SweptFolder["verdict"]) =>
    swept.filter((folder) => folder.verdict === verdict).map(({ path }) => path);
  const abandoned = paths("abandoned");
  const kept = swept.filter(({ verdict }) => verdict === "kept");
  const data = {
    folders: places,
    abandoned,
    kept: kept.map(({ path, reason }) => ({ path, reason })),
    live: paths("live"),
    foreign: paths("foreign"),
  };
  if (abandoned.length > 0) {
    const [first = "", ...others] = abandoned;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return {
      name,
      ok: false,
      detail: `A run left ${first}${more}`,
      suggestion: "Bring transcripts home and remove what is left: claude-print sweep",
      data,
    };
  }
  const [first] = kept;
  if (first !== undefined) {
    return {
      name,
      ok: false,
      detail: `Cannot sweep ${first.path}: ${first.reason}`,
      suggestion: "Look into the folder, and remove it yourself",
      data,
    };
  }
  return { name, ok: true, detail: `none in ${places.join(", ")}`, data };
}
