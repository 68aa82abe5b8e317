import { escapedText } from "../../ffi/c_string.ts";
import { LibcError } from "../../ffi/errno.ts";
import { readProcStrings } from "../../ffi/processes/proc.ts";
import { CliError } from "../cli_error.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string>>;

const decoder = new TextDecoder("utf-8", { fatal: true });
const EQUALS = "=".charCodeAt(0);

/**
 * Returns the environment of this program. Deno omits variables that are not UTF-8; they are added with `escapedText`, so
 * that a child receives the same bytes.
 */
export function callerEnvironment(): Environment {
  const env = Deno.env.toObject();
  const left = nonUtf8Entries().map(escapedText).map((entry) => {
    const at = entry.indexOf("=");
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
  return left.length === 0 ? env : { ...Object.fromEntries(left), ...env };
}

/** The entries of the environment that are not UTF-8; empty if `/proc` cannot be read. */
function nonUtf8Entries(): readonly Uint8Array[] {
  try {
    return readProcStrings("/proc/self/environ")
      .filter((entry) => entry.includes(EQUALS) && !isUtf8(entry));
  } catch (error) {
    if (error instanceof LibcError) return [];
    throw error;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the value of an environment variable that names a folder.
 *
 * @throws {CliError} if it is not UTF-8, because Deno cannot use such a path
 */
export function pathVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  if (value === undefined || value.isWellFormed()) return value;
  throw new CliError(`Cannot use ${name}: it is not UTF-8`, {
    suggestion: `Set ${name} to a folder whose path is UTF-8`,
  });
}

/** Whether a variable's value means "on", by Claude Code's rules. */
export function isSwitchedOn(value: string | undefined): boolean {
  return /^(?:1|true|yes|on)$/iu.test(value ?? "");
}
