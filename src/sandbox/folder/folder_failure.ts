import { ERRNO } from "../../../ffi/errno.ts";
import { CliError } from "../../cli_error.ts";

/**
 * What is told of a private folder that could not be made or filled.
 *
 * @param action what could not be done, such as "Cannot create a private folder in /tmp"
 * @param options.suggestion what to do about it, unless no other place would help
 */
export function folderFailure(
  action: string,
  { suggestion, cause }: { readonly suggestion: string; readonly cause: unknown },
): CliError {
  return new CliError(`${action}: ${reason(cause)}`, {
    suggestion: remedy(cause) ?? suggestion,
    cause,
  });
}

/** What is told where no private folder could be made; what is told of it already stays. */
export function privateFolderFailure(tmp: string, cause: unknown): CliError {
  return cause instanceof CliError
    ? cause
    : folderFailure(`Cannot create a private folder in ${tmp}`, {
      suggestion: "Set TMPDIR to a folder you can write to",
      cause,
    });
}

/** What to do where another place would not help: a file may not be as large as it would have to be, anywhere. */
function remedy(cause: unknown): string | undefined {
  return cause instanceof Error && cause.message.includes(`(os error ${ERRNO.EFBIG})`)
    ? "Raise the limit of the size of files: ulimit -f"
    : undefined;
}

function reason(cause: unknown): string {
  if (cause instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (cause instanceof Deno.errors.NotFound || cause instanceof Deno.errors.NotADirectory) {
    return "no such folder";
  }
  if (cause instanceof Deno.errors.NotCapable) {
    return "Deno lets this program write to no such place";
  }
  return cause instanceof Error ? cause.message : String(cause);
}
