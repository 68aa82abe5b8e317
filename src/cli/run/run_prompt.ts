import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../claude/wire/output_writer.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";
import { REWIND_ALONE, REWIND_WITH_PROMPT } from "../arguments/build_request.ts";
import { pipedPart, type PromptIo } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { createTracer, tellProblem, type Tracer } from "../report/outlets.ts";
import type { Invocation } from "./invocation.ts";
import type { RunWatcher, WatchOptions } from "../watch/watch_run.ts";
import { checkDelivery, earlyWarnings, prepareRun } from "../../run/prepare_run.ts";
import type { RunRecorder } from "../../library/record_run.ts";
import { performRun, type RunReport } from "../../run/perform_run.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { needsChild } from "../../run/plan/plan_facts.ts";
import { Teardown } from "../../run/teardown.ts";
import { absolutePath } from "../../sandbox/paths.ts";

/** What a run needs beside its request. */
export interface PromptRunOptions {
  /** Gets the prompt, once everything that could be wrong without it has been looked at. */
  readonly readPrompt: (io: Pick<PromptIo, "inTime" | "warn">) => Promise<string>;
  /** Takes a part of the output. */
  readonly write: (text: string) => void;
  readonly invocation: Invocation;
  /** What stands before each line that tells a failure or a warning on stderr. */
  readonly label?: string;
}

const REMARKED =
  "stdout has more than the answer: a text that is no part of it, in the end, had appeared already";

/**
 * One prompt through the interactive Claude Code, out as `claude -p` prints it.
 *
 * Whatever happens, `json` and `stream-json` end with a result object, and a failure names its cause on stderr.
 *
 * @returns the exit code
 * @throws {UnsupportedError} for a run that the shim has sent here, before anything is printed
 */
export async function runPrompt(request: RunRequest, options: PromptRunOptions): Promise<number> {
  const { label, invocation: { outlets, isTerminal, handedOver } } = options;
  const crash = Promise.withResolvers<never>();
  let prompt = "";
  let hasPrinted = false;
  const warning = (text: string) => `claude-print: ${label ?? ""}Warning: ${text}\n`;
  const warn = (text: string) => outlets.tell(warning(text));
  const onRemark = () => {
    if (!request.quiet && !isTerminal.stdout) warn(REMARKED);
  };
  const writer = createOutputWriter(request.outputFormat, {
    verbose: request.verbose,
    write: (text) => {
      hasPrinted = true;
      options.write(text);
    },
    ...(request.streamText ? { stream: { onRemark } } : {}),
  });
  // With --quiet too: nothing else tells what was lost, or where a kept folder is.
  using teardown = new Teardown({
    warn: (text) => outlets.tellLeft(warning(text)),
    ...(handedOver === undefined ? { onCrash: crash.reject } : {}),
  });
  try {
    const running = carryOut(request, {
      ...options,
      readPrompt: async (io) => prompt = await options.readPrompt(io),
      warn: request.quiet ? () => {} : warn,
      writer,
      teardown,
    });
    return await Promise.race([running, crash.promise]);
  } catch (error) {
    const mayHandOn = request.handsOn && !hasPrinted && !handedOver?.isCommitted();
    if (mayHandOn && error instanceof UnsupportedError) {
      const piped = pipedPart(prompt, request);
      if (piped !== "") error.stdin = piped;
      throw error;
    }
    const { reportFailure } = await import("../report/report_failure.ts");
    return reportFailure(error, {
      writer,
      sessionId: request.sessionId ?? request.resume,
      label,
      tell: (text) => outlets.tell(text),
    });
  }
}

/** What a run is carried out with. */
interface RunTools extends PromptRunOptions {
  readonly writer: OutputWriter;
  readonly warn: (text: string) => void;
  readonly teardown: Teardown;
}

async function carryOut(request: RunRequest, tools: RunTools): Promise<number> {
  const { teardown, invocation } = tools;
  const { outlets, handedOver } = invocation;
  const env = invocation.env();
  const tracer = await createTracer(request, { env, tell: (text) => outlets.tell(text) });
  const cwd = invocation.cwd();
  const recorder = request.record === undefined
    ? undefined
    : (await import("../../library/record_run.ts"))
      .recordRun(absolutePath(request.record, cwd), { env, request });
  if (recorder !== undefined) teardown.keep(recorder.save);
  using watcher = await watcherOf(request, { ...invocation, env, cwd });
  const prompt = await promptInTime(request, tools);
  const order = {
    ...orderOf(request, { invocation, prompt, isWatched: watcher !== undefined }),
    env,
    cwd,
    altered: await checkDelivery({ prompt, inject: request.inject }),
  };
  if (handedOver !== undefined) {
    const { holdPrompt, whyNoConversation } = await import("./warm_prompt.ts");
    const why = await whyNoConversation(request, order);
    if (why === undefined) {
      const watching = watcher === undefined ? {} : { watcher };
      return await holdPrompt(request, {
        ...tools,
        prompt,
        env,
        cwd,
        handedOver,
        tracer,
        ...watching,
      });
    }
    tracer.trace(`starts cold: ${why}`);
  }
  const { rewindsTo } = request;
  if (rewindsTo !== undefined) {
    return await rewindFiles({ ...order, rewindsTo }, { ...tools, ...request });
  }
  const attended = { ...tools, request, tracer, recorder, watcher };
  const report = await performPastLimits(order, attended);
  return teardown.crashed ? report.exitCode : await printEnd(report, attended);
}

/** Reads the prompt, as long as the run has time. */
async function promptInTime(
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

function orderOf(
  request: RunRequest,
  { invocation: { startedAt, handedOver }, prompt, isWatched }: {
    readonly invocation: Invocation;
    readonly prompt: string;
    readonly isWatched: boolean;
  },
): Omit<RunOrder, "env" | "cwd"> & { readonly prompt: string } {
  const { outputFormat, streamText, verbose, partialMessages } = request;
  const frames = outputFormat === "stream-json" || streamText ||
    (outputFormat === "json" && verbose);
  return {
    ...request,
    prompt,
    ...(handedOver === undefined ? {} : { terminalSize: handedOver.terminal.size() }),
    startedAt,
    limitsTold: outputFormat !== "text",
    answerAlone: outputFormat === "text",
    frames,
    partialMessages: partialMessages || streamText,
    retries: frames || isWatched,
  };
}

/** A run with those who look on. */
interface AttendedRun extends RunTools {
  readonly request: RunRequest;
  readonly tracer: Tracer;
  readonly recorder: RunRecorder | undefined;
  readonly watcher: RunWatcher | undefined;
}

/** Performs a run, and goes on with its session behind limits that are used up, as long as that was asked for. */
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
  const { outlets, signals, handedOver } = invocation;
  const prepared = await prepareRun(order);
  teardown.own(prepared);
  if (needsChild(prepared.gated)) recorder?.begin(prepared);
  for (const warning of earlyWarnings(prepared)) warn(warning);
  tracer.prepared(prepared);
  await handedOver?.commit();
  return await performRun(prepared, {
    signals,
    ...(handedOver === undefined ? {} : { terminal: handedOver.terminal }),
    outlets: outlets.all,
    emit: writer.frame,
    onInput: (input) => {
      recorder?.input(input);
      watcher?.observe(input);
    },
    ...(recorder === undefined ? {} : { onEffect: recorder.effect }),
    trace: tracer.trace,
    onLogLine: (line) => outlets.tell(`${line}\n`),
  });
}

/** Prints what is left to print, and leaves nothing of the run behind. */
async function printEnd(
  report: RunReport,
  { request, writer, warn, teardown, invocation, label = "", tracer, watcher }: AttendedRun,
): Promise<number> {
  const { trace, loadRedactor } = tracer;
  const { outlets } = invocation;
  teardown.childEnded();
  // What is printed now does not mix with what was there to look at.
  watcher?.[Symbol.dispose]();
  for (const frame of report.unprinted) writer.frame(frame);
  writer.end();
  await tellProblem(report, { label, quiet: request.quiet, outlets, loadRedactor });
  if (report.warning !== undefined) warn(report.warning);
  await teardown.settle();
  teardown.run();
  trace(`exit code ${report.exitCode}`);
  return report.exitCode;
}

/** Who looks on, which can only be somebody at a terminal; scripts do not even load it. */
async function watcherOf(
  request: RunRequest,
  { outlets, handedOver, ...surroundings }:
    & Pick<WatchOptions, "env" | "cwd">
    & Pick<Invocation, "outlets" | "isTerminal" | "handedOver">,
): Promise<RunWatcher | undefined> {
  const { isTerminal } = surroundings;
  if (!request.show && !isTerminal.stderr) return undefined;
  const { watchRun } = await import("../watch/watch_run.ts");
  const { pid = "self" } = handedOver ?? {};
  return await watchRun(request, { ...surroundings, stderr: outlets.stderrFd, pid });
}

/** How Claude Code marks what is told on stderr because stdout is for frames. */
const GUARD = "[stdout-guard] ";

/**
 * Restores files as `claude -p --rewind-files` does: one line says so, in json too, and on stderr where stdout is for
 * frames.
 *
 * @returns the exit code
 */
async function rewindFiles(
  order: RunOrder & { readonly rewindsTo: string },
  { outputFormat, write, warn, teardown, invocation: { outlets, signals, handedOver } }: {
    readonly outputFormat: OutputFormat;
    readonly write: (text: string) => void;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
    readonly invocation: Pick<Invocation, "outlets" | "signals" | "handedOver">;
  },
): Promise<number> {
  if (order.prompt !== "") throw new CliError(REWIND_WITH_PROMPT, { suggestion: REWIND_ALONE });
  const prepared = await prepareRun(order);
  teardown.own(prepared);
  for (const warning of earlyWarnings(prepared)) warn(warning);
  if (order.record !== undefined) warn("There is no recording: files are restored without a child");
  await handedOver?.commit();
  const { rewindAlone } = await import("../../run/headless_run.ts");
  const said = await rewindAlone(prepared, { message: order.rewindsTo, signals });
  if (outputFormat === "stream-json") outlets.tell(`${GUARD}${said.stdout}`);
  else write(said.stdout);
  if (said.stderr !== "") outlets.tell(said.stderr);
  teardown.run();
  return 0;
}
