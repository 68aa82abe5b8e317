import { checkPrompt } from "../cli/arguments/check_prompt.ts";
import { StopSignals } from "../driver/stop_signals.ts";
import {
  asRunError,
  createFrameQueue,
  createRunResult,
  type Run,
  type RunOptions,
  type RunResult,
} from "./run_output.ts";
import { libraryRequest, resolveFolder } from "./library_request.ts";
import { recordRun } from "./record_run.ts";
import { checkDelivery, earlyWarnings, prepareRun } from "../run/prepare_run.ts";
import { performRun } from "../run/perform_run.ts";
import { needsChild } from "../run/plan/plan_facts.ts";
import { Teardown } from "../run/teardown.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import { absolutePath } from "../paths.ts";
import type { Frame } from "../claude/wire/frame.ts";

/**
 * Sends one prompt through the interactive Claude Code, as the program `claude-print` does.
 *
 * It starts at once, and several can run at the same time. Your process is left alone: the library listens to no signals,
 * uncaught errors or rejections, prints nothing, and changes neither the working directory nor the environment. `Deno.exit`
 * ends Claude Code and removes its private folder. If your process is killed, as by SIGKILL or a SIGINT without a listener, a
 * small guard process ends Claude Code, and the next run removes the folder.
 *
 * @param prompt the text, which reaches the model byte for byte or not at all
 * @returns the run
 *
 * @example The answer
 * ```ts
 * import { run } from "jsr:@claude-print/cli/library";
 *
 * const { text, exitCode } = await run("Why is the sky blue?").result;
 * if (exitCode === 0) console.log(text);
 * ```
 *
 * @example What Claude does, as it happens
 * ```ts
 * import { run } from "jsr:@claude-print/cli/library";
 *
 * for await (const frame of run("How many files are here?", { args: ["--allowedTools", "Bash"] })) {
 *   if (frame.type !== "assistant") continue;
 *   for (const block of frame.message.content) {
 *     if (block.type === "text") console.log(block.text);
 *     if (block.type === "tool_use") console.log(`uses ${block.name}`);
 *   }
 * }
 * ```
 *
 * @example The text so far, after two seconds
 * ```ts
 * import { run } from "jsr:@claude-print/cli/library";
 *
 * const { frame, text } = await run("Count to a million", {
 *   signal: AbortSignal.timeout(2000),
 * }).result;
 * if (frame.subtype === "interrupted") console.log(`So far: ${text}`);
 * ```
 */
export function run(prompt: string, options: RunOptions = {}): Run {
  const frames = createFrameQueue();
  const signals = new StopSignals({ listen: false });
  let isStopped = false;
  // A second signal would kill the child before the end of its transcript is written.
  const stop = (signal: "SIGINT" | "SIGPIPE") => {
    if (!isStopped) signals.raise(signal);
    isStopped = true;
  };
  const perform = async () => {
    const onAbort = () => stop("SIGINT");
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      options.signal?.throwIfAborted();
      const result = await carryOut(prompt, {
        ...options,
        signals,
        emit: frames.push,
        isStopped: () => isStopped,
      });
      frames.end();
      return result;
    } catch (thrown) {
      const error = asRunError(thrown);
      frames.end({ error });
      throw error;
    } finally {
      options.signal?.removeEventListener("abort", onAbort);
    }
  };
  const result = perform();
  // Iterating reports an error too. A caller that does neither must not get an unhandled rejection.
  const ended = result.then(() => {}, () => {});
  const end = async () => {
    frames.drop();
    stop("SIGPIPE");
    await ended;
  };
  const iterator: AsyncIterator<Frame, undefined> = {
    next: frames.next,
    return: async () => {
      await end();
      return { done: true, value: undefined };
    },
  };
  return {
    result,
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: end,
  };
}

/** Prepares a run, carries it out, and removes what it leaves. */
async function carryOut(
  prompt: string,
  options: RunOptions & {
    readonly signals: StopSignals;
    readonly emit: (frame: Frame) => void;
    /** Whether the run was ended. */
    readonly isStopped: () => boolean;
  },
): Promise<RunResult> {
  const { args = [], signals, emit } = options;
  const startedAt = performance.now();
  const request = await libraryRequest(args, { caller: "run()" });
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
  const env = options.env ?? callerEnvironment();
  const cwd = resolveFolder(options.cwd);
  const altered = await checkDelivery({ prompt, inject: request.inject });
  const teardownWarnings: string[] = [];
  using teardown = new Teardown({ warn: (text) => teardownWarnings.push(text) });
  const recorder = request.record === undefined
    ? undefined
    : recordRun(absolutePath(request.record, cwd), { env, request });
  if (recorder !== undefined) teardown.saveAtEnd(recorder.save);
  const prepared = await prepareRun({
    ...request,
    prompt,
    cwd,
    env,
    startedAt,
    limitsTold: true,
    frames: true,
    retries: true,
    altered,
  });
  teardown.own(prepared);
  if (options.isStopped()) {
    throw options.signal?.reason ??
      new DOMException("The run was ended before it began", "AbortError");
  }
  if (needsChild(prepared.gated)) recorder?.begin(prepared);
  const report = await performRun(prepared, {
    signals,
    emit,
    ...(recorder === undefined ? {} : {
      onInput: recorder.input,
      onEffect: recorder.effect,
    }),
    trace: () => {},
  });
  teardown.childEnded();
  for (const frame of report.unprinted) emit(frame);
  await teardown.settle();
  teardown.run();
  const warnings = [
    ...earlyWarnings(prepared),
    ...(report.warning === undefined ? [] : [report.warning]),
    ...teardownWarnings,
  ];
  return createRunResult(report, { warnings, env, request });
}
