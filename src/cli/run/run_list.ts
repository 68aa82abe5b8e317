import {
  checkPrompt,
  MAX_PROMPT_BYTES,
  parseListLine,
  readListInput,
} from "../arguments/check_prompt.ts";
import { CliError, EXIT, toBadInputError } from "../../cli_error.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { inputFileError, joinPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { awaitDelivery, type Outlets } from "../report/outlets.ts";
import { ownInvocation } from "./invocation.ts";
import { runPrompt } from "./run_prompt.ts";
import { definedFields } from "../../defined_fields.ts";
import { TextLineStream } from "@std/streams/text-line-stream";
import { jsonLine } from "../../claude/wire/json_text.ts";

/**
 * Runs each line of stdin or of `--input-file`, one after the other, and prints one line for each as it ends: the
 * number of the line, the line itself, the exit code, and the result as `--output-format json` prints it.
 *
 * A line that is no prompt has exit code 2, and the list continues. A signal ends the list. The next run begins once
 * the output of the previous one has been read, for which the reader has as long as a run.
 *
 * @param options.argv the command line, to which a line adds its own flags
 * @returns the worst exit code of all lines
 * @throws {CliError} when the list cannot be read
 */
export async function runList(
  request: RunRequest,
  options: { readonly argv: readonly string[]; readonly outlets: Outlets },
): Promise<number> {
  const { outlets } = options;
  const exitCodes = new Set([0]);
  using watcher = await watchList(request, outlets);
  let number = 0;
  for await (const line of readListLines(request)) {
    number++;
    if (line.trim() === "") continue;
    using signals = new StopSignals();
    const place = watcher?.placeOf(number);
    const report = await runLine(line, {
      ...options,
      ...{ request, number, signals },
      ...definedFields({ place }),
    });
    outlets.print(formatLineReport(report, number));
    watcher?.add(report, number);
    const { exitCode } = report;
    const until = performance.now() + request.timeoutMs;
    const wasStopped = exitCode > EXIT.signal;
    const code = await awaitDelivery(wasStopped ? exitCode : 0, { outlets, until, signals });
    if (outlets.stdout?.end === "unread") return EXIT.abandoned;
    if (code !== 0) return code;
    exitCodes.add(exitCode);
  }
  return worstExitCode(exitCodes);
}

async function runLine(
  line: string,
  { request, argv, outlets, number, place, signals }: {
    readonly request: RunRequest;
    readonly argv: readonly string[];
    readonly outlets: Outlets;
    readonly number: number;
    readonly place?: string;
    readonly signals: StopSignals;
  },
): Promise<LineReport> {
  let input: unknown = line;
  let lineRequest = request;
  const startedAt = performance.now();
  let readPrompt: () => Promise<string>;
  try {
    input = parseListLine(line);
    const { prompt, args } = readListInput(input);
    if (args.length > 0) lineRequest = await withArguments(argv, args);
    const text = joinPrompt(request.promptArgument ?? "", prompt);
    const problem = checkPrompt(text);
    if (problem !== undefined) throw problem;
    readPrompt = () => Promise.resolve(text);
  } catch (error) {
    readPrompt = () => Promise.reject(toBadInputError(error));
  }
  let output = "";
  const exitCode = await runPrompt(lineRequest, {
    readPrompt,
    write: (text) => {
      output += text;
    },
    invocation: { ...ownInvocation({ outlets, signals }), startedAt },
    label: `line ${number}: `,
    ...definedFields({ place }),
  });
  return createLineReport({ input, output, exitCode });
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
 * Reads the lines of a list, from stdin or from `--input-file`.
 *
 * @throws {CliError} when they cannot be read
 */
export async function* readListLines(
  { inputFile }: Pick<RunRequest, "inputFile">,
): AsyncGenerator<string> {
  const bytes = inputFile === undefined || inputFile === "-"
    ? Deno.stdin.readable
    : await openList(inputFile);
  const lines = bytes
    .pipeThrough(limitLineLength())
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

/** The maximum size of a line, in bytes: enough for the longest prompt with each character escaped, and for flags. */
const MAX_LINE_BYTES = 2 * MAX_PROMPT_BYTES + 1_000_000;

const LINE_FEED = 0x0a;

/** Fails on a line longer than any prompt, so that a list without line ends does not fill the memory. */
function limitLineLength(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
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

/** Follows a list for a person at the terminal of stderr. It prints a summary when it is disposed. */
export interface ListWatcher extends Disposable {
  /** Returns which line of the list is running: `line 2 of 5`. */
  readonly placeOf: (number: number) => string;
  /** Takes the report of a line that has ended. */
  readonly add: (report: LineReport, number: number) => void;
}

/** Starts to follow a list; returns undefined without a terminal, or with `--quiet`. */
export async function watchList(
  request: RunRequest,
  outlets: Outlets,
): Promise<ListWatcher | undefined> {
  if (request.quiet || !Deno.stderr.isTerminal()) return undefined;
  const { addLine, countLines, listSummary, NO_LINES } = await import("./list_summary.ts");
  const { oneSession } = request;
  const total = await countLines(request);
  let state = NO_LINES;
  return {
    placeOf: (number) => total === undefined ? `line ${number}` : `line ${number} of ${total}`,
    add: (report, number) => state = addLine(state, report, { number, oneSession }),
    [Symbol.dispose]: () => {
      const summary = listSummary(state, performance.now());
      if (summary !== "") outlets.notify(summary);
    },
  };
}

/** The facts that are printed about a line of a list. */
export interface LineReport {
  readonly input: unknown;
  readonly exitCode: number;
  readonly result: unknown;
}

/** @param options.output the output with `--output-format json`, which may be empty */
export function createLineReport(
  { input, output, exitCode }: Omit<LineReport, "result"> & { readonly output: string },
): LineReport {
  return { input, result: output === "" ? null : JSON.parse(output), exitCode };
}

/** Formats the line of output for the line with that number. */
export function formatLineReport({ input, exitCode, result }: LineReport, line: number): string {
  return `${jsonLine({ line, input, exit_code: exitCode, result })}\n`;
}

/** Exit codes from the worst to the best. A failure that a retry does not cure is worse than one that it may cure. */
const WORST_FIRST: readonly number[] = [2, 1, EXIT.tryLater, EXIT.timedOut, 0];

/** Returns the exit code of a list, given those of its lines. */
export function worstExitCode(exitCodes: ReadonlySet<number>): number {
  return WORST_FIRST.find((exitCode) => exitCodes.has(exitCode)) ?? 2;
}
