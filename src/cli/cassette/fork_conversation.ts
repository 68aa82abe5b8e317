import type { HoldOptions } from "../../library/hold_conversation.ts";
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
import { ProgramCaller } from "../../driver/inputs/callers.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";
import { checkPrompt } from "../arguments/check_prompt.ts";
import type { Message } from "../../conversation/control/message.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { tokenize } from "../arguments/tokenize.ts";

/**
 * Continues a recorded conversation with the real API after a turn, with the recorded prompts or with others, until a
 * turn fails.
 *
 * @returns the exit code of the last turn
 * @throws {CliError} when the cassette cannot be read, has no such turn, or there is no prompt
 */
export async function forkConversation(options: ForkOptions): Promise<number> {
  const { dir, at } = options;
  const { meta, children } = openConversation(dir);
  const { request, ...flags } = await buildForkRequest(options, meta);
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
  const name = Deno.realPathSync(dir).split("/").at(-1) ?? "";
  const from: ForkOrigin = {
    cassette: name,
    ...(meta?.when === undefined ? {} : { when: meta.when }),
    ...recordedSession(recorded),
    turn: at,
  };
  reportFlags({ ...flags, name });
  return await sendLines(history === "" ? request : withResume(request, sessionId), lines, {
    history,
    besides: subagentFiles,
    from,
  });
}

/** Sends each line when the turn of the previous one has succeeded, and prints the conversation. */
async function sendLines(
  request: RunRequest,
  lines: ReturnType<typeof createPromptLines>,
  fork: NonNullable<HoldOptions["fork"]>,
): Promise<number> {
  using outlets = new Outlets();
  // Never undone: without a listener, writing beyond the file size limit kills this program. With one, the write fails.
  listenToSignals(["SIGXFSZ"], () => {});
  using signals = new StopSignals();
  outlets.stopWhenUnread(signals);
  const caller = new ProgramCaller();
  const remaining = [...lines];
  /** The ticket of the current turn. */
  let ticket: string | undefined;
  const sendNext = () => {
    const line = remaining.shift();
    if (line === undefined) return caller.close();
    ticket = line.ticket;
    caller.say(line);
  };
  sendNext();
  const exitCode = await printConversation(request, {
    caller,
    writer: createOutputWriter(request.outputFormat, {
      verbose: request.verbose,
      write: (text) => outlets.print(text),
    }),
    invocation: ownInvocation({ outlets, signals }),
    fork,
    onReport: ({ tickets = [], exitCode }) => {
      if (ticket === undefined || !tickets.includes(ticket)) return;
      ticket = undefined;
      if (exitCode === 0) sendNext();
      else caller.close();
    },
  });
  const until = performance.now() + request.timeoutMs;
  return await awaitDelivery(exitCode, { outlets, until, signals });
}

/** The maximum number of printed characters of a flag. */
const MAX_FLAG_LENGTH = 60;

/** Prints which flags of the recorded run the fork has, and which it does not. */
function reportFlags({ taken, dropped, name }: ForkFlags & { readonly name: string }): void {
  const short = (flag: string) =>
    flag.length > MAX_FLAG_LENGTH ? `${flag.slice(0, MAX_FLAG_LENGTH)}…` : flag;
  const report = (message: string) =>
    print(Deno.stderr, problemText({ message: escapeInvisible(message) }));
  if (taken.length > 0) report(`As in ${name}: ${taken.map(short).join(", ")}`);
  if (dropped.length === 0) return;
  report(`Not as in ${name}, unless you give them behind "--": ${dropped.join(", ")}`);
}

function withResume(request: RunRequest, resume: string): RunRequest {
  return { ...request, resume, forwarded: [...request.forwarded, `--resume=${resume}`] };
}

/** Returns the session id in the results of a recorded conversation. */
function recordedSession(recorded: readonly RecordedTurns[]): Pick<ForkOrigin, "session_id"> {
  const [turn] = recorded.flatMap(({ turns }) => turns);
  const id = turn?.result["session_id"];
  return typeof id === "string" ? { session_id: id } : {};
}

/**
 * Turns typed or recorded prompts into lines of a caller.
 *
 * @throws {CliError} for a prompt that cannot be sent
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

/** Flags that have no meaning for a fork, with the reasons. */
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
  ["--progress", STREAM_REASON],
  ["--show", STREAM_REASON],
  ["--wait-for-limit", "a fork is a conversation, which waits for no limit"],
]);

interface ForkedRun extends ForkFlags {
  readonly request: RunRequest;
}

/**
 * Builds the request of a fork. Recorded flags that affect the model's input also apply to the fork, unless the user
 * gives others.
 *
 * @throws {CliError} for a flag that runs refuse, or that has no meaning for a fork
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
