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

/** Shows a run on the terminal of stderr. */
export interface RunWatcher extends Disposable {
  /** Receives an input of the conversation. The bytes of a `terminal` input are valid only until the call returns. */
  readonly observe: (sign: Input) => void;
  /** Prepares the terminal for a text that is about to be printed. */
  readonly makeRoom: (stream: "stdout" | "stderr") => void;
}

export interface WatchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stdout and stderr are terminals. */
  readonly isTerminal: { readonly stdout: boolean; readonly stderr: boolean };
  /** The fd of stderr, and the process that owns it; by default this program. */
  readonly stderr?: number;
  readonly pid?: number | "self";
  /** The position of the run in a list, such as `line 2 of 5`. */
  readonly place?: string | undefined;
}

/** The fd of this program's stderr. */
const STDERR = 2;
/**
 * The delay before the live line, in milliseconds. A shorter run needs no line, and a starting child needs every core.
 */
const LIVE_LINE_AFTER_MS = 500;

/**
 * Starts the mirror of `--show`, or a live line for text and json output at a terminal; else returns undefined.
 *
 * There is no live line with `--trace` or stream-json, because they show more than the line. If the answer is printed
 * while it is written, the line ends when the answer begins.
 *
 * @throws {CliError} when `--show` has no terminal of its own
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
    request.outputFormat !== "stream-json";
  const endsAtText = request.streamText && isTerminal.stdout;
  return wanted ? startLiveLine({ ...options, endsAtText }) : undefined;
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
    makeRoom: () => {},
    [Symbol.dispose]: () => stack.dispose(),
  };
}

/** Starts a live line. Its code is loaded when the line is first drawn. */
function startLiveLine(
  { env, cwd, place, stderr = STDERR, pid = "self", endsAtText }: WatchOptions & {
    readonly endsAtText: boolean;
  },
): RunWatcher {
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
        ...{ cwd, place },
      }),
    );
    for (const sign of early.splice(0)) line.observe(sign);
    line.draw();
  };
  const end = () => {
    clearTimeout(timer);
    stack.dispose();
  };
  return {
    observe: (sign) => {
      if (sign.type === "terminal" || sign.type === "screen" || stack.disposed) return;
      if (line !== undefined) return line.observe(sign);
      early.push(sign);
      // A warm child was spawned before the run.
      if (timer !== undefined) return;
      startedAt = performance.now();
      // An error of the line must not end the run.
      timer = setTimeout(() => begin().catch(() => {}), LIVE_LINE_AFTER_MS);
      Deno.unrefTimer(timer);
    },
    makeRoom: (stream) => {
      if (endsAtText && stream === "stdout") end();
      else line?.erase();
    },
    [Symbol.dispose]: end,
  };
}

/** The terminal of a mirror, such as an `Outlet`. Writing never blocks. */
interface MirrorOutput {
  /** The number of bytes that the terminal has not accepted yet. */
  readonly pending: number;
  readonly write: (text: string) => void;
  readonly flush: () => void;
  readonly drop: () => void;
}

const ENTER = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
/** CAN (0x18) ends an incomplete sequence. */
const LEAVE = `\x18${MIRROR_RESET}\x1b[?1049l`;
const CLEAR = "\x18\x1b[0m\x1b[2J\x1b[H";

/**
 * The maximum number of pending bytes. Beyond it, the terminal is cleared, and shows only output that is drawn after it
 * has caught up.
 */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
const FLUSH_MS = 20;
/** How long to wait for the terminal to accept the reset, in milliseconds. */
const LEAVE_MS = 2000;

/**
 * Shows the child's screen on the alternate screen of a terminal, read-only, from the spawn until it is disposed. Then
 * the terminal is restored.
 *
 * @see filterForMirror for the output that reaches the terminal
 */
export class ScreenMirror implements Disposable {
  readonly #output: MirrorOutput;
  readonly #begin: () => Disposable;
  #input: Disposable | undefined;
  #filter: MirrorState = MIRROR_START;
  #isBehind = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param options.begin called when the mirror starts; its result is disposed at the end */
  constructor(options: { readonly output: MirrorOutput; readonly begin: () => Disposable }) {
    this.#output = options.output;
    this.#begin = options.begin;
  }

  /** Takes an input of the conversation. */
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

  /** Restores the terminal. */
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

  /** Writes pending bytes as soon as the terminal accepts them. */
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
