/** The properties of a machine that decide whether libc can be used. */
export interface Platform {
  /** `Deno.build.os`. */
  readonly os: string;
  /** `Deno.build.arch`. */
  readonly arch: string;
  /** `Deno.build.env`: the C library for which Deno was built, "gnu" or "musl". */
  readonly env?: string | undefined;
  /** State of Deno's ffi permission: "granted", "prompt" or "denied". */
  readonly ffiPermission: string;
  /** Version of the loaded glibc, such as "2.36"; absent until it is looked up. */
  readonly glibc?: string | undefined;
}

/** The oldest glibc with every function of the table. `addclosefrom_np` came with 2.34. */
const OLDEST_GLIBC = [2, 34] as const;

const NEEDED = `claude-print needs x86_64 Linux with glibc ${OLDEST_GLIBC.join(".")} or newer`;

/** libc cannot be used on this machine; `suggestion` is the remedy for the user. */
export class LibcUnavailableError extends Error {
  override readonly name = "LibcUnavailableError";
  readonly suggestion: string;

  constructor(reason: string, options: { readonly suggestion: string; readonly cause?: unknown }) {
    super(`Cannot use libc: ${reason}`, "cause" in options ? { cause: options.cause } : {});
    this.suggestion = options.suggestion;
  }
}

/**
 * Returns why libc cannot be used on `platform`, or undefined if it can.
 *
 * The struct layouts, constants and fixed prototypes of variadic functions in this folder are those
 * of x86_64 Linux with glibc, so anything else is refused before the first call.
 */
export function platformProblem(platform: Platform): LibcUnavailableError | undefined {
  const { os, arch, env, ffiPermission, glibc } = platform;
  if (os !== "linux") {
    return new LibcUnavailableError(`found ${os} on ${arch}, ${NEEDED}`, {
      suggestion: "Run claude-print in an x86_64 Linux container or virtual machine",
    });
  }
  if (arch !== "x86_64") {
    return new LibcUnavailableError(`found Linux on ${arch}, ${NEEDED}`, {
      suggestion:
        "Run claude-print on an x86_64 machine, or in a container with --platform linux/amd64",
    });
  }
  if (env !== undefined && env !== "gnu") {
    return new LibcUnavailableError(`found Linux with ${env} as its C library, ${NEEDED}`, {
      suggestion: "Use a system with glibc, such as Debian, Ubuntu or Fedora, instead of Alpine",
    });
  }
  if (ffiPermission !== "granted") {
    return new LibcUnavailableError(`Deno's ffi permission is "${ffiPermission}"`, {
      suggestion: "Run claude-print with deno run -A; the permission cannot be given at the prompt",
    });
  }
  if (glibc !== undefined && !isNewEnough(glibc)) {
    return new LibcUnavailableError(`found glibc ${glibc}, ${NEEDED}`, {
      suggestion: "Use a newer system, such as Debian 12, Ubuntu 22.04 or Fedora 35",
    });
  }
  return undefined;
}

function isNewEnough(glibc: string): boolean {
  const [major = 0, minor = 0] = glibc.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_GLIBC;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
