import { checkPrompt } from "../cli/check_prompt.ts";
import { CliError } from "../cli/cli_error.ts";
import { parseArguments } from "../cli/parse_arguments.ts";
import type { RunRequest } from "../cli/run_request.ts";

const FRAMES = "run() gives frames and a result, and prints nothing";
const PROMPT = "the prompt is the first parameter of run()";
const TERMINAL = "a library leaves the terminal to its program";

/** Flags that say how a program reads and writes. */
const MEANINGLESS: ReadonlyMap<string, string> = new Map([
  ["--input-file", PROMPT],
  ["--input-format", PROMPT],
  ["--jsonl", PROMPT],
  ["--output-format", FRAMES],
  ["--verbose", FRAMES],
  ["--quiet", TERMINAL],
  ["--show", TERMINAL],
  ["--trace", TERMINAL],
]);

/**
 * The run that flags ask for, as on the program's command line.
 *
 * @throws {CliError} for a prompt that cannot be sent, for flags that the program refuses as well, and for arguments
 * that only mean something to a program
 */
export async function libraryRequest(
  prompt: string,
  { args }: { readonly args: readonly string[] },
): Promise<RunRequest> {
  const command = await parseArguments(args, { meaningless: MEANINGLESS });
  if (command.kind !== "run") {
    throw new CliError(`Cannot start a run: "args" ask for ${command.kind}`, {
      suggestion: 'Give "args" flags of a run only',
    });
  }
  const { promptArgument, ignoredArguments: [ignored] } = command.request;
  const operand = promptArgument ?? ignored;
  if (operand !== undefined) {
    throw new CliError(`Cannot start a run: ${JSON.stringify(operand)} is no flag`, {
      suggestion: `Give "args" flags only: ${PROMPT}`,
    });
  }
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
  return command.request;
}
