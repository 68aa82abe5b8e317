import { checkPrompt, parseListLine, readListInput } from "../arguments/check_prompt.ts";
import { joinPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { CliError, EXIT, toBadInputError } from "../../cli_error.ts";
import { awaitDelivery, createTracer, type Outlets, reportProblem } from "../report/outlets.ts";
import { reportError, warningText } from "../report/report_error.ts";
import { reportFailure } from "../report/report_failure.ts";
import {
  createLineReport,
  formatLineReport,
  type LineReport,
  readListLines,
  watchList,
  worstExitCode,
} from "./run_list.ts";
import type { RunWatcher } from "../watch/watch_run.ts";
import { ProgramCaller } from "../../driver/inputs/callers.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createPendingResults, holdConversation } from "../../library/hold_conversation.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { StoppedError } from "../../run/waits.ts";
import { Teardown } from "../../run/teardown.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import { createOutputWriter, type OutputWriter } from "../../claude/wire/output_writer.ts";

/** How a conversation ended. */
type End =
  /** A signal or a limit stopped it, or there are no further lines. */
  | { readonly kind: "over"; readonly exitCode: number }
  /** No child can be started. Each further line fails with the same error. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** A signal stopped it before it had a child, or this program has a bug. */
  | { readonly kind: "stopped"; readonly error: unknown };

/**
 * Sends each line of stdin or of `--input-file` as a turn of one conversation, one after the other, and prints a line
 * for each as it ends, like {@linkcode runList}.
 *
 * After a failed turn the conversation continues, with another child if necessary. If no child can be started, all
 * further lines fail with the reason.
 *
 * @returns the worst exit code of all lines
 * @throws {CliError} when the list cannot be read
 */
export async function converseList(
  request: RunRequest,
  { outlets }: { readonly outlets: Outlets },
): Promise<number> {
  using signals = new StopSignals();
  const { promise: crashed, reject: onCrash } = Promise.withResolvers<never>();
  const conversation = new ListConversation(request, { outlets, signals });
  using teardown = new Teardown({ warn: conversation.warn, onCrash });
  await conversation.start(teardown, crashed);
  const exitCodes = new Set([0]);
  using watcher = await watchList(request, outlets);
  const lines = readListLines(request);
  try {
    for (let number = 1;; number++) {
      const line = await conversation.nextLine(lines);
      if ("kind" in line) {
        return line.kind === "over"
          ? await conversation.finish(line.exitCode)
          : reportError(line.error, { outlets });
      }
      if (line.done) break;
      if (line.value.trim() === "") continue;
      const report = await conversation.answer(line.value, {
        number,
        place: watcher?.placeOf(number),
      });
      outlets.print(formatLineReport(report, number));
      watcher?.add(report, number);
      const { exitCode } = report;
      const code = await conversation.awaitReader(exitCode > EXIT.signal ? exitCode : 0);
      if (outlets.stdout?.end === "unread") {
        signals.raise("SIGPIPE");
        return await conversation.finish(EXIT.abandoned);
      }
      if (code !== 0) return await conversation.finish(code);
      exitCodes.add(exitCode);
    }
  } catch (error) {
    // The rest of the list cannot be read.
    await conversation.finish(2);
    throw error;
  }
  return await conversation.finish(worstExitCode(exitCodes));
}

/** The conversation that answers the lines of a list. */
class ListConversation {
  readonly #request: RunRequest;
  readonly #outlets: Outlets;
  readonly #signals: StopSignals;
  readonly #caller = new ProgramCaller();
  readonly #results = createPendingResults<TurnReport>();
  /** Problems that are being printed. */
  readonly #reported: Promise<void>[] = [];
  #ended = new Promise<End>(() => {});
  /** Set once no more prompts are sent. */
  #end: End | undefined;
  /** Shows the progress of the current turn. */
  #watcher: RunWatcher | undefined;
  /** Precedes each line about the current turn on stderr. */
  #label = "";
  /** The output of the current turn. */
  #output = "";
  #writer: OutputWriter;

  constructor(
    request: RunRequest,
    { outlets, signals }: { readonly outlets: Outlets; readonly signals: StopSignals },
  ) {
    this.#request = request;
    this.#outlets = outlets;
    this.#signals = signals;
    this.#writer = this.#newWriter();
  }

  readonly warn = (text: string): void => this.#outlets.notify(warningText(text, this.#label));

  /** @param crashed rejects when this program has a bug */
  async start(teardown: Teardown, crashed: Promise<never>): Promise<void> {
    const env = callerEnvironment();
    const outlets = this.#outlets;
    const { quiet } = this.#request;
    const tracer = await createTracer(this.#request, { env, outlets });
    const holding = holdConversation(this.#request, {
      env,
      cwd: currentFolder(),
      teardown,
      caller: this.#caller,
      outlivesFailures: true,
      signals: this.#signals,
      outlets: outlets.all,
      emit: (frame) => this.#writer.frame(frame),
      onInput: (input) => this.#watcher?.observe(input),
      onReport: (report) => {
        if (report.warning !== undefined && !quiet) this.warn(report.warning);
        const { loadRedactor } = tracer;
        this.#reported.push(
          reportProblem(report, { label: this.#label, quiet, outlets, loadRedactor }),
        );
        this.#results.resolve(report.tickets ?? [], report);
      },
      onPrepared: tracer.tracePrepared,
      warn: quiet ? () => {} : this.warn,
      trace: tracer.trace,
      onLogLine: (line) => outlets.notify(`${line}\n`),
    });
    this.#ended = Promise.race([
      crashed.catch((error: unknown): End => ({ kind: "stopped", error })),
      holding.then(
        (exitCode): End => ({ kind: "over", exitCode }),
        (error: unknown): End => ({
          kind: error instanceof StoppedError ? "stopped" : "failed",
          error,
        }),
      ),
    ]).then((end) => {
      this.#end = end;
      this.#results.reject("error" in end ? end.error : new Error("The conversation is over"));
      return end;
    });
  }

  /**
   * Returns the next line, or how the conversation has ended. The end of the conversation does not wait for the list.
   */
  async nextLine(lines: AsyncGenerator<string>): Promise<IteratorResult<string> | End> {
    this.#label = "";
    const next = lines.next();
    const ended = this.#ended.then(async (end) => end.kind === "failed" ? await next : end);
    return await Promise.race([next, ended]);
  }

  /** Sends the prompt of a line, and returns the report of its turn. */
  async answer(
    line: string,
    { number, place }: { readonly number: number; readonly place: string | undefined },
  ): Promise<LineReport> {
    this.#label = `line ${number}: `;
    this.#output = "";
    using watcher = place === undefined ? undefined : await this.#watch(place);
    this.#watcher = watcher;
    let input: unknown = line;
    try {
      let prompt: string;
      try {
        input = parseListLine(line);
        prompt = this.#promptOf(input);
      } catch (error) {
        throw toBadInputError(error);
      }
      if (this.#end?.kind === "failed") throw this.#end.error;
      const ticket = crypto.randomUUID();
      const result = this.#results.expect(ticket);
      this.#caller.say(messageLine(prompt, { ticket }));
      const { exitCode } = await result;
      this.#writer.end();
      await Promise.all(this.#reported.splice(0));
      return createLineReport({ input, output: this.#output, exitCode });
    } catch (error) {
      const exitCode = reportFailure(error, {
        writer: this.#newWriter(),
        sessionId: this.#request.sessionId,
        label: this.#label,
        outlets: this.#outlets,
      });
      return createLineReport({ input, output: this.#output, exitCode });
    } finally {
      this.#writer = this.#newWriter();
    }
  }

  /** Waits until the output has been read. The end of the conversation ends the wait, as its signals would. */
  async awaitReader(exitCode: number): Promise<number> {
    using signals = new StopSignals({ listen: false });
    this.#ended.then(({ kind }) => kind === "failed" || signals.raise("SIGTERM"));
    const until = performance.now() + this.#request.timeoutMs;
    return await awaitDelivery(exitCode, { outlets: this.#outlets, until, signals });
  }

  /** Ends the conversation, and returns the exit code: the given one, unless a signal has ended the conversation. */
  async finish(exitCode: number): Promise<number> {
    this.#caller.close();
    const end = await this.#ended;
    await Promise.all(this.#reported);
    return end.kind === "over" && end.exitCode > EXIT.signal ? end.exitCode : exitCode;
  }

  /** Shows the live line of a turn. */
  async #watch(place: string): Promise<RunWatcher | undefined> {
    const { watchRun } = await import("../watch/watch_run.ts");
    const watcher = await watchRun({ ...this.#request, show: false }, {
      ...{ env: callerEnvironment(), cwd: currentFolder(), place },
      isTerminal: { stdout: Deno.stdout.isTerminal(), stderr: Deno.stderr.isTerminal() },
    });
    if (watcher !== undefined) this.#outlets.onText = watcher.makeRoom;
    return watcher;
  }

  #promptOf(input: unknown): string {
    const { prompt, args } = readListInput(input);
    const text = joinPrompt(this.#request.promptArgument ?? "", prompt);
    const problem = args.length > 0 ? argsError() : checkPrompt(text);
    if (problem !== undefined) throw problem;
    return text;
  }

  #newWriter(): OutputWriter {
    return createOutputWriter("json", {
      verbose: this.#request.verbose,
      write: (text) => {
        this.#output += text;
      },
    });
  }
}

function argsError(): CliError {
  return new CliError(
    'Cannot read the line: its "args" cannot differ from those of the lines before, with --one-session',
    { suggestion: "Give flags on the command line, for all lines" },
  );
}
