import type { RunRequest } from "../arguments/run_request.ts";
import { reportProblem, type Tracer } from "../report/outlets.ts";
import type { RunWatcher } from "../watch/watch_run.ts";
import {
  type Delegation,
  type HoldRun,
  type Invocation,
  returnWhenComplete,
} from "./invocation.ts";
import { CommittedCaller } from "../../driver/inputs/deferring_callers.ts";
import { ProgramCaller } from "../../driver/inputs/callers.ts";
import { MAX_SOCKET_PATH } from "../../../ffi/descriptors/unix_socket.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { cachedVersion } from "../../claude/program/claude_version.ts";
import { folderOfRuns, listPlaces } from "../../sandbox/folder/run_places.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { LONGEST_SOCKET_PROMPT } from "../../run/facts/gate_prompt.ts";
import { readFacts } from "../../run/facts/read_facts.ts";
import { needsChild } from "../../run/plan/plan_facts.ts";
import type { RunOrder } from "../../run/plan/run_order.ts";
import { hooklessFlag } from "../../run/plan/permission_mode.ts";
import type { Teardown } from "../../run/teardown.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { QUIT_WORDS } from "../../conversation/control/prompt/prompt_text.ts";
import { pasteRefusal } from "../../conversation/terminal/paste.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";
import type { OutputWriter } from "../../claude/wire/output_writer.ts";

/**
 * The number of bytes reserved for the path of a socket below the folder of all runs: `/PID-TIME-RANDOM/own/rv.sock`.
 */
const MAX_SOCKET_NAME_BYTES = 40;

/**
 * Returns why a warm child cannot take a prompt as the only message of a conversation; undefined if it can. Reasons are
 * that this version of Claude Code could read the message differently in a conversation, that no child could have been
 * started in advance, or that no child is needed.
 */
export async function whyNotWarm(
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
  if (!fitsSocketPaths(env)) return "the private folder's path may be too long for a socket";
  try {
    const version = await cachedVersion(findClaude({ named: order.claudeBinary, env, cwd }), env, {
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
    // The run itself reports the error.
    return "there is no Claude Code to ask for its version";
  }
}

/** The maximum length of a typed command. Claude Code 2.1.330 marks a longer text as a paste. */
const MAX_TYPED_LENGTH = 600;

/** Returns true if typing leaves a command unchanged. Other prompts are delivered by the socket. */
function canBeTyped(prompt: string): boolean {
  return prompt.length <= MAX_TYPED_LENGTH && pasteRefusal(prompt) === undefined;
}

/** Returns true if the path of a socket is short enough in each possible place of the private folder. */
function fitsSocketPaths(env: Environment): boolean {
  const encoder = new TextEncoder();
  return listPlaces(env).every((place) =>
    encoder.encode(folderOfRuns(place)).length + MAX_SOCKET_NAME_BYTES <= MAX_SOCKET_PATH
  );
}

/** The conversation that carries out a run of one prompt. */
export function warmRequest(request: RunRequest): RunRequest {
  return {
    ...request,
    partialMessages: request.partialMessages || request.streamText,
    // With text output, Claude Code prints more on stderr.
    ...(request.outputFormat === "text" ? { answerAlone: true } : {}),
  };
}

/**
 * Runs one prompt as a conversation of one message, if possible with a warm child. The output equals that of a run.
 *
 * @returns the exit code
 */
export async function runPromptWarm(
  request: RunRequest,
  options: {
    readonly prompt: string;
    readonly env: Environment;
    readonly cwd: string;
    readonly invocation: Invocation;
    readonly delegation: Delegation;
    readonly writer: OutputWriter;
    readonly warn: (text: string) => void;
    readonly teardown: Teardown;
    readonly tracer: Tracer;
    readonly watcher: RunWatcher | undefined;
  },
): Promise<number> {
  const { prompt, env, cwd, invocation, delegation, writer, warn, teardown } = options;
  const { outlets, signals, startedAt } = invocation;
  const { trace, tracePrepared: prepared, loadRedactor } = options.tracer;
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
  const hold: HoldRun = (changing) =>
    delegation.hold(warmRequest(request), {
      env,
      cwd,
      caller: new CommittedCaller(caller, delegation),
      signals,
      terminal: delegation.terminal,
      outlets: outlets.all,
      emit: (frame) => {
        // The live line or the mirror must be removed before the result is printed.
        if (frame.type === "result") unwatch();
        writer.frame(frame);
      },
      onInput: (input) => watcher?.observe(input),
      onReport: (report) => void (last = report),
      onPrepared: prepared,
      onLogLine: (line) => outlets.notify(`${line}\n`),
      ...changing,
    });
  const exitCode = await returnWhenComplete(delegation, { hold, teardown, warn, trace });
  unwatch();
  writer.end();
  if (last !== undefined) {
    await reportProblem(last, { label: "", quiet: request.quiet, outlets, loadRedactor });
    if (last.warning !== undefined) warn(last.warning);
  }
  trace(`exit code ${exitCode}`);
  return exitCode;
}
