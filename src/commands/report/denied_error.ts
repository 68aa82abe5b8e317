import { CliError } from "../../cli/cli_error.ts";

/** The program as a package; without these flags the folder it is started in could put another in its place. */
const WITH_ALL_ACCESS = "deno run -A --no-config --no-lock jsr:@claude-print/cli";

/**
 * What to say of an error if it is a permission that this program was not given; any other error as it is.
 *
 * The executable has a list of permissions. It is complete but for `/dev`, `/proc` and `/sys`, whose files Deno opens
 * only to a program that has every permission.
 */
export function deniedError(error: unknown): unknown {
  if (!(error instanceof Deno.errors.NotCapable)) return error;
  const [, lacking = "a permission"] =
    /^Requires (.+?)(?:, (?:specify|run) |$)/u.exec(error.message) ?? [];
  return new CliError(`Cannot go on: this program was not given ${lacking}`, {
    suggestion: /"\/(?:dev|proc|sys)\//u.test(lacking)
      ? `Use folders outside of /dev, /proc and /sys, or run ${WITH_ALL_ACCESS}`
      : `Run ${WITH_ALL_ACCESS}, and report this line`,
    cause: error,
  });
}
