import { escapedText } from "../../ffi/c_string.ts";
import { LibcError } from "../../ffi/errno.ts";
import { readProcStrings } from "../../ffi/processes/proc.ts";
import { CliError } from "../cli_error.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string>>;

const decoder = new TextDecoder("utf-8", { fatal: true });
const EQUALS = "=".charCodeAt(0);

/**
 * The environment of this program, with the variables that are not UTF-8, which Deno leaves out: their bytes are kept
 * as `escapedText` does, so that a child gets them as they are.
 */
export function callerEnvironment(): Environment {
  const env = Deno.env.toObject();
  const left = nonUtf8Entries().map(escapedText).map((entry) => {
    const at = entry.indexOf("=");
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
  return left.length === 0 ? env : { ...Object.fromEntries(left), ...env };
}

/** What of the environment is not UTF-8, each a name and a value; nothing where `/proc` cannot be read. */
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
 * The value of an environment variable that names a folder this program works in.
 *
 * @throws {CliError} when it is not UTF-8: Deno reaches no such folder
 */
export function pathVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  if (value === undefined || value.isWellFormed()) return value;
  throw new CliError(`Cannot use ${name}: it is not UTF-8`, {
    suggestion: `Set ${name} to a folder whose path is UTF-8`,
  });
}

/** Whether a variable switches something on, as Claude Code reads its own. */
export function isSwitchedOn(value: string | undefined): boolean {
  return /^(?:1|true|yes|on)$/iu.test(value ?? "");
}
