import { findCassettes, type FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { CliError } from "../../cli_error.ts";

/**
 * The cassettes and tapes at paths.
 *
 * @param options.to what is to be done with them
 * @throws {CliError} when there is none, or it cannot be told what is one
 */
export function cassettesAt(
  { paths, inputName }: {
    readonly paths: readonly string[];
    readonly inputName?: string | undefined;
  },
  { to, ...error }: { readonly to: string; readonly exitCode?: number },
): readonly FoundCassette[] {
  const found = findCassettes(paths, inputName === undefined ? {} : { inputName });
  if (found.length > 0) return found;
  const what = inputName === undefined
    ? { lack: "", hint: "" }
    : { lack: `, nor a folder with ${inputName}`, hint: ", or by --input-name the tape in each" };
  throw new CliError(
    `Cannot ${to} ${paths.join(", ")}: there is no cassette, and no tape${what.lack}`,
    { suggestion: `Name a cassette, a tape (*.jsonl), or a folder of them${what.hint}`, ...error },
  );
}
