import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { createLiveRedaction } from "../../recording/cassette/program/caller_lines.ts";
import { Player } from "../../recording/cassette/program/play_program.ts";
import {
  type RecordedProgram,
  recordedProgram,
  type ReplayMode,
} from "../../recording/cassette/program/recorded_program.ts";
import { readProgram } from "../../recording/cassette/program/read_program.ts";
import { CliError } from "../../cli_error.ts";
import { denoPromptIo, readPrompt } from "../arguments/read_prompt.ts";
import { ownTraces } from "../../recording/redaction/known_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { outputError, print } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { playToCaller } from "./play_to_caller.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import { createOutputWriter, type OutputFormat } from "../../claude/wire/output_writer.ts";
import { tokenize } from "../arguments/tokenize.ts";
import { createLineSplitter, LONGEST_LINE } from "../../claude/transcript/line_splitter.ts";
import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { shellQuote } from "../../shell_quote.ts";

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
  const flags = parseProgramFlags(options.args);
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
    print(Deno.stdout, `${escapeInvisible(requireVersion(program, known.path))} (Claude Code)\n`);
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
    notify({ message: "There are no prompts on the tape: what the caller says is not compared" });
  }
  const speaker = createFramePrinter(flags);
  const { sessionId } = flags;
  const ending = await playToCaller(
    new Player(program, sessionId === undefined ? {} : { sessionId }),
    {
      caller: {
        nextLine: flags.isConversation ? readStdinLines() : readPromptAsLine(flags),
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
  reportDivergences(divergences, known.path);
  reportUncompared(uncompared);
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

function requireVersion({ version }: RecordedProgram, path: string): string {
  if (version !== undefined) return version;
  throw new CliError(`Cannot tell the version: ${path} does not say of which it is`, {
    suggestion: "Record it again with this claude-print, whose cassettes do",
  });
}

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The prompt of a run as a line of its caller, and the end of its input. */
function readPromptAsLine(
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
    }, denoPromptIo({ inTime: (wait) => wait, warn: (message) => notify({ message }) }));
    return JSON.stringify({ type: "user", message: { role: "user", content } });
  };
}

/** Says on stderr what the caller did otherwise. */
function reportDivergences(divergences: readonly string[], tape: string): void {
  if (divergences.length === 0) return;
  const count = divergences.length === 1 ? "one difference" : `${divergences.length} differences`;
  const lines = divergences.map((each) => `  ${escapeInvisible(each)}\n`).join("");
  print(Deno.stderr, `claude-print: The caller does not do what ${tape} says, ${count}:\n${lines}`);
}

/** Says on stderr what nobody may take for the same, though it is not known to differ. */
function reportUncompared(uncompared: readonly string[]): void {
  for (const what of uncompared) notify({ message: `Warning: ${escapeInvisible(what)}` });
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

function notify(problem: { readonly message: string }): void {
  print(Deno.stderr, problemText(problem));
}

/** What says the frames of a recorded program on stdout. */
interface FramePrinter {
  /** Says one; it is kept until the next flush. */
  readonly print: (frame: AnyFrame) => void;
  /** Says what its format keeps for the end. */
  readonly end: () => void;
  /** How much text is kept. */
  readonly pendingSize: () => number;
  /** Writes what is kept; false when nobody reads any more. */
  readonly flush: () => Promise<boolean>;
}

/** How long a stdout that takes nothing now is left alone, in milliseconds. */
const RETRY_MS = 5;

/** Says frames in the format that the caller has asked for, at the pace at which they are read. */
function createFramePrinter({ format, verbose }: ProgramFlags): FramePrinter {
  let text = "";
  const writer = createOutputWriter(format, { verbose, write: (more) => text += more });
  return {
    print: (frame) => {
      try {
        // Whatever is on a tape was a frame of a run.
        writer.frame(frame as Frame);
      } catch (cause) {
        throw new CliError(`Cannot print the frame ${frame.type} of the tape: it is damaged`, {
          suggestion: "Record the run again with --record, or restore the file from a copy",
          cause,
        });
      }
    },
    end: writer.end,
    pendingSize: () => text.length,
    flush: async () => {
      const bytes = new TextEncoder().encode(text);
      text = "";
      return await writeAll(bytes);
    },
  };
}

async function writeAll(bytes: Uint8Array): Promise<boolean> {
  for (let rest = bytes; rest.length > 0;) {
    try {
      rest = rest.subarray(await Deno.stdout.write(rest));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return false;
      if (!(error instanceof Deno.errors.WouldBlock)) throw outputError(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  return true;
}

/** What a recorded program makes of its command line. */
interface ProgramFlags {
  /** Whether it is to say its version and nothing else. */
  readonly version: boolean;
  /** Whether its caller writes lines of stream-json; otherwise a prompt. */
  readonly isConversation: boolean;
  readonly format: OutputFormat;
  readonly verbose: boolean;
  readonly promptArgument?: string;
  readonly inputFile?: string;
  /** The session that the run has, where its caller decides that. */
  readonly sessionId?: string;
}

/**
 * Reads the command line that a caller gives `claude`, as far as a replay heeds it. Flags that this program does not know
 * or would refuse were given to the recorded one, and change nothing.
 */
function parseProgramFlags(args: readonly string[]): ProgramFlags {
  const { uses, operands: [promptArgument], information } = tokenize(args);
  const valueOf = (name: string) => uses.findLast(({ flag }) => flag.name === name)?.value;
  const has = (name: string) => uses.some(({ flag }) => flag.name === name);
  const isConversation = valueOf("--input-format") === "stream-json";
  const format = valueOf("--output-format");
  const resumed = has("--fork-session") ? undefined : valueOf("--resume");
  const inputFile = valueOf("--input-file");
  const sessionId = valueOf("--session-id") ?? resumed;
  return {
    version: information === "version" || information === "short version",
    isConversation,
    format: isConversation || format === "stream-json"
      ? "stream-json"
      : format === "json"
      ? format
      : "text",
    verbose: has("--verbose"),
    ...(promptArgument === undefined ? {} : { promptArgument }),
    ...(inputFile === undefined ? {} : { inputFile }),
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}

/** Text that is kept until somebody asks for it, in UTF-16 units; while it is more, nothing is read. */
const MAX_BUFFERED_LENGTH = 64 * 1024 * 1024;

/**
 * The lines of stdin, one a call, and nothing at its end; a last one without its end counts. It is read as fast as it
 * comes, so that nobody waits who writes before reading, as far as that can be kept.
 *
 * @returns what gives the next line, and throws a `CliError` for one that is too long
 */
export function readStdinLines(
  { readable = Deno.stdin.readable, longest = LONGEST_LINE, mostKept = MAX_BUFFERED_LENGTH }: {
    readonly readable?: ReadableStream<Uint8Array>;
    readonly longest?: number;
    readonly mostKept?: number;
  } = {},
): () => Promise<string | undefined> {
  const lines = new LineQueue();
  let isOver = false;
  let failure: CliError | undefined;
  let count = 0;
  let wakeReader = () => {};
  let wakeCaller = () => {};
  const read = async () => {
    const splitter = createLineSplitter();
    for await (const bytes of readable) {
      const more = splitter.push(bytes);
      count += more.length;
      for (const line of more) lines.add(line);
      wakeCaller();
      if (splitter.pending() > longest) throw lineTooLongError(count + 1, longest);
      while (lines.length > mostKept) await new Promise<void>((resolve) => wakeReader = resolve);
    }
    const last = splitter.remainder();
    if (last !== "") lines.add(last);
  };
  read().catch((error) => {
    // A stdin that cannot be read says nothing more.
    if (error instanceof CliError) failure = error;
  }).finally(() => {
    isOver = true;
    wakeCaller();
  });
  return async () => {
    for (;;) {
      const line = lines.take();
      if (line !== undefined) {
        wakeReader();
        return line;
      }
      if (failure !== undefined) throw failure;
      if (isOver) return undefined;
      await new Promise<void>((resolve) => wakeCaller = resolve);
    }
  };
}

function lineTooLongError(line: number, longest: number): CliError {
  return new CliError(
    `Cannot read line ${line} of stdin: it is longer than any run writes, ${longest} bytes and more`,
    { suggestion: "End each message with a newline, and send what is larger in parts" },
  );
}

/** Lines that wait. An array's `shift()` moves all that are left each time. */
class LineQueue {
  #lines: string[] = [];
  #first = 0;
  /** How much text waits, in UTF-16 units, the ends of lines counted. */
  length = 0;

  add(line: string): void {
    this.#lines.push(line);
    this.length += line.length + 1;
  }

  take(): string | undefined {
    const line = this.#lines[this.#first];
    if (line === undefined) return undefined;
    this.length -= line.length + 1;
    this.#first++;
    if (2 * this.#first > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#first);
      this.#first = 0;
    }
    return line;
  }
}

/**
 * Prints a program that behaves as the recorded `claude` did, for those who take nothing but a path.
 *
 * @throws {CliError} when the tape cannot be replayed
 */
export function printProgram(
  { dir, asProgram }: Extract<CassetteOptions, { readonly action: "program" }>,
): number {
  const { tape, ...known } = readProgram(dir);
  recordedProgram(tape, { ...known, mode: asProgram.mode });
  const cwd = currentFolder();
  const { mode, speed, patienceMs, report } = asProgram;
  const words = [
    ...thisProgram(),
    ...["cassette", "replay", absolutePath(dir, cwd), `--mode=${mode}`, `--speed=${speed}`],
    `--patience=${patienceMs / 1000}`,
    ...(report === undefined ? [] : [`--report=${absolutePath(report, cwd)}`]),
  ];
  print(Deno.stdout, `#!/bin/sh\nexec ${words.map(shellQuote).join(" ")} -- "$@"\n`);
  return 0;
}
