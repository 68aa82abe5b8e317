import { LibcError } from "../../ffi/errno.ts";
import { fdStat } from "../../ffi/fd.ts";
import { readToEnd } from "../../ffi/read_to_end.ts";
import { MAX_PROMPT_BYTES, type PromptIo } from "../cli/prompt_source.ts";

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

/** Reads a file; one that may make its reader wait, such as a FIFO or `/dev/stdin`, without blocking anything else. */
async function readFile(path: string): Promise<Uint8Array> {
  if (await mayBlock(path)) {
    try {
      return await readToEnd(path, MAX_PROMPT_BYTES + 1);
    } catch (error) {
      throw error instanceof LibcError ? new Error(error.description, { cause: error }) : error;
    }
  }
  return await Deno.readFile(path);
}

async function mayBlock(path: string): Promise<boolean> {
  try {
    const { isFile, isDirectory } = await Deno.stat(path);
    return !isFile && !isDirectory;
  } catch (error) {
    return error instanceof Deno.errors.NotCapable;
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
