import { windowSize } from "../../../ffi/terminal/pty.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { CliError } from "../../cli_error.ts";
import type { LiveLine } from "./live_line.ts";
import type { Input } from "../../conversation/control/input.ts";
import {
  filterForMirror,
  MIRROR_RESET,
  MIRROR_START,
  type MirrorState,
} from "../../conversation/terminal/mirror_filter.ts";

/** Somebody who looks on while a run is under way, on the terminal that stderr is. */
export interface RunWatcher extends Disposable {
  /** Takes what the run tells; the bytes of a `terminal` sign are good only until it returns. */
  readonly observe: (sign: Input) => void;
}

/** What of the surroundings decides who looks on. */
export interface WatchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stdout and stderr are terminals. */
  readonly isTerminal: { readonly stdout: boolean; readonly stderr: boolean };
  /** The fd of stderr, and the process that it is of; absent for those of this program. */
  readonly stderr?: number;
  readonly pid?: number | "self";
}

/** The fd of this program's stderr. */
const STDERR = 2;
/** A run that is over by then needs no line, and a child that starts needs every core. */
const LIVE_LINE_AFTER_MS = 500;

/**
 * The mirror of `--show`, or a live line while somebody at a terminal waits for text or json; else undefined.
 *
 * `--trace` says more than a live line, stream-json says it elsewhere, and so does an answer that appears as it is
 * written.
 *
 * @throws {CliError} when `--show` has no terminal to itself
 */
export async function watchRun(
  request: Pick<RunRequest, "show" | "quiet" | "trace" | "outputFormat" | "streamText">,
  options: WatchOptions,
): Promise<RunWatcher | undefined> {
  const { env, isTerminal } = options;
  const isSmart = isTerminal.stderr && env["TERM"] !== undefined && env["TERM"] !== "dumb";
  if (request.show) {
    checkMirror(request, { isSmart, isTerminal });
    return await startMirror();
  }
  const wanted = isSmart && !request.quiet && !request.trace &&
    request.outputFormat !== "stream-json" && !(request.streamText && isTerminal.stdout);
  return wanted ? startLiveLine(options) : undefined;
}

function checkMirror(
  { trace, outputFormat, streamText }: Pick<RunRequest, "trace" | "outputFormat" | "streamText">,
  { isSmart, isTerminal }: {
    readonly isSmart: boolean;
    readonly isTerminal: WatchOptions["isTerminal"];
  },
): void {
  const failed = "Cannot show Claude Code's screen";
  if (!isSmart) {
    throw new CliError(
      isTerminal.stderr
        ? `${failed}: the terminal's TERM is dumb`
        : `${failed}: stderr is not a terminal`,
      { suggestion: "Leave out --show, or run claude-print in a terminal" },
    );
  }
  if (trace) {
    throw new CliError(`${failed}: --trace writes to the same terminal`, {
      suggestion: "Leave out --show or --trace",
    });
  }
  if ((outputFormat === "stream-json" || streamText) && isTerminal.stdout) {
    const what = streamText ? "--stream-text" : "stream-json";
    throw new CliError(`${failed}: ${what} goes to the same terminal`, {
      suggestion: "Send stdout to a file or a program, or leave out --show",
    });
  }
}

async function startMirror(): Promise<RunWatcher> {
  const [{ Outlet }, { silenceInput }] = await Promise.all([
    import("../../../ffi/descriptors/outlet.ts"),
    import("../../../ffi/terminal/silent_input.ts"),
  ]);
  const stack = new DisposableStack();
  const output = stack.use(new Outlet(STDERR));
  const mirror = stack.use(new ScreenMirror({ output, begin: () => silenceInput(STDERR) }));
  return {
    observe: (sign) => mirror.observe(sign),
    [Symbol.dispose]: () => stack.dispose(),
  };
}

/** A live line that is loaded when it is time to draw it. */
function startLiveLine({ env, cwd, stderr = STDERR, pid = "self" }: WatchOptions): RunWatcher {
  const stack = new DisposableStack();
  const early: Input[] = [];
  let startedAt = performance.now();
  let line: LiveLine | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = async () => {
    const [{ Outlet }, { isInForeground, LiveLine }] = await Promise.all([
      import("../../../ffi/descriptors/outlet.ts"),
      import("./live_line.ts"),
    ]);
    if (stack.disposed) return;
    line = stack.use(
      new LiveLine({
        output: stack.use(new Outlet(stderr)),
        elapsedMs: () => performance.now() - startedAt,
        columns: () => windowSize(stderr)?.cols ?? 80,
        isOurs: () => isInForeground(pid),
        color: !env["NO_COLOR"],
        cwd,
      }),
    );
    for (const sign of early.splice(0)) line.observe(sign);
    line.draw();
  };
  return {
    observe: (sign) => {
      if (sign.type === "terminal" || sign.type === "screen") return;
      if (line !== undefined) return line.observe(sign);
      early.push(sign);
      if (sign.type !== "spawned") return;
      startedAt = performance.now();
      // Whatever keeps the line from being drawn, the run goes on without it.
      timer = setTimeout(() => begin().catch(() => {}), LIVE_LINE_AFTER_MS);
      Deno.unrefTimer(timer);
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      stack.dispose();
    },
  };
}

/** Where a screen is mirrored: a terminal that is never waited for, as an `Outlet` is. */
interface MirrorOutput {
  /** Bytes that the terminal has not taken yet. */
  readonly pending: number;
  readonly write: (text: string) => void;
  readonly flush: () => void;
  readonly drop: () => void;
}

const ENTER = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
/** Ends a sequence that was cut short, too. */
const LEAVE = `\x18${MIRROR_RESET}\x1b[?1049l`;
const CLEAR = "\x18\x1b[0m\x1b[2J\x1b[H";

/** A terminal that is so far behind, in bytes, is shown only what comes after it has caught up. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
const FLUSH_MS = 20;
/** How long a terminal is given to take the end: it has to be left as it was. */
const LEAVE_MS = 2000;

/**
 * Shows what a child draws on a terminal's other screen, read-only, from the spawn until it is disposed; then the
 * terminal is as it was before.
 *
 * @see filterForMirror for what reaches the terminal
 */
export class ScreenMirror implements Disposable {
  readonly #output: MirrorOutput;
  readonly #begin: () => Disposable;
  #input: Disposable | undefined;
  #filter: MirrorState = MIRROR_START;
  #isBehind = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param options.begin called when the mirror is entered; what it returns is disposed when it is left */
  constructor(options: { readonly output: MirrorOutput; readonly begin: () => Disposable }) {
    this.#output = options.output;
    this.#begin = options.begin;
  }

  /** Takes the next sign of the run. */
  observe(sign: Input): void {
    if (sign.type === "spawned") {
      this.#input = this.#begin();
      this.#write(ENTER);
    } else if (sign.type === "terminal") {
      const { state, text } = filterForMirror(this.#filter, sign.bytes);
      this.#filter = state;
      this.#write(text);
    }
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    if (this.#input === undefined) return;
    this.#output.drop();
    this.#output.write(LEAVE);
    const giveUpAt = performance.now() + LEAVE_MS;
    while (this.#output.pending > 0 && performance.now() < giveUpAt) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_MS);
      this.#output.flush();
    }
    this.#input[Symbol.dispose]();
    this.#input = undefined;
  }

  #write(text: string): void {
    if (this.#isBehind || text === "") return;
    this.#output.write(text);
    if (this.#output.pending > MAX_PENDING_BYTES) {
      this.#output.drop();
      this.#isBehind = true;
      this.#output.write(CLEAR);
    }
    this.#catchUp();
  }

  /** Writes what is owed as soon as the terminal takes it. */
  #catchUp(): void {
    if (this.#output.pending === 0) {
      this.#isBehind = false;
      return;
    }
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#output.flush();
      this.#catchUp();
    }, FLUSH_MS);
    Deno.unrefTimer(this.#timer);
  }
}
