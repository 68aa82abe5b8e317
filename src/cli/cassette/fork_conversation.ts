import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { CliError } from "../../cli_error.ts";
import type { ForkOptions } from "../arguments/parsed_arguments.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { openConversation } from "../../recording/cassette/read/open_cassette.ts";
import { rebuildTranscript } from "../../recording/cassette/rebuild_transcript.ts";
import { readTurns, type RecordedTurns } from "../../recording/cassette/recorded_turns.ts";
import type { CassetteMeta, ForkOrigin } from "../../recording/cassette/cassette_format.ts";
import { flagsForFork, type ForkFlags } from "../../recording/cassette/recorded_flags.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { print } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { awaitDelivery, Outlets } from "../report/outlets.ts";
import { printConversation } from "../run/print_conversation.ts";
import { ownInvocation } from "../run/invocation.ts";
import { ProgramCaller } from "../../driver/inputs/caller/program_caller.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";
import { checkPrompt } from "../arguments/check_prompt.ts";
import type { Message } from "../../conversation/control/message.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { tokenize } from "../arguments/tokenize.ts";

/**
 * Goes on for real with a recorded conversation from the end of a turn: with the prompts that were given there, or with
 * others. A turn that fails is the last.
 *
 * @returns the exit code, which is that of the last turn
 * @throws {CliError} when the cassette cannot be read, has no such turn, or nothing is to be said
 */
export async function forkConversation(options: ForkOptions): Promise<number> {
  const { dir, at } = options;
  const { meta, children } = openConversation(dir);
  const { request: wanted, ...flags } = await buildForkRequest(options, meta);
  const sessionId = crypto.randomUUID();
  const recorded = children.map((child, index) => {
    if ("cast" in child && child.cast.header.claude_print.output !== undefined) {
      return readTurns(child.cast);
    }
    const folder = index === 0 ? dir : `${dir}/${index + 1}`;
    throw new CliError(`Cannot fork ${folder}: it does not hold the lines of a transcript`, {
      suggestion: "Record the conversation again with --record",
    });
  });
  const { text: history, subagentFiles, prompts } = rebuildTranscript(recorded, { at, sessionId });
  const lines = createPromptLines(options.prompts.length > 0 ? options.prompts : prompts);
  if (lines.length === 0) {
    throw new CliError(`Cannot fork at turn ${at}: nothing was said after it`, {
      suggestion: "Add --prompt and what is to be said, or fork at an earlier turn",
    });
  }
  const request = history === "" ? wanted : withResume(wanted, sessionId);
  const name = Deno.realPathSync(dir).split("/").at(-1) ?? "";
  const from: ForkOrigin = {
    cassette: name,
    ...(meta?.when === undefined ? {} : { when: meta.when }),
    ...recordedSession(recorded),
    turn: at,
  };

  reportFlags({ ...flags, name });
  using outlets = new Outlets();
  // To the end of the program: writing beyond the limit of a file's size fails as on a full disk, and does not kill.
  listenToSignals(["SIGXFSZ"], () => {});
  using signals = new StopSignals();
  const { stdout } = outlets;
  if (stdout !== undefined) {
    stdout.onEnd = () => {
      if (stdout.end === "unread") signals.raise("SIGPIPE");
    };
  }
  const caller = new ProgramCaller();
  const left = [...lines];
  let asked: string | undefined;
  const sayNext = () => {
    const line = left.shift();
    if (line === undefined) return caller.close();
    asked = line.ticket;
    caller.say(line);
  };
  sayNext();
  const exitCode = await printConversation(request, {
    caller,
    writer: createOutputWriter(request.outputFormat, {
      verbose: request.verbose,
      write: (text) => outlets.print(text),
    }),
    invocation: ownInvocation({ outlets, signals }),
    fork: { history, besides: subagentFiles, from },
    onReport: ({ tickets = [], exitCode }) => {
      if (asked === undefined || !tickets.includes(asked)) return;
      asked = undefined;
      if (exitCode === 0) sayNext();
      else caller.close();
    },
  });
  return await awaitDelivery(exitCode, {
    outlets,
    until: performance.now() + request.timeoutMs,
    signals,
  });
}

/** How much of a flag is told, in characters. */
const MAX_FLAG_LENGTH = 60;

/** Says which flags of the recorded run hold for the fork too, and which do not. */
function reportFlags({ taken, dropped, name }: ForkFlags & { readonly name: string }): void {
  const short = (flag: string) =>
    flag.length > MAX_FLAG_LENGTH ? `${flag.slice(0, MAX_FLAG_LENGTH)}…` : flag;
  const tell = (message: string) =>
    print(Deno.stderr, problemText({ message: escapeInvisible(message) }));
  if (taken.length > 0) tell(`As in ${name}: ${taken.map(short).join(", ")}`);
  if (dropped.length === 0) return;
  tell(`Not as in ${name}, unless you give them behind "--": ${dropped.join(", ")}`);
}

function withResume(request: RunRequest, resume: string): RunRequest {
  return { ...request, resume, forwarded: [...request.forwarded, `--resume=${resume}`] };
}

/** The session of a recorded conversation, as its results tell it. */
function recordedSession(recorded: readonly RecordedTurns[]): Pick<ForkOrigin, "session_id"> {
  const [turn] = recorded.flatMap(({ turns }) => turns);
  const id = turn?.result["session_id"];
  return typeof id === "string" ? { session_id: id } : {};
}

/**
 * Prompts, typed or recorded, as a program says them.
 *
 * @throws {CliError} for one that cannot be sent
 */
export function createPromptLines(
  prompts: readonly (string | Message)[],
): readonly ReturnType<typeof messageLine>[] {
  return prompts.map((prompt, index) => {
    const content = typeof prompt === "string" ? prompt : prompt.content ?? prompt.text;
    const line = messageLine(content, { ticket: `${index}` });
    const problem = line.obstacle === undefined
      ? typeof content === "string" ? checkPrompt(content) : undefined
      : new CliError(`Cannot send the recorded prompt: ${line.obstacle}`, {
        suggestion: "Say something else with --prompt",
      });
    if (problem !== undefined) throw problem;
    return typeof prompt !== "string" && prompt.synthetic ? { ...line, synthetic: true } : line;
  });
}

const PROMPT_REASON = "a fork says what --prompt says, or what was recorded";
const SESSION_REASON = "a fork goes on in a session of its own";
const STREAM_REASON = "a fork prints answers as they are whole";

/** Flags of runs that mean nothing to a fork, and why. */
const MEANINGLESS: ReadonlyMap<string, string> = new Map([
  ["--input-file", PROMPT_REASON],
  ["--input-format", PROMPT_REASON],
  ["--jsonl", PROMPT_REASON],
  ["--one-session", PROMPT_REASON],
  ["--replay-user-messages", PROMPT_REASON],
  ["--inject", PROMPT_REASON],
  ["--permission-prompt-tool", "nobody is there who could be asked"],
  ["--resume", SESSION_REASON],
  ["--continue", SESSION_REASON],
  ["--fork-session", SESSION_REASON],
  ["--resume-session-at", SESSION_REASON],
  ["--resume-drops-turn", SESSION_REASON],
  ["--session-id", SESSION_REASON],
  ["--rewind-files", SESSION_REASON],
  ["--stream-text", STREAM_REASON],
  ["--show", STREAM_REASON],
  ["--wait-for-limit", "a fork is a conversation, which waits for no limit"],
]);

/** The conversation that a fork asks for, and what became of the flags of the recorded one. */
interface ForkedRun extends ForkFlags {
  readonly request: RunRequest;
}

/**
 * The conversation that a fork asks for: with the flags of the recorded one that say what the model is told, unless others
 * are given.
 *
 * @param meta what the cassette says of itself
 * @throws {CliError} for flags that a run refuses as well, and for those that mean nothing to a fork
 */
export async function buildForkRequest(
  { model, apiCassette, record, flags }: Omit<ForkOptions, "dir" | "at" | "prompts">,
  meta?: Pick<CassetteMeta, "flags" | "blanked">,
): Promise<ForkedRun> {
  const own = { "--model": model, "--api-cassette": apiCassette, "--record": record };
  const names = tokenize(flags).uses.map(({ flag }) => flag.name);
  const { taken, dropped } = flagsForFork(meta?.flags ?? [], {
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
  return { request: command.request, taken, dropped };
}
