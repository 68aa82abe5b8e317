import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { createLiveRedaction } from "../../recording/cassette/program/live_redaction.ts";
import { startPlay } from "../../recording/cassette/program/play_state.ts";
import type { RecordedProgram, ReplayMode } from "../../recording/cassette/program/program_step.ts";
import { readProgram } from "../../recording/cassette/program/read_program.ts";
import { recordedProgram } from "../../recording/cassette/program/recorded_program.ts";
import { CliError } from "../../cli_error.ts";
import { readPrompt } from "../arguments/prompt_source.ts";
import { ownTraces } from "../../recording/redaction/own_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { print } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { denoPromptIo } from "../run/deno_prompt_io.ts";
import { createSpeaker } from "./create_speaker.ts";
import { linesOfStdin } from "./lines_of_stdin.ts";
import { playToCaller } from "./play_to_caller.ts";
import { type ProgramFlags, programFlags } from "./program_flags.ts";

/** How a recorded program is played. */
export interface ProgramReplay {
  /** The cassette's folder, or a tape. */
  readonly dir: string;
  /** What its caller gives it as command line. */
  readonly args: readonly string[];
  readonly mode: ReplayMode;
  /** How much faster than recorded; 0 for at once. */
  readonly speed: number;
  /** How long the caller has for what is its turn, in milliseconds; 0 for as long as it wants. */
  readonly patienceMs: number;
  /** Where what the caller did otherwise is written as JSON. */
  readonly report?: string;
}

/** Exit code of a program whose output nobody reads any more, and above which those of signals begin. */
const ABANDONED = 141;
const SIGNALLED = 128;

/**
 * Behaves as the recorded `claude` did, and says at the end what its caller did otherwise.
 *
 * @returns the exit code: that of the recorded run, or 1 when the caller did something else
 * @throws {CliError} when the tape cannot be read, or there is something on it that cannot be replayed
 */
export async function replayAsProgram(options: ProgramReplay): Promise<number> {
  const flags = programFlags(options.args);
  const { tape, ...known } = readProgram(options.dir);
  const plain = !flags.isConversation;
  const env = callerEnvironment();
  const redaction = createLiveRedaction(tape, {
    blanked: known.blanked ?? [],
    known: ownTraces({ env, cwd: Deno.cwd() }),
    secrets: createRedactor({ env }).text,
  });
  const program = recordedProgram(tape, { ...known, redaction, mode: options.mode, plain });
  if (flags.version) {
    print(Deno.stdout, `${nameUnseen(versionOf(program, known.path))} (Claude Code)\n`);
    return 0;
  }
  // One of an earlier run must not be taken for that of this one.
  writeReport(options.report, "");
  const { promise: stopped, resolve: stop } = Promise.withResolvers<StopSignal>();
  let signal: StopSignal | undefined;
  using listening = new DisposableStack();
  listening.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (name) => {
    signal = name;
    stop(name);
  }));
  if (!program.knowsPrompts) {
    tell({ message: "There are no prompts on the tape: what the caller says is not compared" });
  }
  const speaker = createSpeaker(flags);
  const { sessionId } = flags;
  const ending = await playToCaller(
    startPlay(program, sessionId === undefined ? {} : { sessionId }),
    {
      caller: {
        next: flags.isConversation ? linesOfStdin() : promptAlone(flags),
        ...speaker,
        pause: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
        stopped,
      },
      ...options,
    },
  );
  if (ending.end !== undefined) speaker.end();
  const isRead = ending.end !== undefined &&
    await Promise.race([speaker.flush(), stopped]) === true;
  // Whoever does not read on holds up the program, which then hears of no signal itself: it is to end by one.
  listening.dispose();
  if (isRead && ending.end?.stderr !== undefined) print(Deno.stderr, ending.end.stderr);
  const { divergences, uncompared } = ending;
  tellDivergences(divergences, known.path);
  tellUncompared(uncompared);
  const report = {
    tape: known.path,
    divergences,
    ...(uncompared.length === 0 ? {} : { uncompared }),
  };
  writeReport(options.report, `${JSON.stringify(report)}\n`);
  if (divergences.length > 0) return 1;
  if (signal !== undefined) return SIGNALLED + SIGNALS[signal];
  return isRead ? ending.end?.code ?? 0 : ABANDONED;
}

function versionOf({ version }: RecordedProgram, path: string): string {
  if (version !== undefined) return version;
  throw new CliError(`Cannot tell the version: ${path} does not say of which it is`, {
    suggestion: "Record it again with this claude-print, whose cassettes do",
  });
}

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The prompt of a run as a line of its caller, and the end of its input. */
function promptAlone(
  { promptArgument, inputFile }: ProgramFlags,
): () => Promise<string | undefined> {
  let isRead = false;
  return async () => {
    if (isRead) return undefined;
    isRead = true;
    const content = await readPrompt({
      ...(promptArgument === undefined ? {} : { promptArgument }),
      ...(inputFile === undefined ? {} : { inputFile }),
      ignoredArguments: [],
    }, denoPromptIo({ inTime: (wait) => wait, warn: (message) => tell({ message }) }));
    return JSON.stringify({ type: "user", message: { role: "user", content } });
  };
}

/** Says on stderr what the caller did otherwise. */
function tellDivergences(divergences: readonly string[], tape: string): void {
  if (divergences.length === 0) return;
  const count = divergences.length === 1 ? "one difference" : `${divergences.length} differences`;
  const lines = divergences.map((each) => `  ${nameUnseen(each)}\n`).join("");
  print(Deno.stderr, `claude-print: The caller does not do what ${tape} says, ${count}:\n${lines}`);
}

/** Says on stderr what nobody may take for the same, though it is not known to differ. */
function tellUncompared(uncompared: readonly string[]): void {
  for (const what of uncompared) tell({ message: `Warning: ${nameUnseen(what)}` });
}

function writeReport(path: string | undefined, text: string): void {
  if (path === undefined) return;
  try {
    Deno.writeTextFileSync(path, text);
  } catch (cause) {
    throw new CliError(`Cannot write the report ${path}: ${(cause as Error).message}`, {
      suggestion: "Give --report a file in a folder that you may write to",
      cause,
    });
  }
}

function tell(problem: { readonly message: string }): void {
  print(Deno.stderr, problemText(problem));
}
