/** The texts of a program: the source of Claude Code stands in its executable as it was bundled. */
export interface ProgramText {
  /** Whether a text stands in the program literally. */
  readonly has: (text: string) => boolean;
  /** Whether it stands there as a word, and not within a longer name. */
  readonly hasWord: (word: string) => boolean;
  /** All places that a pattern with the flag `g` matches. */
  readonly matches: (pattern: RegExp) => readonly RegExpExecArray[];
}

/** An executable is read and judged in blocks: its source is tens of megabytes in one piece, machine code has no such piece. */
const BLOCK = 65_536;
/** Every which byte of a block is looked at, and the share of them that has to be readable. */
const STEP = 16;
const READABLE = 0.9;

/** Reads those blocks of an executable that are text: of 400 MB some 80 (2.1.332). */
export async function readProgramText(
  path: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ProgramText> {
  const decoder = new TextDecoder();
  const block = new Uint8Array(BLOCK);
  let text = "";
  using file = await Deno.open(path);
  for (let count = await fill(file, block); count > 0; count = await fill(file, block)) {
    signal?.throwIfAborted();
    const bytes = block.subarray(0, count);
    if (isText(bytes)) text += decoder.decode(bytes, { stream: true });
  }
  return textOfProgram(text);
}

/** The same of a text. */
export function textOfProgram(text: string): ProgramText {
  return {
    has: (part) => text.includes(part),
    hasWord: (word) => new RegExp(`\\b${word}\\b`, "u").test(text),
    matches: (pattern) => [...text.matchAll(pattern)],
  };
}

async function fill(file: Deno.FsFile, block: Uint8Array): Promise<number> {
  let filled = 0;
  while (filled < block.length) {
    const count = await file.read(block.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return filled;
}

function isText(bytes: Uint8Array): boolean {
  let readable = 0;
  let seen = 0;
  for (let index = 0; index < bytes.length; index += STEP) {
    const byte = bytes[index] ?? 0;
    seen++;
    if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09) readable++;
  }
  return readable > READABLE * seen;
}
