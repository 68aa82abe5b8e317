import { checkPrompt, parseListInput, readListInput } from "../arguments/check_prompt.ts";
import { joinPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { asBadInput, CliError } from "../../cli_error.ts";
import { createTracer, delivered, type Outlets, tellProblem } from "../report/outlets.ts";
import { reportError } from "../report/report_error.ts";
import { reportFailure } from "../report/report_failure.ts";
import {
  gravestExitCode,
  type LineReport,
  lineReport,
  listLines,
  printedLine,
} from "./run_list.ts";
import { ProgramCaller } from "../../driver/inputs/caller/program_caller.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createPendingResults, holdConversation } from "../../library/hold_conversation.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { StoppedError } from "../../run/waits.ts";
import { Teardown } from "../../run/teardown.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";

/** Exit codes of turns that a signal ended, or that nobody reads any more, are above this. */
const SIGNALLED = 128;
const ABANDONED = 141;

/** How a conversation ended. */
type End =
  /** Somebody stopped it, or there are no further lines. */
  | { readonly kind: "over"; readonly exitCode: number }
  /** It cannot be held: whatever is said next has the same answer. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** It was stopped before it had a child, or this program has failed. */
  | { readonly kind: "stopped"; readonly error: unknown };

/**
 * One turn of one conversation for each line of stdin or of `--input-file`, one after the other, and one line of output
 * for each as it ends, as a list of runs has them.
 *
 * After a turn that failed the next one goes on in the conversation, with another Claude Code if need be. Where there can
 * be none, all lines that follow are told why.
 *
 * @returns the exit code of the gravest failure: 2, 1, 75, 124; or 0
 * @throws {CliError} when the list cannot be read
 */
export async function converseList(
  request: RunRequest,
  { outlets }: { readonly outlets: Outlets },
): Promise<number> {
  using signals = new StopSignals();
  const { promise: crashed, reject: onCrash } = Promise.withResolvers<never>();
  const tell = (text: string) => outlets.tell(text);
  let label = "";
  const warn = (text: string) => tell(`claude-print: ${label}Warning: ${text}\n`);
  using teardown = new Teardown({ warn, onCrash });
  const env = callerEnvironment();
  const tracer = await createTracer(request, { env, tell });
  const caller = new ProgramCaller();
  const awaited = createPendingResults<TurnReport>();
  const tellReport = (report: TurnReport) =>
    tellProblem(report, {
      label,
      quiet: request.quiet,
      outlets,
      loadRedactor: tracer.loadRedactor,
    });
  const told: Promise<void>[] = [];
  let output = "";
  const newWriter = () =>
    createOutputWriter("json", {
      verbose: request.verbose,
      write: (text) => {
        output += text;
      },
    });
  let writer = newWriter();

  const holding = holdConversation(request, {
    env,
    cwd: currentFolder(),
    teardown,
    caller,
    outlivesFailures: true,
    signals,
    outlets: outlets.all,
    emit: (frame) => writer.frame(frame),
    onReport: (report) => {
      if (report.warning !== undefined && !request.quiet) warn(report.warning);
      told.push(tellReport(report));
      awaited.resolve(report.tickets ?? [], report);
    },
    onPrepared: tracer.prepared,
    warn: request.quiet ? () => {} : warn,
    trace: tracer.trace,
    onLogLine: (line) => tell(`${line}\n`),
  });
  /** Set once nothing more is said to Claude Code. */
  let end: End | undefined;
  const ended = Promise.race([
    crashed.catch((error: unknown): End => ({ kind: "stopped", error })),
    holding.then(
      (exitCode): End => ({ kind: "over", exitCode }),
      (error: unknown): End => ({
        kind: error instanceof StoppedError ? "stopped" : "failed",
        error,
      }),
    ),
  ]).then((how) => {
    end = how;
    awaited.reject("error" in how ? how.error : new Error("The conversation is over"));
    return how;
  });

  const answerLine = async (line: string): Promise<LineReport> => {
    let input: unknown = line;
    output = "";
    try {
      let text: string;
      try {
        input = parseListInput(line);
        const parsed = readListInput(input);
        text = joinPrompt(request.promptArgument ?? "", parsed.prompt);
        const problem = parsed.args.length > 0 ? argsError() : checkPrompt(text);
        if (problem !== undefined) throw problem;
      } catch (error) {
        throw asBadInput(error);
      }
      if (end?.kind === "failed") throw end.error;
      const ticket = crypto.randomUUID();
      const answered = awaited.expect(ticket);
      caller.say(messageLine(text, { ticket }));
      const { exitCode } = await answered;
      writer.end();
      await Promise.all(told.splice(0));
      return lineReport({ input, output, exitCode });
    } catch (error) {
      writer = newWriter();
      const { sessionId } = request;
      const exitCode = reportFailure(error, { writer, sessionId, label, tell });
      return lineReport({ input, output, exitCode });
    } finally {
      writer = newWriter();
    }
  };

  const exitCodes = new Set([0]);
  const lines = listLines(request);
  const finish = async (exitCode: number) => {
    caller.close();
    const how = await ended;
    await Promise.all(told);
    return how.kind === "over" && how.exitCode > SIGNALLED ? how.exitCode : exitCode;
  };
  try {
    for (let number = 1;; number++) {
      label = "";
      const next = lines.next();
      // Whoever stops the conversation does not wait for the list.
      const stopped = ended.then(async (how) => how.kind === "failed" ? await next : how);
      const line = await Promise.race([next, stopped]);
      if ("kind" in line) {
        return line.kind === "over"
          ? await finish(line.exitCode)
          : reportError(line.error, { tell });
      }
      if (line.done) break;
      if (line.value.trim() === "") continue;
      label = `line ${number}: `;
      const report = await answerLine(line.value);
      outlets.print(printedLine(report, number));
      const { exitCode } = report;
      const isOver = exitCode > SIGNALLED;
      // The signals are the conversation's: its end ends the wait for a reader, too.
      using reading = new StopSignals({ listen: false });
      ended.then(({ kind }) => kind === "failed" || reading.raise("SIGTERM"));
      const until = performance.now() + request.timeoutMs;
      const code = await delivered(isOver ? exitCode : 0, { outlets, until, signals: reading });
      if (outlets.stdout?.end === "unread") {
        signals.raise("SIGPIPE");
        return await finish(ABANDONED);
      }
      if (code !== 0) return await finish(code);
      exitCodes.add(exitCode);
    }
  } catch (error) {
    // Without a list there is nothing to go on with.
    await finish(2);
    throw error;
  }
  return await finish(gravestExitCode(exitCodes));
}

function argsError(): CliError {
  return new CliError(
    'Cannot read the line: its "args" cannot differ from those of the lines before, with --one-session',
    { suggestion: "Give flags on the command line, for all lines" },
  );
}
