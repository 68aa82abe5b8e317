import { libc } from "./libc.ts";

/** The error numbers on which callers decide, as x86_64 Linux numbers them (errno(3)). */
export const ERRNO = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  EBADF: 9,
  EAGAIN: 11,
  ENOTDIR: 20,
  EINVAL: 22,
  EFBIG: 27,
  EPIPE: 32,
  EADDRINUSE: 98,
  ECONNABORTED: 103,
  ECONNRESET: 104,
  ECONNREFUSED: 111,
} as const;

/** A libc call and its purpose, for the text of an error. */
export interface Attempt {
  /** Name of the libc function. */
  readonly call: string;
  /** The purpose, as in `Cannot <action>`. The path follows it. */
  readonly action: string;
  /** The file that the call used. */
  readonly path?: string;
}

/** A libc call failed. The error has the call, the error number and the file. */
export class LibcError extends Error {
  override readonly name = "LibcError";
  /** The libc function, such as "open". */
  readonly call: string;
  /** The error number, such as 2. */
  readonly errno: number;
  /** The name of the error number, such as "ENOENT". */
  readonly code: string;
  /** What the error number means, such as "No such file or directory". */
  readonly description: string;
  /** The file that the call used, if any. */
  readonly path?: string;

  constructor(errno: number, attempt: Attempt) {
    const { call, action, path } = attempt;
    const code = errnoText(libc().strerrorname_np(errno)) ?? `errno ${errno}`;
    const description = errnoText(libc().strerrordesc_np(errno)) ?? "Unknown error";
    const subject = path === undefined ? "" : ` "${path}"`;
    super(`Cannot ${action}${subject}: ${description} (${call}: ${code})`);
    this.call = call;
    this.errno = errno;
    this.code = code;
    this.description = description;
    if (path !== undefined) this.path = path;
  }
}

/** Returns the result of a libc call. Throws the errno of a -1 as a LibcError. */
export function checked(result: number, attempt: Attempt): number {
  if (result === -1) throw new LibcError(lastErrno(), attempt);
  return result;
}

let location: Deno.UnsafePointerView | undefined;

/**
 * The error number of this thread's last failed libc call.
 *
 * It is valid only right after a synchronous call that failed, because a nonblocking call leaves its errno on the
 * thread that ran it. The address is constant for a thread, so it is looked up once.
 */
export function lastErrno(): number {
  location ??= errnoLocation();
  return location.getInt32();
}

function errnoLocation(): Deno.UnsafePointerView {
  const pointer = libc().__errno_location();
  if (pointer === null) throw new TypeError("Cannot read errno: __errno_location returned NULL");
  return new Deno.UnsafePointerView(pointer);
}

function errnoText(pointer: Deno.PointerValue): string | undefined {
  return pointer === null ? undefined : Deno.UnsafePointerView.getCString(pointer);
}
