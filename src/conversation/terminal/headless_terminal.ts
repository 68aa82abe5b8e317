import type { IBufferNamespace, Terminal } from "@xterm/headless";
import { DRAWING_START, type DrawingPiece, filterDrawing } from "./drawing_filter.ts";
import type { Screen } from "./screen.ts";

/** The work of filling a cell twice with text. */
const CELL_WORK = 40;
/** The number of bytes that are filtered at once. The pieces made from them take much more memory. */
const SLICE = 64 * 1024;

let library: Promise<typeof import("@xterm/headless")> | undefined;

type Size = { readonly rows: number; readonly cols: number };

/**
 * A terminal without a display. It turns a child's output into the screen that a person would see.
 *
 * Only this class passes output to the terminal's library. The library counts to any number in the output, and throws
 * in cases in which a terminal has to continue.
 */
export class HeadlessTerminal implements Disposable {
  readonly #terminal: Terminal;
  #filter = DRAWING_START;
  #size: Size;
  #isCursorShown = true;
  #isBroken = false;

  private constructor(terminal: Terminal, size: Size) {
    this.#terminal = terminal;
    this.#size = size;
    for (const [final, shown] of [["h", true], ["l", false]] as const) {
      terminal.parser.registerCsiHandler({ prefix: "?", final }, (modes: readonly unknown[]) => {
        if (modes.includes(25)) this.#isCursorShown = shown;
        return false;
      });
    }
  }

  /** Loads the library. It is large, and most runs never need it. */
  static async open(size: Size): Promise<HeadlessTerminal> {
    // The import uses the path, because the package's entry for bundlers leads to a missing file.
    library ??= import("@xterm/headless/lib-headless/xterm-headless.mjs");
    const { Terminal } = await library;
    const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
    return new HeadlessTerminal(terminal, size);
  }

  /**
   * Draws output, and sets sizes, in order. If the work is too large, only the end is drawn. So a flood looks as on a
   * terminal that refreshes only from time to time.
   *
   * @param options.work the maximum work, in units of some 10 ns, in addition to the work of filling the screen
   */
  async draw(
    output: Iterable<Uint8Array | Size>,
    options: { readonly work: number },
  ): Promise<void> {
    const tail = new Tail(options.work + CELL_WORK * cells(this.#size));
    for (const part of output) {
      if (part instanceof Uint8Array) {
        this.#filterInto(tail, part);
      } else {
        tail.add({ size: part, work: 2 * Math.max(cells(part), cells(this.#size)) });
        this.#size = part;
      }
    }
    let text = "";
    for (const step of tail.steps()) {
      if ("text" in step) {
        text += step.text;
        continue;
      }
      await this.#write(text);
      text = "";
      this.#terminal.resize(step.size.cols, step.size.rows);
    }
    await this.#write(text);
  }

  #filterInto(tail: Tail, bytes: Uint8Array): void {
    const target = { size: this.#size, otherScreen: true };
    for (let at = 0; at < bytes.length; at += SLICE) {
      const { state, pieces } = filterDrawing(this.#filter, bytes.subarray(at, at + SLICE), target);
      this.#filter = state;
      for (const piece of pieces) tail.add(piece);
    }
  }

  /** The content of the terminal, in the library's own types. */
  get buffer(): IBufferNamespace {
    return this.#terminal.buffer;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get isCursorShown(): boolean {
    return this.#isCursorShown;
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
  }

  async #write(text: string): Promise<void> {
    if (text === "" || this.#isBroken) return;
    // The library parses output immediately after a user's input. So an error is thrown here, and not in a timer, where
    // nothing catches it.
    this.#terminal.input("", true);
    try {
      await new Promise<void>((done) => this.#terminal.write(text, done));
    } catch {
      // The terminal keeps the screen drawn so far, because a failed look must not end the run.
      this.#isBroken = true;
    }
  }
}

/** A step of a drawing: a piece to write, or a size to set. */
type DrawingStep = DrawingPiece | { readonly size: Size; readonly work: number };

/**
 * The last steps of a drawing that are within the work limit. It always includes the last step and the last size that
 * was set before.
 */
class Tail {
  readonly #most: number;
  #steps: DrawingStep[] = [];
  #work = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(step: DrawingStep): void {
    this.#steps.push(step);
    this.#work += step.work;
    // Up to twice the limit is kept, so that each step is moved only once.
    if (this.#work > 2 * this.#most) this.#forget();
  }

  steps(): readonly DrawingStep[] {
    if (this.#work > this.#most) this.#forget();
    return this.#steps;
  }

  #forget(): void {
    const steps = this.#steps;
    let from = steps.length - 1;
    let work = steps[from]?.work ?? 0;
    while (from > 0 && work + (steps[from - 1] as DrawingStep).work <= this.#most) {
      from--;
      work += (steps[from] as DrawingStep).work;
    }
    const size = steps.slice(0, from).findLast((step) => "size" in step);
    this.#steps = [...(size === undefined ? [] : [{ ...size, work: 0 }]), ...steps.slice(from)];
    this.#work = work;
  }
}

function cells({ rows, cols }: Size): number {
  return rows * cols;
}

/** The screen of a headless terminal. */
export function screenOf(terminal: Pick<HeadlessTerminal, "rows" | "buffer">): Screen {
  const { active } = terminal.buffer;
  return {
    lines: Array.from(
      { length: terminal.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
    ),
    cursor: { row: active.cursorY + 1, col: active.cursorX + 1 },
  };
}

/**
 * The maximum work of one drawing: several times the work of all kept output of an honest child, and a fifth of a
 * second.
 */
const MOST_WORK = 20_000_000;

/** Renders the screen of a terminal after some output. */
export async function renderScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<Screen> {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw(chunks, { work: MOST_WORK });
  return screenOf(terminal);
}
