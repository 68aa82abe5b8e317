import { asCliError } from "../../cli_error.ts";
import { StoppedError } from "../../run/stopped_error.ts";
import type { OutputWriter } from "../../wire/output_writer.ts";
import { resultFrame } from "../../frames/result/result_frame.ts";
import { reportError } from "./report_error.ts";

/**
 * Tells a failure that kept a run from its turn on stderr, and where a format promises a result, in a result.
 *
 * @returns the exit code
 */
export function reportFailure(
  thrown: unknown,
  options: {
    readonly writer: OutputWriter;
    readonly sessionId?: string | undefined;
    readonly label?: string | undefined;
    readonly tell?: (text: string) => void;
  },
): number {
  const error = asCliError(thrown);
  const exitCode = reportError(error, options);
  options.writer.frame(resultFrame({
    version: "unknown",
    sessionId: options.sessionId ?? crypto.randomUUID(),
    uuid: crypto.randomUUID(),
    outcome: error instanceof StoppedError ? error.outcome : {
      kind: "internal_error",
      message: error instanceof Error ? error.message : String(error),
    },
    turns: [],
  }));
  options.writer.end();
  return exitCode;
}
