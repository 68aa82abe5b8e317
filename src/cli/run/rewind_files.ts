import type { OutputFormat } from "../../claude/wire/output_writer.ts";
import type { Invocation } from "./invocation.ts";
import { CliError } from "../../cli_error.ts";
import { SUGGESTION, WITH_PROMPT } from "../arguments/rewinding_of.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { earlyWarnings, prepareRun } from "../../run/prepare_run.ts";
import { rewindAlone } from "../../run/headless_run.ts";
import type { Teardown } from "../../run/teardown.ts";

/** How Claude Code marks what is told on stderr because stdout is for frames. */
const GUARD = "[stdout-guard] ";

/**
 * Restores files as `claude -p --rewind-files` does: one line says so, in json too, and on stderr where stdout is for
 * frames.
 *
 * @returns the exit code
 */
export async function rewindFiles(
  order: RunOrder & { readonly rewindsTo: string },
  { outputFormat, write, warn, teardown, invocation: { outlets, signals, handedOver } }: {
    readonly outputFormat: OutputFormat;
    readonly write: (text: string) => void;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
    readonly invocation: Pick<Invocation, "outlets" | "signals" | "handedOver">;
  },
): Promise<number> {
  if (order.prompt !== "") throw new CliError(WITH_PROMPT, { suggestion: SUGGESTION });
  const prepared = await prepareRun(order);
  teardown.own(prepared);
  for (const warning of earlyWarnings(prepared)) warn(warning);
  if (order.record !== undefined) warn("There is no recording: files are restored without a child");
  await handedOver?.commit();
  const said = await rewindAlone(prepared, { message: order.rewindsTo, signals });
  if (outputFormat === "stream-json") outlets.tell(`${GUARD}${said.stdout}`);
  else write(said.stdout);
  if (said.stderr !== "") outlets.tell(said.stderr);
  teardown.run();
  return 0;
}
