import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { CliError } from "../../cli_error.ts";
import type { ForkOptions } from "../arguments/parsed_arguments.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { openRecorded } from "../../recording/cassette/read/open_recorded.ts";
import { rebuildTranscript } from "../../recording/cassette/turns/rebuild_transcript.ts";
import {
  type RecordedTurns,
  recordedTurns,
} from "../../recording/cassette/turns/recorded_turns.ts";
import type { ForkOrigin } from "../../recording/cassette/cassette_meta.ts";
import type { TakenFlags } from "../../recording/cassette/recorded_flags.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { print } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { Outlets } from "../report/outlets.ts";
import { delivered } from "../report/delivered.ts";
import { converseAloud } from "../run/converse_aloud.ts";
import { ownInvocation } from "../run/invocation.ts";
import { forkRequest } from "./fork_request.ts";
import { promptLines } from "./prompt_lines.ts";
import { ProgramCaller } from "../../driver/inputs/caller/program_caller.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";

/**
 * Goes on for real with a recorded conversation from the end of a turn: with the prompts that were given there, or with
 * others. A turn that fails is the last.
 *
 * @returns the exit code, which is that of the last turn
 * @throws {CliError} when the cassette cannot be read, has no such turn, or nothing is to be said
 */
export async function forkConversation(options: ForkOptions): Promise<number> {
  const { dir, at } = options;
  const { meta, children } = openRecorded(dir);
  const { request: wanted, ...flags } = await forkRequest(options, meta);
  const sessionId = crypto.randomUUID();
  const recorded = children.map((child, index) => {
    if ("cast" in child && child.cast.header.claude_print.output !== undefined) {
      return recordedTurns(child.cast);
    }
    const folder = index === 0 ? dir : `${dir}/${index + 1}`;
    throw new CliError(`Cannot fork ${folder}: it does not hold the lines of a transcript`, {
      suggestion: "Record the conversation again with --record",
    });
  });
  const { text: history, besides, prompts } = rebuildTranscript(recorded, { at, sessionId });
  const lines = promptLines(options.prompts.length > 0 ? options.prompts : prompts);
  if (lines.length === 0) {
    throw new CliError(`Cannot fork at turn ${at}: nothing was said after it`, {
      suggestion: "Add --prompt and what is to be said, or fork at an earlier turn",
    });
  }
  const request = history === "" ? wanted : resuming(wanted, sessionId);
  const name = Deno.realPathSync(dir).split("/").at(-1) ?? "";
  const from: ForkOrigin = {
    cassette: name,
    ...(meta?.when === undefined ? {} : { when: meta.when }),
    ...sessionOf(recorded),
    turn: at,
  };

  tellFlags({ ...flags, name });
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
  const exitCode = await converseAloud(request, {
    caller,
    writer: createOutputWriter(request.outputFormat, {
      verbose: request.verbose,
      write: (text) => outlets.print(text),
    }),
    invocation: ownInvocation({ outlets, signals }),
    fork: { history, besides, from },
    onReport: ({ tickets = [], exitCode }) => {
      if (asked === undefined || !tickets.includes(asked)) return;
      asked = undefined;
      if (exitCode === 0) sayNext();
      else caller.close();
    },
  });
  return await delivered(exitCode, {
    outlets,
    until: performance.now() + request.timeoutMs,
    signals,
  });
}

/** How much of a flag is told, in characters. */
const MOST_TOLD = 60;

/** Says which flags of the recorded run hold for the fork too, and which do not. */
function tellFlags({ taken, left, name }: TakenFlags & { readonly name: string }): void {
  const short = (flag: string) => flag.length > MOST_TOLD ? `${flag.slice(0, MOST_TOLD)}…` : flag;
  const tell = (message: string) =>
    print(Deno.stderr, problemText({ message: nameUnseen(message) }));
  if (taken.length > 0) tell(`As in ${name}: ${taken.map(short).join(", ")}`);
  if (left.length === 0) return;
  tell(`Not as in ${name}, unless you give them behind "--": ${left.join(", ")}`);
}

function resuming(request: RunRequest, resume: string): RunRequest {
  return { ...request, resume, forwarded: [...request.forwarded, `--resume=${resume}`] };
}

/** The session of a recorded conversation, as its results tell it. */
function sessionOf(recorded: readonly RecordedTurns[]): Pick<ForkOrigin, "session_id"> {
  const [turn] = recorded.flatMap(({ turns }) => turns);
  const id = turn?.result["session_id"];
  return typeof id === "string" ? { session_id: id } : {};
}
