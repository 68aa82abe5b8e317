import { MAX_PROMPT_BYTES, type PromptIo } from "./prompt_source.ts";

/** The real stdin, files, stderr and clock for `readPrompt`. */
export function denoPromptIo(): PromptIo {
  return {
    stdinIsTerminal: Deno.stdin.isTerminal(),
    get stdin() {
      return Deno.stdin.readable;
    },
    stdinAtOnce,
    readFile: (path) => Deno.readFile(path),
    commandLine: () => Deno.readFileSync("/proc/self/cmdline"),
    warn: (line) => {
      Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
    },
    startTimer: (milliseconds, ring) => {
      const timer = setTimeout(ring, milliseconds);
      return () => clearTimeout(timer);
    },
  };
}

/** Device number of /dev/null on Linux: major 1, minor 3 (null(4)). */
const NULL_DEVICE = 0x103;

/** What a stdin that is a file or /dev/null still holds, from where others left off reading it. */
function stdinAtOnce(): Uint8Array | undefined {
  let stdin: Deno.FileInfo;
  try {
    stdin = Deno.statSync("/dev/stdin");
  } catch {
    // Closed, or known by another name: reading the stream says what is wrong with it.
    return undefined;
  }
  if (stdin.isCharDevice && stdin.rdev === NULL_DEVICE) return new Uint8Array();
  return stdin.isFile ? restOfStdin() : undefined;
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
