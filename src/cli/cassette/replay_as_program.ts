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
import { CliError, EXIT } from "../../cli_error.ts";
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
import { absolutePath } from "../../paths.ts";
import { shellQuote } from "../../shell_quote.ts";
import { definedFields } from "../../defined_fields.ts";

export interface ProgramReplay {
  /** The cassette's folder, or a tape. */
  readonly dir: string;
  /** The command line that the caller passes to the program. */
  readonly args: readonly string[];
  readonly mode: ReplayMode;
  /** The factor by which the replay is faster than the recording; 0 for no pauses. */
  readonly speed: number;
  /** How long to wait for the caller's next line, in milliseconds; 0 for no limit. */
  readonly patienceMs: number;
  /** The JSON file for a report of the caller's differences. */
  readonly report?: string;
}

/**
 * Behaves as the recorded `claude` did, and reports at the end how the caller differed.
 *
 * @returns the exit code of the recorded run, or 1 when the caller differed
 * @throws {CliError} when the tape cannot be read or replayed
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
  // The report of an earlier run must not look like the report of this run.
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
  const printer = createFramePrinter(flags);
  const { sessionId } = flags;
  const ending = await playToCaller(
    new Player(program, sessionId === undefined ? {} : { sessionId }),
    {
      caller: {
        nextLine: flags.isConversation ? readStdinLines() : readPromptAsLine(flags),
        ...printer,
        pause: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
        stopped,
      },
      ...options,
    },
  );
  if (ending.end !== undefined) printer.end();
  const isRead = ending.end !== undefined &&
    await Promise.race([printer.flush(), stopped]) === true;
  // A caller that does not read blocks the program in a write. Only the default action of a signal can end it then.
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
  if (signal !== undefined) return EXIT.signal + SIGNALS[signal];
  return isRead ? ending.end?.code ?? 0 : EXIT.abandoned;
}

function requireVersion({ version }: RecordedProgram, path: string): string {
  if (version !== undefined) return version;
  throw new CliError(`Cannot tell the version: ${path} does not say of which it is`, {
    suggestion: "Record it again with this claude-print, whose cassettes do",
  });
}

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Returns the prompt of a run as the only line of its caller. */
function readPromptAsLine(
  { promptArgument, inputFile }: ProgramFlags,
): () => Promise<string | undefined> {
  let isRead = false;
  return async () => {
    if (isRead) return undefined;
    isRead = true;
    const content = await readPrompt({
      ...definedFields({ promptArgument, inputFile }),
      ignoredArguments: [],
    }, denoPromptIo({ inTime: (wait) => wait, warn: (message) => notify({ message }) }));
    return JSON.stringify({ type: "user", message: { role: "user", content } });
  };
}

function reportDivergences(divergences: readonly string[], tape: string): void {
  if (divergences.length === 0) return;
  const count = divergences.length === 1 ? "one difference" : `${divergences.length} differences`;
  const lines = divergences.map((each) => `  ${escapeInvisible(each)}\n`).join("");
  print(Deno.stderr, `claude-print: The caller does not do what ${tape} says, ${count}:\n${lines}`);
}

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

/** Prints the frames of a recorded program on stdout. */
interface FramePrinter {
  /** Buffers a frame until the next flush. */
  readonly print: (frame: AnyFrame) => void;
  /** Buffers the text that the output format prints at the end. */
  readonly end: () => void;
  /** Returns the length of the buffer. */
  readonly pendingSize: () => number;
  /** Writes the buffer; returns false when the reader has disconnected. */
  readonly flush: () => Promise<boolean>;
}

/** The delay before a full stdout is tried again, in milliseconds. */
const RETRY_MS = 5;

/** Prints frames in the format that the caller requested. */
function createFramePrinter({ format, verbose }: ProgramFlags): FramePrinter {
  let text = "";
  const writer = createOutputWriter(format, { verbose, write: (more) => text += more });
  return {
    print: (frame) => {
      try {
        // A tape contains only frames that a run has printed.
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

/** The flags that a recorded program honours. */
interface ProgramFlags {
  /** Print only the version. */
  readonly version: boolean;
  /** Whether the caller writes stream-json. If not, it writes a prompt. */
  readonly isConversation: boolean;
  readonly format: OutputFormat;
  readonly verbose: boolean;
  readonly promptArgument?: string;
  readonly inputFile?: string;
  /** The session id, if the caller gives one. */
  readonly sessionId?: string;
}

/**
 * Parses the command line that a caller passes to `claude`. Flags that this program does not know, or would refuse, are
 * ignored, because the recorded program accepted them.
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
    ...definedFields({ promptArgument, inputFile, sessionId }),
  };
}

/** The length of buffered text above which reading pauses, in UTF-16 code units. */
const MAX_BUFFERED_LENGTH = 64 * 1024 * 1024;

/**
 * Reads the lines of stdin, including a last line without a line end. It reads ahead, so that a caller that writes all
 * its lines before it reads does not block.
 *
 * @returns a function that returns the next line, or undefined at the end; it throws a `CliError` for a line that is
 * too long
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
    // A stdin that cannot be read counts as ended.
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

/** A queue of lines. `shift()` of an array would move all other lines each time. */
class LineQueue {
  #lines: string[] = [];
  #first = 0;
  /** The length of all lines with their ends, in UTF-16 code units. */
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
 * Prints a shell script that behaves as the recorded `claude` did, for callers that need a path.
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
