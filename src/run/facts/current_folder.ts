import { CliError } from "../../cli_error.ts";

/**
 * The working directory.
 *
 * @param suggestion what to do where there is none to work in
 * @throws {CliError} when it has been removed, has a name that is not UTF-8, or lies where no path leads
 */
export function currentFolder(suggestion = "Change to another folder: cd ~"): string {
  const attempt = "Cannot work in the current folder";
  let path: string;
  try {
    path = Deno.cwd();
  } catch (cause) {
    const why = cause instanceof Deno.errors.InvalidData
      ? "its path is not UTF-8"
      : cause instanceof Deno.errors.NotFound
      ? "it no longer exists"
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new CliError(`${attempt}: ${why}`, { suggestion, cause });
  }
  if (path.startsWith("/")) return path;
  // getcwd(3) puts "(unreachable)" before the path of a folder outside of the process's root.
  throw new CliError(`${attempt}: no path leads to it from "/"`, { suggestion });
}
