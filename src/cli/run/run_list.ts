import {
  checkPrompt,
  MAX_PROMPT_BYTES,
  parseListInput,
  readListInput,
} from "../arguments/check_prompt.ts";
import { asBadInput, CliError } from "../../cli_error.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { inputFileError, joinPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { delivered, type Outlets } from "../report/outlets.ts";
import { ownInvocation } from "./invocation.ts";
import { runPrompt } from "./run_prompt.ts";
import { TextLineStream } from "@std/streams/text-line-stream";
import { jsonLine } from "../../claude/wire/json_text.ts";

/** Exit codes of runs that a signal ended, or that nobody reads any more, are above this. */
const SIGNALLED = 128;
const ABANDONED = 141;

/**
 * One run for each line of stdin or of `--input-file`, one after the other, and one line of output for each as it ends:
 * the number of its line, the line itself, the exit code, and the result as `--output-format json` prints it.
 *
 * A line that is no prompt has exit code 2 and the list goes on; a signal ends it. A run that the API turned away for
 * its load has exit code 75. The next run begins when the line before is read; a reader has as much time for one as
 * a run.
 *
 * @param options.argv the command line, to which a line adds flags of its own
 * @returns the exit code of the gravest failure: 2, 1, 75, 124; or 0
 * @throws {CliError} when the list cannot be read
 */
export async function runList(
  request: RunRequest,
  options: { readonly argv: readonly string[]; readonly outlets: Outlets },
): Promise<number> {
  const { outlets } = options;
  const exitCodes = new Set([0]);
  let number = 0;
  for await (const line of listLines(request)) {
    number++;
    if (line.trim() === "") continue;
    using signals = new StopSignals();
    const report = await runLine(line, { ...options, request, number, signals });
    outlets.print(printedLine(report, number));
    const { exitCode } = report;
    const until = performance.now() + request.timeoutMs;
    const isOver = exitCode > SIGNALLED;
    const told = await delivered(isOver ? exitCode : 0, { outlets, until, signals });
    if (outlets.stdout?.end === "unread") return ABANDONED;
    if (told !== 0) return told;
    exitCodes.add(exitCode);
  }
  return gravestExitCode(exitCodes);
}

async function runLine(
  line: string,
  { request, argv, outlets, number, signals }: {
    readonly request: RunRequest;
    readonly argv: readonly string[];
    readonly outlets: Outlets;
    readonly number: number;
    readonly signals: StopSignals;
  },
): Promise<LineReport> {
  let input: unknown = line;
  let own = request;
  const startedAt = performance.now();
  let readPrompt: () => Promise<string>;
  try {
    input = parseListInput(line);
    const parsed = readListInput(input);
    if (parsed.args.length > 0) own = await withArguments(argv, parsed.args);
    const text = joinPrompt(request.promptArgument ?? "", parsed.prompt);
    const problem = checkPrompt(text);
    if (problem !== undefined) throw problem;
    readPrompt = () => Promise.resolve(text);
  } catch (error) {
    readPrompt = () => Promise.reject(asBadInput(error));
  }
  let output = "";
  const exitCode = await runPrompt(own, {
    readPrompt,
    write: (text) => {
      output += text;
    },
    invocation: { ...ownInvocation({ outlets, signals }), startedAt },
    label: `line ${number}: `,
  });
  return lineReport({ input, output, exitCode });
}

async function withArguments(
  argv: readonly string[],
  more: readonly string[],
): Promise<RunRequest> {
  const command = await parseArguments(argv, { more });
  if (command.kind === "run") return { ...command.request, outputFormat: "json" };
  throw new CliError(`Cannot read the line: its "args" ask for ${command.kind}`, {
    suggestion: "Give a line flags of a run only",
  });
}

/**
 * The lines of a list, from stdin or from `--input-file`.
 *
 * @throws {CliError} when they cannot be read
 */
export async function* listLines(
  { inputFile }: Pick<RunRequest, "inputFile">,
): AsyncGenerator<string> {
  const bytes = inputFile === undefined || inputFile === "-"
    ? Deno.stdin.readable
    : await openList(inputFile);
  const lines = bytes
    .pipeThrough(lineLimit())
    .pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))
    .pipeThrough(new TextLineStream());
  try {
    yield* lines;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliError("Cannot read the list of prompts: it is not UTF-8", {
      suggestion: "Convert it, for example with iconv -t UTF-8",
      cause: error,
    });
  }
}

/** Room for the longest prompt, each character of it escaped, and for flags. */
const MAX_LINE_BYTES = 2 * MAX_PROMPT_BYTES + 1_000_000;

const LINE_FEED = 0x0a;

/** Passes a list on as long as its lines are no longer than any prompt, and keeps one without end out of memory. */
function lineLimit(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0;
  return new TransformStream({
    transform: (bytes, controller) => {
      const end = bytes.lastIndexOf(LINE_FEED);
      length = end === -1 ? length + bytes.length : bytes.length - end - 1;
      if (length > MAX_LINE_BYTES) {
        throw new CliError("Cannot read the list of prompts: one of its lines has no end", {
          suggestion: "Give each prompt a line of its own, see --help",
        });
      }
      controller.enqueue(bytes);
    },
  });
}

async function openList(path: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  try {
    return (await Deno.open(path)).readable;
  } catch (error) {
    throw inputFileError(path, error);
  }
}

/** The API had too much to do, or a limit is used up. */
const TRY_LATER = 75;
const TIMED_OUT = 124;
/** The exit codes of a list, the one that matters most first: what trying again does not cure hides what it does. */
const GRAVEST: readonly number[] = [2, 1, TRY_LATER, TIMED_OUT, 0];

/** What became of a line. */
export interface LineReport {
  readonly input: unknown;
  readonly exitCode: number;
  readonly result: unknown;
}

/**
 * What became of a line whose output is known.
 *
 * @param options.output what `--output-format json` prints of it, which may be nothing
 */
export function lineReport(
  { input, output, exitCode }: {
    readonly input: unknown;
    readonly output: string;
    readonly exitCode: number;
  },
): LineReport {
  const result = output === "" ? null : JSON.parse(output);
  return { input, result, exitCode };
}

/** The line of output for the line of that number. */
export function printedLine({ input, exitCode, result }: LineReport, line: number): string {
  return `${jsonLine({ line, input, exit_code: exitCode, result })}\n`;
}

/** The exit code of a list: that of its gravest failure. */
export function gravestExitCode(exitCodes: ReadonlySet<number>): number {
  return GRAVEST.find((exitCode) => exitCodes.has(exitCode)) ?? 2;
}
