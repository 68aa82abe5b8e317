import { CliError } from "../../cli_error.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { flagsToTakeOver, type TakenFlags } from "../../recording/cassette/recorded_flags.ts";
import type { CassetteMeta } from "../../recording/cassette/cassette_meta.ts";
import { tokenize } from "../arguments/tokenize.ts";
import type { ForkOptions } from "../arguments/parsed_arguments.ts";
import type { RunRequest } from "../arguments/run_request.ts";

const PROMPT = "a fork says what --prompt says, or what was recorded";
const SESSION = "a fork goes on in a session of its own";
const WHOLE = "a fork prints answers as they are whole";

/** Flags of runs that mean nothing to a fork, and why. */
const MEANINGLESS: ReadonlyMap<string, string> = new Map([
  ["--input-file", PROMPT],
  ["--input-format", PROMPT],
  ["--jsonl", PROMPT],
  ["--one-session", PROMPT],
  ["--replay-user-messages", PROMPT],
  ["--inject", PROMPT],
  ["--permission-prompt-tool", "nobody is there who could be asked"],
  ["--resume", SESSION],
  ["--continue", SESSION],
  ["--fork-session", SESSION],
  ["--resume-session-at", SESSION],
  ["--resume-drops-turn", SESSION],
  ["--session-id", SESSION],
  ["--rewind-files", SESSION],
  ["--stream-text", WHOLE],
  ["--show", WHOLE],
  ["--wait-for-limit", "a fork is a conversation, which waits for no limit"],
]);

/** The conversation that a fork asks for, and what became of the flags of the recorded one. */
export interface ForkedRun extends TakenFlags {
  readonly request: RunRequest;
}

/**
 * The conversation that a fork asks for: with the flags of the recorded one that say what the model is told, unless others
 * are given.
 *
 * @param meta what the cassette says of itself
 * @throws {CliError} for flags that a run refuses as well, and for those that mean nothing to a fork
 */
export async function forkRequest(
  { model, apiCassette, record, flags }: Omit<ForkOptions, "dir" | "at" | "prompts">,
  meta?: Pick<CassetteMeta, "flags" | "blanked">,
): Promise<ForkedRun> {
  const own = { "--model": model, "--api-cassette": apiCassette, "--record": record };
  const names = tokenize(flags).uses.map(({ flag }) => flag.name);
  const { taken, left } = flagsToTakeOver(meta?.flags ?? [], {
    given: new Set([...names, ...(model === undefined ? [] : ["--model"])]),
    blanked: meta?.blanked ?? [],
  });
  const args = [
    ...taken,
    ...Object.entries(own).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`]
    ),
    ...flags,
  ];
  const command = await parseArguments(args, { meaningless: MEANINGLESS });
  if (command.kind !== "run") {
    throw new CliError(`Cannot start a fork: the flags behind "--" ask for ${command.kind}`, {
      suggestion: "Give it flags of a run only",
    });
  }
  const { promptArgument, ignoredArguments: [ignored] } = command.request;
  const operand = promptArgument ?? ignored;
  if (operand !== undefined) {
    throw new CliError(`Cannot start a fork: ${JSON.stringify(operand)} is no flag`, {
      suggestion: "Say it with --prompt, ahead of the folder",
    });
  }
  return { request: command.request, taken, left };
}
