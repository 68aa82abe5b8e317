import type { RunRequest } from "../arguments/run_request.ts";
import { tellProblem, type Tracer } from "../report/outlets.ts";
import type { RunWatcher } from "../watch/watch_run.ts";
import { type Handover, type HoldRun, type Invocation, lettingGo } from "./invocation.ts";
import { CommittedCaller } from "../../driver/inputs/caller/committed_caller.ts";
import { ProgramCaller } from "../../driver/inputs/caller/program_caller.ts";
import { MAX_SOCKET_PATH } from "../../../ffi/descriptors/unix_socket.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { knownVersion } from "../../claude/program/known_version.ts";
import { folderOfRuns } from "../../sandbox/places/folder_of_runs.ts";
import { places } from "../../sandbox/places/places.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { LONGEST_SOCKET_PROMPT } from "../../run/facts/gate_prompt.ts";
import { readFacts } from "../../run/facts/read_facts.ts";
import { needsChild } from "../../run/plan/plan_facts.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { hooklessFlag } from "../../run/plan/permission_mode.ts";
import type { Teardown } from "../../run/teardown.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { QUIT_WORDS } from "../../conversation/control/prompt/is_plain.ts";
import { pasteRefusal } from "../../conversation/terminal/paste.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import type { OutputWriter } from "../../claude/wire/output_writer.ts";

/** The longest path of a socket in a run's private folder, below the folder of all runs: `/PID-TIME-RANDOM/own/rv.sock`. */
const LONGEST_NAME = 40;

/**
 * Why a prompt does not come out as the one message of a conversation as it does by itself, if it does not: what Claude
 * Code of that version could take for another one there goes the way of a run, and so does what no child could wait for,
 * or is asked of none.
 */
export async function whyNoConversation(
  request: Pick<RunRequest, "record" | "waitForLimitMs">,
  order: RunOrder & { readonly prompt: string },
): Promise<string | undefined> {
  const { prompt, env, cwd, altered } = order;
  if (request.record !== undefined) return "its start is recorded";
  if (order.inject !== "stdin") return "its prompt is pasted";
  if (request.waitForLimitMs !== undefined) return "it waits for limits to be reset";
  if (hooklessFlag(order) !== undefined) return "no hook tells anything of it";
  if (/^\s*$/u.test(prompt)) return "its prompt is blank";
  if (JSON.stringify(prompt).length > LONGEST_SOCKET_PROMPT) {
    return "its prompt is too long for the socket";
  }
  if (!hasShortPlaces(env)) return "the private folder's path may be too long for a socket";
  try {
    const version = await knownVersion(findClaude({ named: order.claudeBinary, env, cwd }), env, {
      cwd,
      trustsScripts: true,
    });
    if (version === undefined) return "the version of its Claude Code is unknown";
    const isText = altered === undefined && !/^\s*[/!]/u.test(prompt) &&
      !QUIT_WORDS.includes(prompt.trim()) && !prompt.includes("<pasted_content");
    if (isText) return undefined;
    const { gated } = await readFacts(order, { version });
    if (!needsChild(gated)) return "no model is asked";
    if (gated.forks) return "its Claude Code waits for the subagent that carries it out";
    return gated.expands && !canBeTyped(prompt) ? "its command cannot be typed" : undefined;
  } catch {
    // What is wrong with it is told as by every run.
    return "there is no Claude Code to ask for its version";
  }
}

/** Most characters of a command that is typed: 2.1.330 tells the model of a long paste as one. */
const LONGEST_TYPED = 600;

/** Whether a command comes in as it is where it is typed: what is no command goes in by the socket. */
function canBeTyped(prompt: string): boolean {
  return prompt.length <= LONGEST_TYPED && pasteRefusal(prompt) === undefined;
}

/** Whether a socket can be in each of the places where the private folder may be. */
function hasShortPlaces(env: Environment): boolean {
  const encoder = new TextEncoder();
  return places(env).every((place) =>
    encoder.encode(folderOfRuns(place)).length + LONGEST_NAME <= MAX_SOCKET_PATH
  );
}

/**
 * One prompt as a conversation of one message, which may be held with a child that has waited for it: out as a run of one
 * prompt is.
 *
 * @returns the exit code
 */
export async function holdPrompt(
  request: RunRequest,
  options: {
    readonly prompt: string;
    readonly env: Environment;
    readonly cwd: string;
    readonly invocation: Invocation;
    readonly handedOver: Handover;
    readonly writer: OutputWriter;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
    readonly tracer: Tracer;
    readonly watcher?: RunWatcher;
  },
): Promise<number> {
  const { prompt, env, cwd, invocation, handedOver, writer, warn, teardown } = options;
  const { outlets, signals, startedAt } = invocation;
  const { trace, prepared, loadRedactor } = options.tracer;
  const caller = new ProgramCaller({
    timeLeft: () => Math.max(0, Math.round(startedAt + request.timeoutMs - performance.now())),
  });
  caller.say(messageLine(prompt, { ticket: crypto.randomUUID() }));
  caller.close();
  let last: TurnReport | undefined;
  let watcher = options.watcher;
  const unwatch = () => {
    watcher?.[Symbol.dispose]();
    watcher = undefined;
  };
  const hold: HoldRun = (waitedFor) =>
    handedOver.hold({
      ...request,
      partialMessages: request.partialMessages || request.streamText,
      // Beside a text alone Claude Code tells more on stderr.
      ...(request.outputFormat === "text" ? { answerAlone: true } : {}),
    }, {
      env,
      cwd,
      caller: new CommittedCaller(caller, handedOver),
      signals,
      terminal: handedOver.terminal,
      outlets: outlets.all,
      emit: (frame) => {
        // What is printed now does not mix with what was there to look at.
        if (frame.type === "result") unwatch();
        writer.frame(frame);
      },
      onInput: (input) => watcher?.observe(input),
      onReport: (report) => void (last = report),
      onPrepared: prepared,
      onLogLine: (line) => outlets.tell(`${line}\n`),
      ...waitedFor,
    });
  const exitCode = await lettingGo(handedOver, { hold, teardown, warn, trace });
  unwatch();
  writer.end();
  if (last !== undefined) {
    await tellProblem(last, { label: "", quiet: request.quiet, outlets, loadRedactor });
    if (last.warning !== undefined) warn(last.warning);
  }
  trace(`exit code ${exitCode}`);
  return exitCode;
}
