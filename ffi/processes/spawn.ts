/**
 * Starts a program, normally on a pseudo-terminal.
 *
 * It uses posix_spawn(3), and never fork, forkpty or "openpty, fork, exec": V8 marks its heap and code ranges
 * MADV_DONTFORK, so a forked child has no JavaScript to which it can return, and always dies by SIGSEGV. posix_spawn
 * does its work between vfork and exec inside libc and runs no JavaScript in the child.
 *
 * @module
 */

import { cString, cStringArray } from "../c_string.ts";
import { type Attempt, checked, LibcError } from "../errno.ts";
import { closeFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";
import { stopIgnoringSigchld } from "./own_signals.ts";
import type { Pty } from "../terminal/pty.ts";

/** Options of a child. */
export interface SpawnOptions {
  /** The arguments after argv[0], which is `file`. */
  readonly args: readonly string[];
  /** The complete environment; the child inherits nothing. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which the child starts. */
  readonly cwd: string;
  /** The child's controlling terminal and its fds 1 and 2. Without a terminal, its output goes to /dev/null. */
  readonly pty?: Pty;
  /**
   * The child's fd 0: the path of a file, relative to this process's folder, or an open fd. By default, it is the
   * terminal.
   */
  readonly stdin?: string | number;
  /** Open fds that the child gets as its fds 3, 4 and so on. */
  readonly passedFds?: readonly number[];
}

const O_RDONLY = 0;
const O_RDWR = 0o2;
const O_DIRECTORY = 0o200000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;

const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;

/** The sizes reserved for glibc's opaque types. Their true sizes on x86_64 are 336, 80 and 128 bytes. */
const ATTRIBUTES_BYTES = 512;
const ACTIONS_BYTES = 128;
const SIGSET_BYTES = 128;

/**
 * Starts `file` and returns its process id; the caller has to reap it with `waitFor`.
 *
 * The child leads its own session and process group, in the foreground of its pty. All its signals have their default
 * actions and none is blocked, although Deno ignores SIGPIPE. It has the fds 0, 1 and 2, those of `passedFds`, and no
 * other. A `file` without a slash is looked up in this process's PATH, not in the PATH of `env`, so callers should pass
 * an absolute path. A relative path with a slash starts at `cwd`.
 *
 * @throws LibcError whose path is `cwd`, `stdin`, the output or `file`, whichever caused it: ENOENT and EACCES of
 * `file` are known immediately, E2BIG is an argument over 128 KiB or too many of them.
 * @throws TypeError for a string that holds a NUL, or a name that an environment cannot hold.
 */
export function spawn(file: string, options: SpawnOptions): number {
  const { args, env, cwd, pty, stdin, passedFds = [] } = options;
  stopIgnoringSigchld();
  const argv = cStringArray([file, ...args]);
  const envp = cStringArray(Object.entries(env).map(([name, value]) => variable(name, value)));
  // Opened here, not by the child, so that an error names its file: posix_spawn reports only a number for all errors.
  // "/." requires the right to enter the folder, as chdir would.
  using folder = open(cwd === "" ? cwd : `${cwd}/.`, {
    flags: O_PATH | O_DIRECTORY | O_CLOEXEC,
    attempt: { call: "open", action: "enter the folder", path: cwd },
  });
  using inputFile = typeof stdin !== "string" ? undefined : open(stdin, {
    flags: O_RDONLY | O_CLOEXEC,
    attempt: { call: "open", action: "open the input file", path: stdin },
  });
  const input = typeof stdin === "number" ? stdin : inputFile?.fd;
  const output = pty?.path ?? "/dev/null";
  // The child itself opens the output, so that it becomes the child's terminal. This open only checks that the path
  // exists.
  using _output = open(output, {
    flags: O_PATH | O_CLOEXEC,
    attempt: { call: "open", action: "open the child's output", path: output },
  });
  using attributes = spawnAttributes();
  using actions = fileActions({ output, folder: folder.fd, input, passedFds });
  const pid = new Int32Array(1);
  spawnChecked(
    libc().posix_spawnp(pid, cString(file), actions.bytes, attributes.bytes, argv, envp),
    { call: "posix_spawnp", action: "start", path: file },
  );
  return pid[0] ?? 0;
}

interface OpenFile extends Disposable {
  readonly fd: number;
}

function open(
  path: string,
  options: { readonly flags: number; readonly attempt: Attempt },
): OpenFile {
  const fd = checked(libc().open(cString(path), options.flags), options.attempt);
  return { fd, [Symbol.dispose]: () => closeFd(fd) };
}

/** Memory that holds one of posix_spawn's opaque types. */
interface Opaque extends Disposable {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

function spawnAttributes(): Opaque {
  const c = libc();
  const bytes = new Uint8Array(ATTRIBUTES_BYTES);
  const attempt = { call: "posix_spawnattr", action: "prepare a process" };
  spawnChecked(c.posix_spawnattr_init(bytes), attempt);
  const flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  spawnChecked(c.posix_spawnattr_setflags(bytes, flags), attempt);
  const every = new Uint8Array(SIGSET_BYTES).fill(0xff);
  spawnChecked(c.posix_spawnattr_setsigdefault(bytes, every), attempt);
  spawnChecked(c.posix_spawnattr_setsigmask(bytes, new Uint8Array(SIGSET_BYTES)), attempt);
  return { bytes, [Symbol.dispose]: () => void c.posix_spawnattr_destroy(bytes) };
}

/**
 * The operations on the child's fds before exec, in this order.
 *
 * At that time, the child is a session leader without a terminal, so the first terminal that it opens becomes its
 * controlling one (no O_NOCTTY). The input replaces fd 0 afterwards, and closing all other fds has to come last.
 */
function fileActions(
  options: {
    readonly output: string;
    readonly folder: number;
    readonly input: number | undefined;
    readonly passedFds: readonly number[];
  },
): Opaque {
  const c = libc();
  const bytes = new Uint8Array(ACTIONS_BYTES);
  const attempt = { call: "posix_spawn_file_actions", action: "prepare a process" };
  spawnChecked(c.posix_spawn_file_actions_init(bytes), attempt);
  const opaque: Opaque = {
    bytes,
    [Symbol.dispose]: () => void c.posix_spawn_file_actions_destroy(bytes),
  };
  try {
    const { output, folder, input = 1, passedFds } = options;
    const results = [
      c.posix_spawn_file_actions_addopen(bytes, 1, cString(output), O_RDWR, 0),
      c.posix_spawn_file_actions_adddup2(bytes, 1, 2),
      c.posix_spawn_file_actions_adddup2(bytes, input, 0),
      c.posix_spawn_file_actions_addfchdir_np(bytes, folder),
      ...passedFds.map((fd, index) => c.posix_spawn_file_actions_adddup2(bytes, fd, 3 + index)),
      c.posix_spawn_file_actions_addclosefrom_np(bytes, 3 + passedFds.length),
    ];
    for (const result of results) spawnChecked(result, attempt);
    return opaque;
  } catch (error) {
    opaque[Symbol.dispose]();
    throw error;
  }
}

/** Checks the result of posix_spawn and related functions, which return the error number and do not set errno. */
function spawnChecked(errno: number, attempt: Attempt): void {
  if (errno !== 0) throw new LibcError(errno, attempt);
}

function variable(name: string, value: string): string {
  if (name === "" || name.includes("=")) {
    throw new TypeError(
      `Cannot put ${JSON.stringify(name)} into an environment: no such name can be`,
    );
  }
  return `${name}=${value}`;
}
