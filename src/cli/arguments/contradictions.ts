import { usageError } from "./usage_errors.ts";
import type { RunRequest } from "./run_request.ts";

/** The input and output of a run, and flags that contradict some of them. */
export interface Formats extends
  Pick<
    RunRequest,
    | "jsonl"
    | "oneSession"
    | "outputFormat"
    | "verbose"
    | "inputFormat"
    | "replayMessages"
    | "partialMessages"
    | "subagentText"
    | "streamText"
    | "progress"
    | "exactStream"
    | "persistSession"
    | "cold"
    | "warm"
  > {
  /** Whether the caller gets all frames, whatever the format. */
  readonly deliversFrames: boolean;
  readonly shellOutput: RunRequest["shellOutput"] | undefined;
  readonly inputFile: string | undefined;
  readonly isRecorded: boolean;
  readonly waitsForLimit: boolean;
}

/**
 * Checks that the flags about input and output do not contradict each other.
 *
 * @throws {CliError} for the first contradiction in the order of the table
 */
export function refuseContradictions(formats: Formats): void {
  const found = CONTRADICTIONS.find(({ applies: isIn }) => isIn(formats));
  if (found === undefined) return;
  const inWords = (words: Words) => typeof words === "string" ? words : words(formats);
  throw usageError(`${inWords(found.problem)}`, inWords(found.suggestion));
}

/** A text that may depend on the flags. */
type Words = string | ((formats: Formats) => string);

interface Contradiction {
  readonly applies: (formats: Formats) => boolean;
  readonly problem: Words;
  readonly suggestion: Words;
}

/** A flag whose effect is visible only in frames. */
function requireFrames(flag: string, isGiven: (formats: Formats) => boolean): Contradiction {
  return {
    applies: (formats) =>
      isGiven(formats) && formats.outputFormat !== "stream-json" && !formats.deliversFrames,
    problem: `${flag} needs --output-format=stream-json`,
    suggestion: "Add --output-format=stream-json --verbose, or leave it out",
  };
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    applies: ({ oneSession, jsonl }) => oneSession && !jsonl,
    problem: "--one-session needs --jsonl",
    suggestion: "Add --jsonl, and give each turn a line of its own, or leave it out",
  },
  {
    // A list prints one line of JSON for each run.
    applies: ({ jsonl, outputFormat }) => jsonl && outputFormat !== "json",
    problem: ({ outputFormat }) => `--jsonl prints json, not ${outputFormat}`,
    suggestion: "Leave --output-format out",
  },
  {
    // A cassette holds only one run.
    applies: ({ jsonl, oneSession, isRecorded }) => jsonl && isRecorded && !oneSession,
    problem: "--record takes one run, and --jsonl makes many",
    suggestion: "Leave --jsonl or --record out",
  },
  {
    // A list itself starts all of its children.
    applies: ({ warm, cold, jsonl }) => warm && (cold || jsonl),
    problem: ({ cold }) => `--warm does not go with ${cold ? "--cold" : "--jsonl"}`,
    suggestion: "Leave one of them out",
  },
  {
    applies: ({ outputFormat, verbose }) => outputFormat === "stream-json" && !verbose,
    problem: "--output-format=stream-json needs --verbose",
    suggestion: "Add --verbose, as for claude -p",
  },
  {
    applies: ({ shellOutput, outputFormat, progress, deliversFrames }) =>
      shellOutput !== undefined && outputFormat !== "stream-json" && !progress && !deliversFrames,
    problem: "--shell-output needs --progress or --output-format=stream-json",
    suggestion: "Add --progress to see the output on stderr",
  },
  {
    applies: ({ inputFormat, jsonl, inputFile }) =>
      inputFormat === "stream-json" && (jsonl || inputFile !== undefined),
    problem: (formats) => `--input-format=stream-json reads stdin, and ${otherInput(formats)} too`,
    suggestion: (formats) => `Leave ${otherInput(formats)} out`,
  },
  {
    // A conversation exchanges frames on stdin and stdout.
    applies: ({ inputFormat, outputFormat }) =>
      inputFormat === "stream-json" && outputFormat !== "stream-json",
    problem: "--input-format=stream-json needs --output-format=stream-json",
    suggestion: "Add --output-format=stream-json --verbose, as for claude -p",
  },
  {
    applies: ({ replayMessages, inputFormat }) => replayMessages && inputFormat !== "stream-json",
    problem:
      "--replay-user-messages needs --input-format=stream-json and --output-format=stream-json",
    suggestion: "Add both and --verbose, or leave it out",
  },
  requireFrames("--include-partial-messages", ({ partialMessages }) => partialMessages),
  requireFrames("--forward-subagent-text", ({ subagentText }) => subagentText),
  {
    applies: (formats) => formats.waitsForLimit && flagWithoutSession(formats) !== undefined,
    problem: (formats) =>
      `--wait-for-limit goes on with the session of a run, which ${
        flagWithoutSession(formats)
      } does not allow`,
    suggestion: 'Leave out one of them; "claude_limits" of a result says when to try again',
  },
  {
    applies: ({ streamText, outputFormat }) => streamText && outputFormat !== "text",
    problem: ({ outputFormat }) => `--stream-text prints text, not ${outputFormat}`,
    suggestion: ({ outputFormat }) =>
      outputFormat === "stream-json"
        ? "Use --include-partial-messages instead"
        : "Leave --output-format or --stream-text out",
  },
  {
    applies: ({ progress, outputFormat }) => progress && outputFormat !== "text",
    problem: ({ outputFormat }) => `--progress goes with text, not ${outputFormat}`,
    suggestion: "Leave --output-format or --progress out",
  },
  {
    applies: ({ exactStream, partialMessages, streamText }) =>
      exactStream && !partialMessages && !streamText,
    problem: "--exact-stream needs --include-partial-messages or --stream-text",
    suggestion: "Add one of them, or leave it out",
  },
];

function otherInput({ jsonl }: Formats): string {
  return jsonl ? "--jsonl" : "--input-file";
}

/** Returns the flag because of which a run cannot continue its session later. */
function flagWithoutSession(
  { inputFormat, oneSession, isRecorded, persistSession }: Formats,
): string | undefined {
  if (inputFormat === "stream-json") return "--input-format=stream-json";
  if (oneSession) return "--one-session";
  if (isRecorded) return "--record";
  return persistSession ? undefined : "--no-session-persistence";
}
