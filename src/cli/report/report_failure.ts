import { asCliError, BadInputError, CliError } from "../../cli_error.ts";
import { print } from "./print.ts";
import { reportError } from "./report_error.ts";
import { resultFrame } from "../../conversation/output/result/result_frame.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";
import { StoppedError } from "../../run/waits.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../claude/wire/output_writer.ts";

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
  const { isUnbegun = false, claudeVersion = "unknown" } = error instanceof CliError ? error : {};
  const frame = resultFrame({
    version: claudeVersion,
    sessionId: options.sessionId ?? crypto.randomUUID(),
    uuid: crypto.randomUUID(),
    outcome: error instanceof StoppedError ? error.outcome : {
      kind: isUnbegun
        ? "error_during_execution"
        : error instanceof BadInputError
        ? "bad_input"
        : "internal_error",
      message: error instanceof Error ? error.message : String(error),
    },
    ...(isUnbegun ? { cost: NOTHING } : {}),
  });
  options.writer.frame(isUnbegun ? unbegun(frame) : frame);
  options.writer.end();
  return exitCode;
}

const NOTHING = { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined };

/** What is said of turns, and of how they were made, which the result of a run that had nothing to go on with has not. */
const OF_TURNS = [
  ...["terminal_reason", "fast_mode_state", "fast_mode_disabled_reason", "subagent_stats"],
  ...["safety_stops", "queued_turn_count"],
];

/** The result of a run that had nothing to go on with, as `claude -p` tells it. */
function unbegun(frame: ResultFrame): ResultFrame {
  const kept = Object.entries(frame).filter(([name]) => !OF_TURNS.includes(name));
  return Object.fromEntries(kept) as unknown as ResultFrame;
}

/**
 * Answers a command line that could not be read, in the output format that it seems to ask for.
 *
 * @returns the exit code
 */
export function reportMisuse(error: unknown, argv: readonly string[]): number {
  const writer = createOutputWriter(formatOf(argv), {
    verbose: argv.includes("--verbose"),
    write: (text) => print(Deno.stdout, text),
  });
  return reportFailure(error, { writer });
}

function formatOf(argv: readonly string[]): OutputFormat {
  const [, format] =
    /^.*\0--output-format[=\0](json|stream-json)\0/s.exec(`\0${argv.join("\0")}\0`) ??
      [];
  return format === "json" || format === "stream-json" ? format : "text";
}
