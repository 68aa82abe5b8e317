import { CliError } from "../../cli_error.ts";
import type { RunRequest } from "./run_request.ts";
import { READING } from "./tokenize.ts";

/** What a run reads and prints, in what form, as far as not all of it goes together. */
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
    | "exactStream"
    | "persistSession"
  > {
  /** Whether all frames are given to the caller, whatever the format. */
  readonly givesFrames: boolean;
  readonly shellOutput: RunRequest["shellOutput"] | undefined;
  readonly inputFile: string | undefined;
  readonly isRecorded: boolean;
  readonly waitsForLimit: boolean;
}

/**
 * Refuses what does not go together of what a run reads and prints.
 *
 * @throws {CliError} for the first of several contradictions
 */
export function refuseContradictions(formats: Formats): void {
  const found = CONTRADICTIONS.find(({ isIn }) => isIn(formats));
  if (found === undefined) return;
  const inWords = (words: Words) => typeof words === "string" ? words : words(formats);
  throw new CliError(`${READING}: ${inWords(found.problem)}`, {
    suggestion: inWords(found.suggestion),
  });
}

/** A sentence, which may name what was typed. */
type Words = string | ((formats: Formats) => string);

/** Flags that do not go together. */
interface Contradiction {
  readonly isIn: (formats: Formats) => boolean;
  readonly problem: Words;
  readonly suggestion: Words;
}

/** What only frames tell, or a caller who is given them. */
function ofFrames(flag: string, isGiven: (formats: Formats) => boolean): Contradiction {
  return {
    isIn: (formats) =>
      isGiven(formats) && formats.outputFormat !== "stream-json" && !formats.givesFrames,
    problem: `${flag} needs --output-format=stream-json`,
    suggestion: "Add --output-format=stream-json --verbose, or leave it out",
  };
}

/** In the order in which they are told. */
const CONTRADICTIONS: readonly Contradiction[] = [
  {
    isIn: ({ oneSession, jsonl }) => oneSession && !jsonl,
    problem: "--one-session needs --jsonl",
    suggestion: "Add --jsonl, and give each turn a line of its own, or leave it out",
  },
  {
    // A list prints a line of JSON a run.
    isIn: ({ jsonl, outputFormat }) => jsonl && outputFormat !== "json",
    problem: ({ outputFormat }) => `--jsonl prints json, not ${outputFormat}`,
    suggestion: "Leave --output-format out",
  },
  {
    // A cassette holds one run.
    isIn: ({ jsonl, oneSession, isRecorded }) => jsonl && isRecorded && !oneSession,
    problem: "--record takes one run, and --jsonl makes many",
    suggestion: "Leave --jsonl or --record out",
  },
  {
    isIn: ({ outputFormat, verbose }) => outputFormat === "stream-json" && !verbose,
    problem: "--output-format=stream-json needs --verbose",
    suggestion: "Add --verbose, as for claude -p",
  },
  ofFrames("--shell-output", ({ shellOutput }) => shellOutput !== undefined),
  {
    isIn: ({ inputFormat, jsonl, inputFile }) =>
      inputFormat === "stream-json" && (jsonl || inputFile !== undefined),
    problem: (formats) => `--input-format=stream-json reads stdin, and ${otherInput(formats)} too`,
    suggestion: (formats) => `Leave ${otherInput(formats)} out`,
  },
  {
    // A conversation is held on stdin and stdout, frame by frame.
    isIn: ({ inputFormat, outputFormat }) =>
      inputFormat === "stream-json" && outputFormat !== "stream-json",
    problem: "--input-format=stream-json needs --output-format=stream-json",
    suggestion: "Add --output-format=stream-json --verbose, as for claude -p",
  },
  {
    isIn: ({ replayMessages, inputFormat }) => replayMessages && inputFormat !== "stream-json",
    problem:
      "--replay-user-messages needs --input-format=stream-json and --output-format=stream-json",
    suggestion: "Add both and --verbose, or leave it out",
  },
  ofFrames("--include-partial-messages", ({ partialMessages }) => partialMessages),
  ofFrames("--forward-subagent-text", ({ subagentText }) => subagentText),
  {
    isIn: (formats) => formats.waitsForLimit && sessionHindrance(formats) !== undefined,
    problem: (formats) =>
      `--wait-for-limit goes on with the session of a run, which ${
        sessionHindrance(formats)
      } does not allow`,
    suggestion: 'Leave out one of them; "claude_limits" of a result says when to try again',
  },
  {
    isIn: ({ streamText, outputFormat }) => streamText && outputFormat !== "text",
    problem: ({ outputFormat }) => `--stream-text prints text, not ${outputFormat}`,
    suggestion: ({ outputFormat }) =>
      outputFormat === "stream-json"
        ? "Use --include-partial-messages instead"
        : "Leave --output-format or --stream-text out",
  },
  {
    isIn: ({ exactStream, partialMessages, streamText }) =>
      exactStream && !partialMessages && !streamText,
    problem: "--exact-stream needs --include-partial-messages or --stream-text",
    suggestion: "Add one of them, or leave it out",
  },
];

function otherInput({ jsonl }: Formats): string {
  return jsonl ? "--jsonl" : "--input-file";
}

/** The flag because of which a run cannot go on with its session later. */
function sessionHindrance(
  { inputFormat, oneSession, isRecorded, persistSession }: Formats,
): string | undefined {
  if (inputFormat === "stream-json") return "--input-format=stream-json";
  if (oneSession) return "--one-session";
  if (isRecorded) return "--record";
  return persistSession ? undefined : "--no-session-persistence";
}
