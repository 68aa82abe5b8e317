import type { RunRequest } from "../../cli/run_request.ts";
import type { Outlets } from "../report/outlets.ts";
import { converseAloud } from "./converse_aloud.ts";
import { CallerSource } from "../../driver/sources/caller/caller_source.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { createOutputWriter } from "../../wire/output_writer.ts";

/** The fd on which the caller speaks. */
const STDIN = 0;

/**
 * A conversation on stdin and stdout, as `claude -p --input-format stream-json` holds it.
 *
 * @returns the exit code
 */
export async function converseOnStdin(
  request: RunRequest,
  options: {
    readonly write: (text: string) => void;
    readonly outlets: Outlets;
    readonly signals: StopSignals;
  },
): Promise<number> {
  // claude -p leaves a prompt on the command line out where messages come from a pipe or a file.
  const first = Deno.stdin.isTerminal() ? request.promptArgument : undefined;
  return await converseAloud(request, {
    ...options,
    writer: createOutputWriter("stream-json", { verbose: true, write: options.write }),
    caller: new CallerSource(STDIN, {
      first: first === undefined ? [] : [{ type: "user", text: first, content: first }],
    }),
  });
}
