import type { PromptIo } from "../../cli/prompt_source.ts";
import type { RunRequest } from "../../cli/run_request.ts";
import { tellProblem } from "../report/report_error.ts";
import type { Invocation } from "./invocation.ts";
import { createTracer } from "./tracer.ts";
import type { RunWatcher, WatchOptions } from "../watch/watch_run.ts";
import { checkDelivery } from "../../run/facts/prompt/check_delivery.ts";
import { performRun } from "../../run/perform_run.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { needsChild } from "../../run/plan/plan_facts.ts";
import { earlyWarnings, prepareRun } from "../../run/prepare_run.ts";
import { Teardown } from "../../run/teardown.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { createOutputWriter, type OutputWriter } from "../../wire/output_writer.ts";

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
 */
export async function runPrompt(request: RunRequest, options: PromptRunOptions): Promise<number> {
  const { label, invocation: { outlets, isTerminal, handedOver } } = options;
  const crash = Promise.withResolvers<never>();
  const warning = (text: string) => `claude-print: ${label ?? ""}Warning: ${text}\n`;
  const warn = (text: string) => outlets.tell(warning(text));
  const onRemark = () => {
    if (!request.quiet && !isTerminal.stdout) warn(REMARKED);
  };
  const writer = createOutputWriter(request.outputFormat, {
    verbose: request.verbose,
    write: options.write,
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
      warn: request.quiet ? () => {} : warn,
      writer,
      teardown,
    });
    return await Promise.race([running, crash.promise]);
  } catch (error) {
    const { reportFailure } = await import("../report/report_failure.ts");
    return reportFailure(error, {
      writer,
      sessionId: request.sessionId ?? request.resume,
      label,
      tell: (text) => outlets.tell(text),
    });
  }
}

async function carryOut(
  request: RunRequest,
  options: PromptRunOptions & {
    readonly writer: OutputWriter;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
  },
): Promise<number> {
  const { writer, warn, teardown, invocation, label = "" } = options;
  const { outlets, signals, startedAt, handedOver } = invocation;
  const env = invocation.env();
  const { trace, loadRedactor, ...tracer } = await createTracer(request, {
    env,
    tell: (text) => outlets.tell(text),
  });
  const cwd = invocation.cwd();
  const recorder = request.record === undefined
    ? undefined
    : (await import("../../library/record_run.ts"))
      .recordRun(absolutePath(request.record, cwd), { env, request });
  if (recorder !== undefined) teardown.keep(recorder.save);
  using watcher = await watcherOf(request, { ...invocation, env, cwd });
  const prompt = await options.readPrompt({
    inTime: async (wait, what) =>
      await (await import("../../run/in_time.ts")).inTime(wait, {
        what,
        startedAt,
        timeoutMs: request.timeoutMs,
        signals,
      }),
    warn,
  });
  const altered = await checkDelivery({ prompt, inject: request.inject });
  const frames = request.outputFormat === "stream-json" || request.streamText ||
    (request.outputFormat === "json" && request.verbose);
  let order: RunOrder = {
    ...request,
    prompt,
    cwd,
    env,
    ...(handedOver === undefined ? {} : { terminalSize: handedOver.terminal.size() }),
    startedAt,
    limitsTold: request.outputFormat !== "text",
    answerAlone: request.outputFormat === "text",
    frames,
    partialMessages: request.partialMessages || request.streamText,
    retries: frames || watcher !== undefined,
    altered,
  };
  if (handedOver !== undefined) {
    const { holdPrompt, whyNoConversation } = await import("./hold_prompt.ts");
    const why = await whyNoConversation(request, { ...order, prompt });
    if (why !== undefined) trace(`starts cold: ${why}`);
    else {
      return await holdPrompt(request, {
        ...options,
        prompt,
        env,
        cwd,
        handedOver,
        tracer: { trace, loadRedactor, ...tracer },
        ...(watcher === undefined ? {} : { watcher }),
      });
    }
  }
  const { rewindsTo } = request;
  if (rewindsTo !== undefined) {
    const { rewindFiles } = await import("./rewind_files.ts");
    return await rewindFiles({ ...order, rewindsTo }, { ...options, ...request });
  }
  const perform = async () => {
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
      trace,
      onLogLine: (line) => outlets.tell(`${line}\n`),
    });
  };
  let report = await perform();
  while (!teardown.crashed && request.waitForLimitMs !== undefined) {
    const { orderPastLimit, resetOf, waitUntil } = await import("../../run/past_limit.ts");
    const until = resetOf(report, { longestMs: request.waitForLimitMs, now: Date.now() });
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
    report = await perform();
  }
  if (teardown.crashed) return report.exitCode;
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
