import { BadInputError, CliError, toCliError } from "../../cli_error.ts";
import { print } from "./print.ts";
import { type Notified, reportError } from "./report_error.ts";
import { buildResult } from "../../conversation/output/result/build_result.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";
import { StoppedError } from "../../run/waits.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../claude/wire/output_writer.ts";

/**
 * Reports a failure that prevented a run's turn: on stderr, and in a result frame if the output format promises one.
 *
 * @returns the exit code
 */
export function reportFailure(
  thrown: unknown,
  options: {
    readonly writer: OutputWriter;
    readonly sessionId?: string | undefined;
    readonly label?: string | undefined;
    readonly outlets?: Notified;
  },
): number {
  const error = toCliError(thrown);
  const exitCode = reportError(error, options);
  const { failedBeforeStart = false, claudeVersion = "unknown" } = error instanceof CliError
    ? error
    : {};
  const frame = buildResult({
    version: claudeVersion,
    sessionId: options.sessionId ?? crypto.randomUUID(),
    uuid: crypto.randomUUID(),
    outcome: error instanceof StoppedError ? error.outcome : {
      kind: failedBeforeStart
        ? "error_during_execution"
        : error instanceof BadInputError
        ? "bad_input"
        : "internal_error",
      message: error instanceof Error ? error.message : String(error),
    },
    ...(failedBeforeStart ? { cost: NO_COST } : {}),
  });
  options.writer.frame(failedBeforeStart ? withoutTurns(frame) : frame);
  options.writer.end();
  return exitCode;
}

const NO_COST = { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined };

/** Keys about turns, which `claude -p` leaves out of the result of a run that failed before its start. */
const TURN_KEYS = [
  "terminal_reason",
  "fast_mode_state",
  "fast_mode_disabled_reason",
  "subagent_stats",
  "safety_stops",
  "queued_turn_count",
];

function withoutTurns(frame: ResultFrame): ResultFrame {
  const kept = Object.entries(frame).filter(([name]) => !TURN_KEYS.includes(name));
  return Object.fromEntries(kept) as unknown as ResultFrame;
}

/**
 * Reports a command line that could not be read, in the output format that it seems to request.
 *
 * @returns the exit code
 */
export function reportUsageError(error: unknown, argv: readonly string[]): number {
  const writer = createOutputWriter(outputFormatIn(argv), {
    verbose: argv.includes("--verbose"),
    write: (text) => print(Deno.stdout, text),
  });
  return reportFailure(error, { writer });
}

function outputFormatIn(argv: readonly string[]): OutputFormat {
  const [, format] =
    /^.*\0--output-format[=\0](json|stream-json)\0/s.exec(`\0${argv.join("\0")}\0`) ?? [];
  return format === "json" || format === "stream-json" ? format : "text";
}
