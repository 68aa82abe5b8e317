import { warningText } from "../report/report_error.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../claude/wire/output_writer.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";
import { EXIT, UnsupportedError } from "../../cli_error.ts";
import { rewindWithPromptError } from "../arguments/session_flags.ts";
import { pipedPart, type PromptIo } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { createTracer, reportProblem, type Tracer } from "../report/outlets.ts";
import type { Invocation } from "./invocation.ts";
import type { ProgressLines } from "../watch/progress_lines.ts";
import type { RunWatcher, WatchOptions } from "../watch/watch_run.ts";
import { checkDelivery, earlyWarnings, prepareRun } from "../../run/prepare_run.ts";
import type { RunRecorder } from "../../library/record_run.ts";
import { performRun, type RunReport } from "../../run/perform_run.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { needsChild } from "../../run/plan/plan_facts.ts";
import { Teardown } from "../../run/teardown.ts";
import { absolutePath } from "../../paths.ts";
import { definedFields } from "../../defined_fields.ts";

interface PromptRunOptions {
  /** Reads the prompt. Called after every other check that could fail. */
  readonly readPrompt: (io: Pick<PromptIo, "inTime" | "warn">) => Promise<string>;
  /** Takes a part of the output. */
  readonly write: (text: string) => void;
  readonly invocation: Invocation;
  /** Precedes each problem and warning on stderr. */
  readonly label?: string;
  /** The position of the run in a list, such as `line 2 of 5`. */
  readonly place?: string;
}

const STREAMED_MORE =
  "stdout has more than the answer: a text that is no part of it, in the end, had appeared already";

/**
 * Runs one prompt through the interactive Claude Code, and prints the output of `claude -p`.
 *
 * In every case, `json` and `stream-json` end with a result object, and a failure is explained on stderr.
 *
 * @returns the exit code
 * @throws {UnsupportedError} for a run that the shim started, before anything is printed
 */
export async function runPrompt(request: RunRequest, options: PromptRunOptions): Promise<number> {
  const { label, invocation: { outlets, isTerminal, delegation } } = options;
  const crash = Promise.withResolvers<never>();
  let prompt = "";
  let hasPrinted = false;
  const warn = (text: string) => {
    if (!request.quiet) outlets.notify(warningText(text, label));
  };
  const onRemark = () => {
    if (!isTerminal.stdout) warn(STREAMED_MORE);
  };
  const writer = createOutputWriter(request.outputFormat, {
    verbose: request.verbose,
    write: (text) => {
      hasPrinted = true;
      options.write(text);
    },
    ...(request.streamText ? { stream: { onRemark } } : {}),
  });
  // Also printed with --quiet, because only this text says what was lost, or where a kept folder is.
  using teardown = new Teardown({
    warn: (text) => outlets.notifyAlways(warningText(text, label)),
    ...(delegation === undefined ? { onCrash: crash.reject } : {}),
  });
  try {
    const running = prepareAndPerform(request, {
      ...options,
      readPrompt: async (io) => prompt = await options.readPrompt(io),
      warn,
      writer,
      teardown,
    });
    return await Promise.race([running, crash.promise]);
  } catch (error) {
    const mayExecClaude = request.isShimmed && !hasPrinted && !delegation?.isCommitted();
    if (mayExecClaude && error instanceof UnsupportedError) {
      const piped = pipedPart(prompt, request);
      if (piped !== "") error.stdin = piped;
      throw error;
    }
    const { reportFailure } = await import("../report/report_failure.ts");
    const sessionId = request.sessionId ?? request.resume;
    return reportFailure(error, { writer, sessionId, label, outlets });
  }
}

interface RunTools extends PromptRunOptions {
  readonly writer: OutputWriter;
  readonly warn: (text: string) => void;
  readonly teardown: Teardown;
}

async function prepareAndPerform(request: RunRequest, tools: RunTools): Promise<number> {
  const { teardown, writer, place, invocation } = tools;
  const { outlets } = invocation;
  const env = invocation.env();
  const tracer = await createTracer(request, { env, outlets });
  const cwd = invocation.cwd();
  const recorder = request.record === undefined
    ? undefined
    : (await import("../../library/record_run.ts"))
      .recordRun(absolutePath(request.record, cwd), { env, request });
  if (recorder !== undefined) teardown.saveAtEnd(recorder.save);
  using watcher = await startWatcher(request, { ...invocation, env, cwd, place });
  if (watcher !== undefined) outlets.onText = watcher.makeRoom;
  const prompt = await readPromptInTime(request, tools);
  const order = {
    ...buildOrder(request, {
      invocation,
      prompt,
      // The screen itself shows retries.
      isWatched: watcher !== undefined && !request.show,
    }),
    env,
    cwd,
    altered: await checkDelivery({ prompt, inject: request.inject }),
  };
  const progress = await startProgressLines(request, { ...invocation, cwd });
  const results: ResultFrame[] = [];
  const exitCode = await carryOut(order, {
    ...tools,
    writer: {
      ...writer,
      frame: (frame) => {
        progress?.observe(frame);
        if (frame.type === "result") results.push(frame as ResultFrame);
        writer.frame(frame);
      },
    },
    ...{ request, tracer, recorder, watcher },
  });
  if (!teardown.crashed && exitCode !== EXIT.abandoned) {
    await printNotes(request, { ...invocation, cwd, results });
  }
  return exitCode;
}

/** Carries out a run: with a warm child, without a child, or with a new one. */
async function carryOut(
  order: RunOrder & { readonly prompt: string },
  run: AttendedRun,
): Promise<number> {
  const { request, tracer, watcher, teardown, invocation: { delegation } } = run;
  if (delegation !== undefined) {
    const { runPromptWarm, whyNotWarm } = await import("./warm_prompt.ts");
    const why = await whyNotWarm(request, order);
    if (why === undefined) {
      const { prompt, env, cwd } = order;
      return await runPromptWarm(request, {
        ...run,
        ...{ prompt, env, cwd, delegation, watcher },
      });
    }
    tracer.trace(`starts cold: ${why}`);
  }
  const { rewindsTo } = request;
  if (rewindsTo !== undefined) {
    return await rewindFiles({ ...order, rewindsTo }, { ...run, ...request });
  }
  const report = await performPastLimits(order, run);
  return teardown.crashed ? report.exitCode : await finishRun(report, run);
}

async function readPromptInTime(
  { timeoutMs }: RunRequest,
  { readPrompt, warn, invocation: { startedAt, signals } }: RunTools,
): Promise<string> {
  return await readPrompt({
    inTime: async (wait, what) => {
      const { inTime } = await import("../../run/waits.ts");
      return await inTime(wait, { what, startedAt, timeoutMs, signals });
    },
    warn,
  });
}

function buildOrder(
  request: RunRequest,
  { invocation: { startedAt, delegation }, prompt, isWatched }: {
    readonly invocation: Invocation;
    readonly prompt: string;
    readonly isWatched: boolean;
  },
): Omit<RunOrder, "env" | "cwd"> & { readonly prompt: string } {
  const { outputFormat, streamText, progress, verbose, partialMessages } = request;
  const frames = outputFormat === "stream-json" || streamText || progress ||
    (outputFormat === "json" && verbose);
  return {
    ...request,
    prompt,
    ...(delegation === undefined ? {} : { terminalSize: delegation.terminal.size() }),
    startedAt,
    limitsTold: outputFormat !== "text",
    answerAlone: outputFormat === "text",
    frames,
    partialMessages: partialMessages || streamText,
    retries: frames || isWatched,
  };
}

/** A run with all its observers. */
interface AttendedRun extends RunTools {
  readonly request: RunRequest;
  readonly tracer: Tracer;
  readonly recorder: RunRecorder | undefined;
  readonly watcher: RunWatcher | undefined;
}

/** Performs a run. With `--wait-for-limit` it continues the session after each limit has been reset. */
async function performPastLimits(first: RunOrder, run: AttendedRun): Promise<RunReport> {
  const { request: { waitForLimitMs: longestMs }, writer, warn, teardown, invocation } = run;
  const { outlets, signals } = invocation;
  let order = first;
  let report = await perform(order, run);
  while (!teardown.crashed && longestMs !== undefined) {
    const { orderPastLimit, resetOf, waitUntil } = await import("../../run/past_limit.ts");
    const until = resetOf(report, { longestMs, now: Date.now() });
    if (until === undefined) break;
    teardown.childEnded();
    for (const frame of report.unprinted) if (frame.type !== "result") writer.frame(frame);
    teardown.run();
    warn(`The account has used up its limit; the run goes on at ${new Date(until).toISOString()}`);
    await waitUntil(until, {
      signals,
      each: () => {
        for (const outlet of outlets.all) outlet.flush();
      },
    });
    order = orderPastLimit(order, report);
    report = await perform(order, run);
  }
  return report;
}

async function perform(
  order: RunOrder,
  { writer, warn, teardown, invocation, tracer, recorder, watcher }: AttendedRun,
): Promise<RunReport> {
  const { outlets, signals, delegation } = invocation;
  const prepared = await prepareRun(order);
  teardown.own(prepared);
  if (needsChild(prepared.gated)) recorder?.begin(prepared);
  for (const warning of earlyWarnings(prepared)) warn(warning);
  tracer.tracePrepared(prepared);
  await delegation?.commit();
  return await performRun(prepared, {
    signals,
    ...definedFields({ terminal: delegation?.terminal, onEffect: recorder?.effect }),
    outlets: outlets.all,
    emit: writer.frame,
    onInput: (input) => {
      recorder?.input(input);
      watcher?.observe(input);
      invocation.onInput?.(input, tracer.trace);
    },
    trace: tracer.trace,
    onLogLine: (line) => outlets.notify(`${line}\n`),
  });
}

/** Prints the rest of the output, and removes the run's remains. */
async function finishRun(
  report: RunReport,
  { request, writer, warn, teardown, invocation, label = "", tracer, watcher }: AttendedRun,
): Promise<number> {
  const { trace, loadRedactor } = tracer;
  const { outlets } = invocation;
  teardown.childEnded();
  // The live line or the mirror must be removed before the result is printed.
  watcher?.[Symbol.dispose]();
  for (const frame of report.unprinted) writer.frame(frame);
  writer.end();
  await reportProblem(report, { label, quiet: request.quiet, outlets, loadRedactor });
  if (report.warning !== undefined) warn(report.warning);
  await teardown.settle();
  teardown.run();
  trace(`exit code ${report.exitCode}`);
  return report.exitCode;
}

/** Starts the live line or the mirror. Without a terminal, their code is not loaded. */
async function startWatcher(
  request: RunRequest,
  { outlets, delegation, ...surroundings }:
    & Pick<WatchOptions, "env" | "cwd" | "place">
    & Pick<Invocation, "outlets" | "isTerminal" | "delegation">,
): Promise<RunWatcher | undefined> {
  const { isTerminal } = surroundings;
  if (!request.show && !isTerminal.stderr) return undefined;
  const { watchRun } = await import("../watch/watch_run.ts");
  const { pid = "self" } = delegation ?? {};
  return await watchRun(request, { ...surroundings, stderr: outlets.stderrFd, pid });
}

/** Starts the lines of `--progress`. */
async function startProgressLines(
  { progress }: RunRequest,
  { outlets, startedAt, cwd }:
    & Pick<Invocation, "outlets" | "startedAt">
    & { readonly cwd: string },
): Promise<ProgressLines | undefined> {
  if (!progress) return undefined;
  const { ProgressLines } = await import("../watch/progress_lines.ts");
  return new ProgressLines({
    print: (lines) => outlets.notify(lines),
    elapsedMs: () => performance.now() - startedAt,
    cwd,
  });
}

/** Prints the notes for a person at a terminal after a run in text format. Scripts do not get them. */
async function printNotes(
  { outputFormat, quiet, persistSession: isKept }: RunRequest,
  { outlets, isTerminal, startedAt, ...facts }:
    & Pick<Invocation, "outlets" | "isTerminal" | "startedAt">
    & { readonly cwd: string; readonly results: readonly ResultFrame[] },
): Promise<void> {
  if (outputFormat !== "text" || !isTerminal.stderr || quiet) return;
  const { runNotes } = await import("../watch/run_notes.ts");
  const notes = runNotes({ ...facts, isKept, elapsedMs: performance.now() - startedAt });
  if (notes !== "") outlets.notify(notes);
}

/** The prefix of texts that Claude Code prints on stderr because stdout is for frames. */
const STDOUT_GUARD = "[stdout-guard] ";

/**
 * Restores files as `claude -p --rewind-files` does, and prints one line, also in json. With stream-json, the line goes
 * to stderr.
 *
 * @returns the exit code
 */
async function rewindFiles(
  order: RunOrder & { readonly rewindsTo: string },
  { outputFormat, write, warn, teardown, invocation: { outlets, signals, delegation } }: {
    readonly outputFormat: OutputFormat;
    readonly write: (text: string) => void;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
    readonly invocation: Pick<Invocation, "outlets" | "signals" | "delegation">;
  },
): Promise<number> {
  if (order.prompt !== "") throw rewindWithPromptError();
  const prepared = await prepareRun(order);
  teardown.own(prepared);
  for (const warning of earlyWarnings(prepared)) warn(warning);
  if (order.record !== undefined) warn("There is no recording: files are restored without a child");
  await delegation?.commit();
  const { restoreFiles } = await import("../../run/headless_run.ts");
  const { stdout, stderr } = await restoreFiles(prepared, { message: order.rewindsTo, signals });
  if (outputFormat === "stream-json") outlets.notify(`${STDOUT_GUARD}${stdout}`);
  else write(stdout);
  if (stderr !== "") outlets.notify(stderr);
  teardown.run();
  return 0;
}
