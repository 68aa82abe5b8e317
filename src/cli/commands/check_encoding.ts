import { LibcError } from "../../../ffi/errno.ts";
import { readProcStrings } from "../../../ffi/processes/proc.ts";
import { CliError } from "../../cli_error.ts";

const REPLACEMENT = "\uFFFD";

/**
 * Refuses arguments that are not UTF-8: Deno puts U+FFFD for what is not, and only the bytes tell whether that was
 * typed.
 *
 * @throws {CliError} for the first one that is not
 */
export function checkEncoding(argv: readonly string[]): void {
  const typed = typedArguments();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const encoder = new TextEncoder();
  for (const [index, argument] of argv.entries()) {
    if (!argument.includes(REPLACEMENT)) continue;
    const bytes = encoder.encode(argument);
    const changed = typed.find((each) =>
      decoder.decode(each) === argument &&
      (each.length !== bytes.length || each.some((byte, at) => byte !== bytes[at]))
    );
    if (changed === undefined) continue;
    throw new CliError(`Cannot read the command line: argument ${index + 1} is not UTF-8`, {
      suggestion: "Convert it with iconv -t UTF-8, or give a file a name that is UTF-8",
    });
  }
}

/** The arguments of this process as bytes; none where `/proc` cannot be read. */
function typedArguments(): readonly Uint8Array[] {
  try {
    return readProcStrings("/proc/self/cmdline");
  } catch (error) {
    if (error instanceof LibcError) return [];
    throw error;
  }
}
