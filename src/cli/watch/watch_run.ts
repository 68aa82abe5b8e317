import { windowSize } from "../../../ffi/terminal/pty.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { CliError } from "../../cli_error.ts";
import type { LiveLine } from "./live_line.ts";
import type { Input } from "../../conversation/control/input.ts";

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
    refuseMirror(request, { isSmart, isTerminal });
    return await mirror();
  }
  const wanted = isSmart && !request.quiet && !request.trace &&
    request.outputFormat !== "stream-json" && !(request.streamText && isTerminal.stdout);
  return wanted ? liveLine(options) : undefined;
}

function refuseMirror(
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

async function mirror(): Promise<RunWatcher> {
  const [{ Outlet }, { silenceInput }, { ScreenMirror }] = await Promise.all([
    import("../../../ffi/descriptors/outlet.ts"),
    import("../../../ffi/terminal/silent_input.ts"),
    import("./screen_mirror.ts"),
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
function liveLine({ env, cwd, stderr = STDERR, pid = "self" }: WatchOptions): RunWatcher {
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
