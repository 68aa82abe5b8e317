import {
  checkPrompt,
  decodePrompt,
  MAX_PROMPT_BYTES,
  noPromptError,
  promptTooLongError,
} from "./check_prompt.ts";
import { isAttended, loneWordError } from "./lone_word.ts";
import type { RunRequest } from "./run_request.ts";
import { CliError } from "../../cli_error.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { readToEnd } from "../../../ffi/descriptors/read_to_end.ts";

/** The stdin, files and clock that {@linkcode readPrompt} uses. */
export type PromptIo = {
  readonly stdinIsTerminal: boolean;
  /** Whether a person types the command line and reads the output. */
  readonly isAttended: boolean;
  readonly isFile: (path: string) => boolean;
  readonly stdin: ReadableStream<Uint8Array>;
  /**
   * Returns all of a stdin that never blocks, such as a file; `undefined` for any other. This saves the 8 ms that the
   * first stream and the first timer of a Deno process take.
   */
  readonly stdinAtOnce?: () => Uint8Array | undefined;
  /** Reads a file. Stops if it is too long for a prompt. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
  /**
   * Awaits a promise until the time limit of the run. Rejects if a signal stops the run earlier.
   *
   * @param what the reason for the error at the time limit, as a clause
   */
  readonly inTime: <Value>(wait: Promise<Value>, what: string) => Promise<Value>;
  /** Warns the user in one line, without a new line at its end. */
  readonly warn: (line: string) => void;
  /** Calls `ring` once after `milliseconds`. The returned function prevents the call. */
  readonly startTimer: (milliseconds: number, ring: () => void) => () => void;
};

/** How long `claude -p` waits for the first byte on stdin (2.1.330), in milliseconds. */
export const STDIN_PATIENCE_MS = 3000;

const STDIN_OPEN = "stdin had not ended";

type Chunk = { readonly kind: "bytes"; readonly bytes: Uint8Array } | { readonly kind: "end" };
type FirstChunk =
  | Chunk
  | { readonly kind: "silence" }
  | { readonly kind: "failure"; readonly error: unknown };

/**
 * Reads the prompt of a run from its argument, from stdin or from `--input-file`.
 *
 * As in `claude -p`, the argument and stdin are joined by a line feed and not trimmed, and a terminal is not read. If
 * no byte arrives on stdin for 3 seconds, stdin is ignored with a warning; after the first byte it is read to its end.
 * `--input-file -` waits for stdin until the time limit of the run.
 *
 * @throws {CliError} for a source that cannot be read, for two explicit sources, and for an invalid prompt
 */
export async function readPrompt(
  request: Pick<
    RunRequest,
    | "promptArgument"
    | "ignoredArguments"
    | "misplacedPrompt"
    | "loneWord"
    | "inputFile"
    | "rewindsTo"
  >,
  io: PromptIo,
): Promise<string> {
  const { promptArgument: argument = "" } = request;
  const mistake = request.loneWord === undefined ? undefined : loneWordError(request.loneWord, io);
  if (mistake !== undefined && io.isAttended) throw mistake;
  const [ignored, ...more] = request.ignoredArguments;
  if (ignored !== undefined) {
    io.warn(
      `Only the first prompt counts, ${JSON.stringify(ignored)} ` +
        `${more.length === 0 ? "is" : `and ${more.length} more are`} ignored, as by claude -p`,
    );
  }
  const text = request.inputFile === undefined
    ? await readArgumentAndStdin(argument, io)
    : await readInputFile(request.inputFile, { argument, io });
  // --rewind-files takes no prompt. The run refuses a prompt.
  if (request.rewindsTo !== undefined) return text;
  if (mistake !== undefined && text === argument) {
    io.warn(`${mistake.message}, but is sent to the model. ${mistake.suggestion}`);
  }
  const problem = text.trim() === "" ? noPromptError(request.misplacedPrompt) : checkPrompt(text);
  if (problem !== undefined) throw problem;
  return text;
}

async function readArgumentAndStdin(argument: string, io: PromptIo): Promise<string> {
  if (io.stdinIsTerminal) return argument;
  const atOnce = readStdinAtOnce(io);
  if (atOnce !== undefined) return joinPrompt(argument, decodeStdin(atOnce));
  const reader = io.stdin.getReader();
  try {
    const first = await readFirstChunk(reader, { patienceMs: STDIN_PATIENCE_MS, io });
    const piped = first.kind === "bytes" ? await readRest(reader, { first: first.bytes, io }) : "";
    if (first.kind === "silence") warnAboutSilence(io);
    if (first.kind === "failure") {
      if (argument === "") throw stdinError(first.error);
      io.warn("Stdin cannot be read, going on with the argument alone");
    }
    return joinPrompt(argument, piped);
  } finally {
    await cancelReader(reader);
  }
}

function readStdinAtOnce(io: PromptIo): Uint8Array | undefined {
  try {
    return io.stdinAtOnce?.();
  } catch (error) {
    throw stdinError(error);
  }
}

/** Joins two parts of a prompt by a line feed, as `claude -p` does; an empty part is left out. */
export function joinPrompt(argument: string, piped: string): string {
  return [argument, piped].filter((part) => part !== "").join("\n");
}

/** Returns the part of a joined prompt that came from stdin. */
export function pipedPart(
  prompt: string,
  { promptArgument: argument = "" }: Pick<RunRequest, "promptArgument">,
): string {
  return argument === "" ? prompt : prompt.slice(argument.length + 1);
}

async function readInputFile(
  path: string,
  { argument, io }: { readonly argument: string; readonly io: PromptIo },
): Promise<string> {
  if (argument !== "") throw twoSourcesError("an argument");
  if (path === "-") return await readAllOfStdin(io);
  const reading = io.readFile(path).catch((error: unknown) => {
    throw inputFileError(path, error);
  });
  const bytes = await io.inTime(reading, `--input-file "${path}" had not ended`);
  const atOnce = io.stdinIsTerminal ? undefined : readStdinAtOnce(io);
  if (atOnce !== undefined && atOnce.length > 0) throw twoSourcesError("text on stdin");
  if (!io.stdinIsTerminal && atOnce === undefined) {
    const reader = io.stdin.getReader();
    try {
      const first = await readFirstChunk(reader, { patienceMs: STDIN_PATIENCE_MS, io });
      if (first.kind === "bytes") throw twoSourcesError("text on stdin");
      if (first.kind === "silence") warnAboutSilence(io);
    } finally {
      await cancelReader(reader);
    }
  }
  if (bytes.length > MAX_PROMPT_BYTES) throw promptTooLongError();
  return decodePrompt(bytes, `"${path}"`);
}

async function readAllOfStdin(io: PromptIo): Promise<string> {
  const reader = io.stdin.getReader();
  try {
    const first = await readFirstChunk(reader, { patienceMs: undefined, io });
    switch (first.kind) {
      case "bytes":
        return await readRest(reader, { first: first.bytes, io });
      case "failure":
        throw stdinError(first.error);
      case "end":
      case "silence":
        return "";
    }
  } finally {
    await cancelReader(reader);
  }
}

/** Ends a pending read, which would keep the program alive. */
async function cancelReader(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  await reader.cancel().catch(() => {});
  reader.releaseLock();
}

/** Reads the first bytes of stdin, unless it ends, fails, or stays silent for too long. */
function readFirstChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { patienceMs, io }: { readonly patienceMs: number | undefined; readonly io: PromptIo },
): Promise<FirstChunk> {
  const first = new Promise<FirstChunk>((resolve) => {
    const stopTimer = patienceMs === undefined
      ? () => {}
      : io.startTimer(patienceMs, () => resolve({ kind: "silence" }));
    readChunk(reader).then(resolve, (error: unknown) => resolve({ kind: "failure", error }))
      .finally(stopTimer);
  });
  return io.inTime(first, STDIN_OPEN);
}

/** Reads the next chunk that is not empty. */
async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Chunk> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "end" };
    if (value.length > 0) return { kind: "bytes", bytes: value };
  }
}

/** Reads the rest of stdin, and decodes all of it. */
async function readRest(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { first, io }: { readonly first: Uint8Array; readonly io: PromptIo },
): Promise<string> {
  const chunks = [first];
  let length = first.length;
  for (;;) {
    if (length > MAX_PROMPT_BYTES) throw promptTooLongError();
    const next = readChunk(reader).catch((error: unknown) => {
      throw stdinError(error);
    });
    const chunk = await io.inTime(next, STDIN_OPEN);
    if (chunk.kind === "end") break;
    chunks.push(chunk.bytes);
    length += chunk.bytes.length;
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return decodeStdin(bytes);
}

function decodeStdin(bytes: Uint8Array): string {
  if (bytes.length > MAX_PROMPT_BYTES) throw promptTooLongError();
  return decodePrompt(bytes, "stdin");
}

function warnAboutSilence(io: PromptIo): void {
  io.warn(
    "Nothing came in on stdin within 3 s, going on without it; " +
      "redirect stdin from /dev/null to skip the wait, or use --input-file - to wait longer",
  );
}

function twoSourcesError(other: string): CliError {
  return new CliError(`Cannot choose a prompt: there are both --input-file and ${other}`, {
    suggestion: other === "an argument"
      ? "Give one of the two"
      : "Give one of the two, or redirect stdin from /dev/null",
  });
}

function stdinError(cause: unknown): CliError {
  return new CliError(`Cannot read the prompt from stdin: ${describeError(cause)}`, {
    suggestion: 'Type claude-print "your prompt", or pipe the prompt in',
    cause,
  });
}

/** The error for an `--input-file` that cannot be read. */
export function inputFileError(path: string, cause: unknown): CliError {
  return new CliError(`Cannot read --input-file "${path}": ${describeError(cause)}`, {
    suggestion: "Name a text file that you may read, or - for stdin",
    cause,
  });
}

/** Describes an error of the operating system in a few words. */
function describeError(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.NotADirectory) return "a part of the path is not a directory";
  const message = error instanceof Error ? error.message : String(error);
  return /^Is a directory\b/.test(message) ? "it is a directory" : message.split(":")[0] ?? message;
}

/** Returns access to the real stdin, files and clock. */
export function denoPromptIo(options: Pick<PromptIo, "inTime" | "warn">): PromptIo {
  return {
    ...options,
    stdinIsTerminal: Deno.stdin.isTerminal(),
    isAttended: isAttended(),
    isFile,
    get stdin() {
      return Deno.stdin.readable;
    },
    stdinAtOnce,
    readFile,
    startTimer: (milliseconds, ring) => {
      const timer = setTimeout(ring, milliseconds);
      return () => clearTimeout(timer);
    },
  };
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Descriptions of error numbers. libc describes all others. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a directory",
};

/**
 * Reads a file through libc, because Deno opens `/dev/stdin` and similar files only for a program with every
 * permission.
 */
async function readFile(path: string): Promise<Uint8Array> {
  try {
    return await readToEnd(path, { limit: MAX_PROMPT_BYTES });
  } catch (error) {
    if (!(error instanceof LibcError)) throw error;
    throw new Error(REASONS[error.code] ?? error.description, { cause: error });
  }
}

/** Reads a stdin that is a file or /dev/null, from its current position. */
function stdinAtOnce(): Uint8Array | undefined {
  let kind;
  try {
    kind = fdStat(0).kind;
  } catch {
    // stdin is closed. Reading the stream reports the error.
    return undefined;
  }
  if (kind === "null device") return new Uint8Array();
  return kind === "file" ? readFileStdin() : undefined;
}

/** Reads a file on stdin to its end, or until it is too long for a prompt. */
function readFileStdin(): Uint8Array {
  let bytes = new Uint8Array(64 * 1024);
  let size = 0;
  for (;;) {
    const count = Deno.stdin.readSync(bytes.subarray(size));
    if (count === null || size > MAX_PROMPT_BYTES) return bytes.subarray(0, size);
    size += count;
    if (size < bytes.length) continue;
    const larger = new Uint8Array(2 * bytes.length);
    larger.set(bytes);
    bytes = larger;
  }
}
