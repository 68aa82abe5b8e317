import type { IBufferNamespace, Terminal } from "@xterm/headless";
import { DRAWING_START, type DrawingPiece, filterDrawing } from "./drawing_filter.ts";
import type { Screen } from "./screen.ts";

/** Work that it takes to fill a cell twice with text. */
const CELL_WORK = 40;
/** Bytes that are filtered at once: what is made of them takes much more room. */
const SLICE = 64 * 1024;

let library: Promise<typeof import("@xterm/headless")> | undefined;

type Size = { readonly rows: number; readonly cols: number };

/**
 * A terminal that nobody sees: what a child wrote becomes what a person would have seen.
 *
 * The one place where output reaches the terminal's library, which counts to any number it is told, and throws where a
 * terminal has to go on.
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

  /** Loads the library, which is large, and which most runs never need. */
  static async open(size: Size): Promise<HeadlessTerminal> {
    // By its path: the name that the package has for bundlers leads to a file it does not hold.
    library ??= import("@xterm/headless/lib-headless/xterm-headless.mjs");
    const { Terminal } = await library;
    const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
    return new HeadlessTerminal(terminal, size);
  }

  /**
   * Draws output, and sets sizes, in order. Of what takes too much work only the end is drawn: so a flood looks as it
   * does to somebody whose terminal shows no more than every so often.
   *
   * @param options.work how much is not too much, in units of some 10 ns, beside what it takes to fill the screen
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

  /** What there is to be seen, in the library's own words. */
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
    // What follows a user's input is parsed at once: an error comes here, and not out of a timer to nobody.
    this.#terminal.input("", true);
    try {
      await new Promise<void>((done) => this.#terminal.write(text, done));
    } catch {
      // It shows what it had drawn by then: a look at the screen is not worth the end of a run.
      this.#isBroken = true;
    }
  }
}

/** Something to do to a terminal: to write a piece, or to set a size. */
type DrawingStep = DrawingPiece | { readonly size: Size; readonly work: number };

/** The last steps of a drawing that are not too much work: the last one always, and a size that was set before. */
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
    // Twice as much is kept meanwhile, so that each step is moved only once.
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

/** What a headless terminal shows. */
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

/** Several times what all kept output of an honest child takes, and a fifth of a second. */
const MOST_WORK = 20_000_000;

/** Renders what a terminal shows after some output. */
export async function renderScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<Screen> {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw(chunks, { work: MOST_WORK });
  return screenOf(terminal);
}
