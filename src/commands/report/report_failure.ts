import { asCliError, CliError } from "../../cli_error.ts";
import { print } from "./print.ts";
import { reportError } from "./report_error.ts";
import { resultFrame } from "../../frames/result/result_frame.ts";
import type { ResultFrame } from "../../wire/frame.ts";
import { StoppedError } from "../../run/stopped_error.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../wire/output_writer.ts";

/**
 * Tells a failure that kept a run from its turn on stderr, and where a format promises a result, in a result.
 *
 * @returns the exit code
 */
export function reportFailure(
  thrown: unknown,
  options: {
    readonly writer: OutputWriter;
    readonly format: OutputFormat;
    readonly sessionId?: string | undefined;
    readonly label?: string | undefined;
    readonly tell?: (text: string) => void;
  },
): number {
  const error = asCliError(thrown);
  const exitCode = reportError(error, options);
  const kind = error instanceof CliError ? kindOf(error, options.format) : "internal_error";
  const frame = resultFrame({
    version: "unknown",
    sessionId: options.sessionId ?? crypto.randomUUID(),
    uuid: crypto.randomUUID(),
    outcome: error instanceof StoppedError ? error.outcome : {
      kind,
      message: error instanceof Error ? error.message : String(error),
    },
    turns: [],
    ...(kind === "error_during_execution" ? { cost: NOTHING } : {}),
  });
  options.writer.frame(kind === "error_during_execution" ? unbegun(frame) : frame);
  options.writer.end();
  return exitCode;
}

const NOTHING = { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined };

/** The result of a session that there is not, as `claude -p` tells it. */
function unbegun(
  { terminal_reason: _, fast_mode_state: __, ...frame }: ResultFrame,
): ResultFrame {
  return frame as ResultFrame;
}

function kindOf(
  { refusal }: CliError,
  format: OutputFormat,
): "internal_error" | "error_during_execution" | "refused" {
  if (refusal === undefined) return "internal_error";
  return refusal === "result" && format === "stream-json" ? "error_during_execution" : "refused";
}

/**
 * Answers a command line that could not be read, in the output format that it seems to ask for.
 *
 * @returns the exit code
 */
export function reportMisuse(error: unknown, argv: readonly string[]): number {
  const format = formatOf(argv);
  const writer = createOutputWriter(format, {
    verbose: argv.includes("--verbose"),
    write: (text) => print(Deno.stdout, text),
  });
  return reportFailure(error, { writer, format });
}

function formatOf(argv: readonly string[]): OutputFormat {
  const [, format] =
    /^.*\0--output-format[=\0](json|stream-json)\0/s.exec(`\0${argv.join("\0")}\0`) ??
      [];
  return format === "json" || format === "stream-json" ? format : "text";
}
