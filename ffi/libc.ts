import { LibcUnavailableError, type Platform, platformProblem } from "./platform.ts";

const LIBRARY = "libc.so.6";

/**
 * Every libc function that the program calls.
 *
 * `ioctl`, `open` and `syscall` are variadic in C; on x86_64 System V a fixed prototype passes its arguments in the
 * same registers. Only `poll` and `epoll_wait` run on another thread (`nonblocking`), so their errno cannot be read;
 * their result is in a buffer. `poll_at_once` is `poll` on this thread, for calls with a timeout of 0.
 */
const TABLE = {
  __errno_location: { parameters: [], result: "pointer" },
  accept4: { parameters: ["i32", "pointer", "pointer", "i32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  dup2: { parameters: ["i32", "i32"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32", nonblocking: true },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  execv: { parameters: ["buffer", "buffer"], result: "i32" },
  fstat: { parameters: ["i32", "buffer"], result: "i32" },
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  grantpt: { parameters: ["i32"], result: "i32" },
  inotify_add_watch: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  inotify_init1: { parameters: ["i32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  kill: { parameters: ["i32", "i32"], result: "i32" },
  listen: { parameters: ["i32", "i32"], result: "i32" },
  lseek: { parameters: ["i32", "i64", "i32"], result: "i64" },
  mkfifo: { parameters: ["buffer", "u32"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  pipe2: { parameters: ["buffer", "i32"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32", nonblocking: true },
  poll_at_once: { name: "poll", parameters: ["buffer", "u64", "i32"], result: "i32" },
  posix_openpt: { parameters: ["i32"], result: "i32" },
  posix_spawn_file_actions_addclosefrom_np: { parameters: ["buffer", "i32"], result: "i32" },
  posix_spawn_file_actions_adddup2: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  posix_spawn_file_actions_addfchdir_np: { parameters: ["buffer", "i32"], result: "i32" },
  posix_spawn_file_actions_addopen: {
    parameters: ["buffer", "i32", "buffer", "i32", "u32"],
    result: "i32",
  },
  posix_spawn_file_actions_destroy: { parameters: ["buffer"], result: "i32" },
  posix_spawn_file_actions_init: { parameters: ["buffer"], result: "i32" },
  posix_spawnattr_destroy: { parameters: ["buffer"], result: "i32" },
  posix_spawnattr_init: { parameters: ["buffer"], result: "i32" },
  posix_spawnattr_setflags: { parameters: ["buffer", "i16"], result: "i32" },
  posix_spawnattr_setsigdefault: { parameters: ["buffer", "buffer"], result: "i32" },
  posix_spawnattr_setsigmask: { parameters: ["buffer", "buffer"], result: "i32" },
  posix_spawnp: {
    parameters: ["buffer", "buffer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
  },
  pread: { parameters: ["i32", "buffer", "usize", "i64"], result: "isize" },
  ptsname_r: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  readlink: { parameters: ["buffer", "buffer", "usize"], result: "isize" },
  recvmsg: { parameters: ["i32", "buffer", "i32"], result: "isize" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  sendmsg: { parameters: ["i32", "buffer", "i32"], result: "isize" },
  signal: { parameters: ["i32", "pointer"], result: "pointer" },
  sigprocmask: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  strerrordesc_np: { parameters: ["i32"], result: "pointer" },
  strerrorname_np: { parameters: ["i32"], result: "pointer" },
  syscall: { parameters: ["i64", "i64", "i64"], result: "i64" },
  syscall_of_three: {
    name: "syscall",
    parameters: ["i64", "i64", "i64", "i64"],
    result: "i64",
  },
  unlockpt: { parameters: ["i32"], result: "i32" },
  waitpid: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
} as const;

/**
 * Functions that a run calls often or on another thread. Deno compiles each of them when the library is opened, which
 * takes 0.15 ms for each function. All other functions are called by their address, which takes 3 us for each call.
 */
const COMPILED: ReadonlySet<string> = new Set<keyof typeof TABLE>([
  "close",
  "epoll_wait",
  "open",
  "poll",
  "read",
  "write",
]);

/** The functions of libc, by their C names. */
export type Libc = Deno.DynamicLibrary<typeof TABLE>["symbols"];

const loaded = load();

/**
 * The table of libc functions, opened once and kept for the life of the program.
 *
 * The library is opened when this module is loaded. A failure is thrown only here, so that a program which imports this
 * folder but calls no function runs even if libc cannot be used.
 *
 * @throws LibcUnavailableError on anything but x86_64 Linux with glibc 2.34 or newer and `-A`.
 */
export function libc(): Libc {
  if (loaded instanceof LibcUnavailableError) throw loaded;
  return loaded;
}

function load(): Libc | LibcUnavailableError {
  const platform = thisPlatform();
  const problem = platformProblem(platform);
  if (problem !== undefined) return problem;
  try {
    return openLibrary();
  } catch (cause) {
    return platformProblem({ ...platform, glibc: glibcVersion() }) ??
      new LibcUnavailableError(`${LIBRARY} lacks a function or cannot be loaded`, {
        suggestion: "Use a system with an unmodified glibc, such as Debian 12",
        cause,
      });
  }
}

/** Opens the library with compiled functions and with functions that are called by their address. */
function openLibrary(): Libc {
  const rows = Object.entries<Deno.ForeignFunction>(TABLE);
  const { symbols } = Deno.dlopen(
    LIBRARY,
    Object.fromEntries(rows.map(([name, row]) => [
      name,
      COMPILED.has(name) ? row : { name: row.name ?? name, type: "pointer" } as const,
    ])),
  );
  return Object.fromEntries(rows.map(([name, row]) => {
    const symbol = symbols[name];
    if (COMPILED.has(name)) return [name, symbol];
    const called = new Deno.UnsafeFnPointer(symbol as Deno.PointerObject<typeof row>, row);
    return [name, (...args: never[]) => called.call(...args)];
  })) as unknown as Libc;
}

/** The functions of the table that this machine has. */
export interface LibcInventory {
  /** The platform, with the version of its glibc, if known. */
  readonly platform: Platform;
  /** The number of functions in the table. */
  readonly functions: number;
  /** The names of functions that the library lacks; all if it cannot be loaded. */
  readonly missing: readonly string[];
}

/** Looks for every function of the table. Unlike `libc()` it returns which ones are missing, and never throws. */
export function libcInventory(): LibcInventory {
  const names = Object.keys(TABLE);
  const optional = Object.fromEntries(
    Object.entries(TABLE).map(([name, row]) => [name, { ...row, optional: true }]),
  );
  let missing: readonly string[] = names;
  try {
    const library = Deno.dlopen(LIBRARY, optional);
    missing = names.filter((name) => library.symbols[name] === null);
    library.close();
  } catch {
    // The library does not exist or Deno lacks the permission, so all functions are missing.
  }
  return {
    platform: { ...thisPlatform(), glibc: glibcVersion() },
    functions: names.length,
    missing,
  };
}

function thisPlatform(): Platform {
  const { os, arch, env } = Deno.build;
  return { os, arch, env, ffiPermission: Deno.permissions.querySync({ name: "ffi" }).state };
}

function glibcVersion(): string | undefined {
  try {
    const library = Deno.dlopen(LIBRARY, {
      gnu_get_libc_version: { parameters: [], result: "pointer" },
    });
    const version = library.symbols.gnu_get_libc_version();
    library.close();
    return version === null ? undefined : Deno.UnsafePointerView.getCString(version);
  } catch {
    return undefined;
  }
}
