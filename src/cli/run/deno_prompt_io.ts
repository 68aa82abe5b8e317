import { LibcError } from "../../../ffi/errno.ts";
import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { readToEnd } from "../../../ffi/descriptors/read_to_end.ts";
import { MAX_PROMPT_BYTES, type PromptIo } from "../arguments/prompt_source.ts";

/** The real stdin, files and clock for `readPrompt`. */
export function denoPromptIo(options: Pick<PromptIo, "inTime" | "warn">): PromptIo {
  return {
    ...options,
    stdinIsTerminal: Deno.stdin.isTerminal(),
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

/** Why a file cannot be read, in words, by the name of the error number; of others in those of libc. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a directory",
};

/** Reads a file, also one that Deno lets only a program with every permission open, such as `/dev/stdin`. */
async function readFile(path: string): Promise<Uint8Array> {
  try {
    return await readToEnd(path, { limit: MAX_PROMPT_BYTES });
  } catch (error) {
    if (!(error instanceof LibcError)) throw error;
    throw new Error(REASONS[error.code] ?? error.description, { cause: error });
  }
}

/** What a stdin that is a file or /dev/null still holds, from where others left off reading it. */
function stdinAtOnce(): Uint8Array | undefined {
  let kind;
  try {
    kind = fdStat(0).kind;
  } catch {
    // Closed: reading the stream says what is wrong with it.
    return undefined;
  }
  if (kind === "null device") return new Uint8Array();
  return kind === "file" ? restOfStdin() : undefined;
}

/** Reads a stdin that never blocks to its end, or until it is too long for any prompt. */
function restOfStdin(): Uint8Array {
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
