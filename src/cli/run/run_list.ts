import { checkPrompt } from "../arguments/check_prompt.ts";
import { asBadInput, CliError } from "../../cli_error.ts";
import { parseListInput, readListInput } from "../arguments/list_line.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { joinPrompt } from "../arguments/prompt_source.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { delivered } from "../report/delivered.ts";
import { gravestExitCode, type LineReport, lineReport, printedLine } from "./line_report.ts";
import { ownInvocation } from "./invocation.ts";
import { listLines } from "./list_lines.ts";
import type { Outlets } from "../report/outlets.ts";
import { runPrompt } from "./run_prompt.ts";

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
