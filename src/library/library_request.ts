import { parseArguments } from "../cli/arguments/parse_arguments.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { CliError } from "../cli_error.ts";
import { currentFolder } from "../run/facts/this_process.ts";
import { absolutePath } from "../paths.ts";

/** The functions of the library, and how each gets its prompts. */
const PROMPTS = {
  "run()": "the prompt is the first parameter of run()",
  "converse()": "messages are sent with send()",
} as const;

const TERMINAL = "a library leaves the terminal to its program";

/** Flags that only have a meaning for the program, each with the reason. */
function unsupportedFlags(caller: keyof typeof PROMPTS): ReadonlyMap<string, string> {
  const frames = `${caller} gives frames and results, and prints nothing`;
  const prompt = PROMPTS[caller];
  return new Map([
    ["--input-file", prompt],
    ["--input-format", prompt],
    ["--jsonl", prompt],
    ["--one-session", prompt],
    ["--replay-user-messages", prompt],
    ["--output-format", frames],
    ["--verbose", frames],
    ["--stream-text", frames],
    ["--progress", TERMINAL],
    ["--quiet", TERMINAL],
    ["--show", TERMINAL],
    ["--trace", TERMINAL],
    ["--debug-to-stderr", TERMINAL],
    ["--warm", "a library starts no server"],
    ["--rewind-files", "a run of a library has a turn; claude-print itself restores files"],
    ["--wait-for-limit", "a program waits itself: claude_limits of a result says until when"],
    ...(caller === "converse()"
      ? [["--inject", "messages go in by Claude Code's socket"]] as const
      : []),
  ]);
}

/**
 * Parses the flags of a run, as on the program's command line.
 *
 * @throws {CliError} for flags that the program refuses, and for arguments that only have a meaning for the program
 */
export async function libraryRequest(
  args: readonly string[],
  { caller }: { readonly caller: keyof typeof PROMPTS },
): Promise<RunRequest> {
  const command = await parseArguments(args, {
    meaningless: unsupportedFlags(caller),
    deliversFrames: true,
  });
  if (command.kind !== "run") {
    throw new CliError(`Cannot start a run: "args" ask for ${command.kind}`, {
      suggestion: 'Give "args" flags of a run only',
    });
  }
  const { promptArgument, ignoredArguments: [ignored] } = command.request;
  const operand = promptArgument ?? ignored;
  if (operand !== undefined) {
    throw new CliError(`Cannot start a run: ${JSON.stringify(operand)} is no flag`, {
      suggestion: `Give "args" flags only: ${PROMPTS[caller]}`,
    });
  }
  return command.request;
}

/**
 * Parses the flags of a conversation.
 *
 * @param options.asks whether the caller answers permission requests, questions and plans, unless a prompt tool does
 * @throws {CliError} as `libraryRequest` does
 */
export async function conversationRequest(
  args: readonly string[],
  { asks = false, replays = false }: {
    readonly asks?: boolean | undefined;
    readonly replays?: boolean | undefined;
  },
): Promise<RunRequest> {
  const request = await libraryRequest(args, { caller: "converse()" });
  return {
    ...request,
    asksCaller: asks && request.promptTool === undefined,
    replayMessages: replays,
  };
}

/**
 * The working directory as an absolute path; that of this process by default.
 *
 * @throws {CliError} when this process has no working directory
 */
export function resolveFolder(cwd: string | undefined): string {
  if (cwd?.startsWith("/")) return cwd;
  const current = currentFolder('Name a folder with "cwd"');
  return cwd === undefined ? current : absolutePath(cwd, current);
}
