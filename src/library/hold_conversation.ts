import type { ForkOrigin } from "../recording/cassette/cassette_format.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import type { RunRecorder } from "./record_run.ts";
import { type ConversationNeeds, converse } from "../run/perform_conversation.ts";
import { earlyWarnings, type PreparedRun } from "../run/prepare_run.ts";
import type { RunOrder } from "../run/plan/run_order.ts";
import type { Teardown } from "../run/teardown.ts";
import type { Environment } from "../sandbox/environment.ts";
import { absolutePath } from "../sandbox/paths.ts";

/** What a conversation needs beside its request. */
export interface HoldOptions
  extends Omit<ConversationNeeds, "onEffect" | "onPrepared" | "onChildEnded"> {
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  /** Leaves nothing behind of each child, and of the last one however it ends. */
  readonly teardown: Pick<Teardown, "own" | "keep" | "childEnded" | "run">;
  /** Takes a run whose folder is there, before its child is started; what it throws ends the conversation. */
  readonly onPrepared?: (prepared: PreparedRun) => void;
  /** Called when a child waits for something to be said. */
  readonly onReady?: () => void;
  /** Takes for what the screen waits, and undefined when it does no more. */
  readonly onWaiting?: (about: string | undefined) => void;
  /** Called when nothing is left of a child. */
  readonly onChildEnded?: () => void;
  /** What it goes on with, where that is a recorded conversation: the transcript of the session that is resumed. */
  readonly fork?: {
    readonly history: string;
    /** Files beside it, as of subagents. */
    readonly besides?: NonNullable<RunOrder["besideHistory"]>;
    readonly from: ForkOrigin;
  };
}

/**
 * Holds a conversation as it was asked for, with what is recorded and torn down around it.
 *
 * Each child has a recording of its own: the second one in a folder `2` of the first one's, and so on.
 *
 * @returns the exit code, which is that of the last turn
 * @throws {CliError} when there is no login, a child cannot be had, or there is no place for one or for the recording
 */
export async function holdConversation(
  request: RunRequest,
  options: HoldOptions,
): Promise<number> {
  // What is of the caller's surroundings is not the child's.
  const { env, cwd, teardown, onPrepared, onReady, onWaiting, onChildEnded, fork, ...watching } =
    options;
  const { warn } = watching;
  const { record } = request;
  /** Of the next child, which has no recording yet. */
  let claimed: RunRecorder | undefined;
  let claimNext = () => {};
  let recorder: RunRecorder | undefined;
  /** Lines of the caller that the next child takes. */
  const heard: string[] = [];
  if (record !== undefined) {
    const { recordRun } = await import("./record_run.ts");
    const folder = absolutePath(record, cwd);
    let children = 0;
    claimNext = () => {
      children++;
      const own = children === 1 ? folder : `${folder}/${children}`;
      const forkedFrom = children === 1 ? fork?.from : undefined;
      claimed = recordRun(own, { env, request, forkedFrom });
      teardown.keep(claimed.save);
    };
    claimNext();
    watching.caller.onLine = (line) =>
      recorder === undefined ? void heard.push(line) : recorder.callerLine(line);
  }
  const told = new Set<string>();
  return await converse({
    ...conversationOrder(request, { env, cwd }),
    ...(fork === undefined || fork.history === "" ? {} : {
      history: fork.history,
      besideHistory: fork.besides ?? [],
    }),
  }, {
    ...watching,
    onInput: (input) => {
      if (input.type === "status") {
        if (input.status === "idle") onReady?.();
        onWaiting?.(input.status === "waiting" ? input.waitingFor ?? "a dialog" : undefined);
      }
      recorder?.input(input);
      watching.onInput?.(input);
    },
    onEffect: (effect) => recorder?.effect(effect),
    onPrepared: (prepared) => {
      teardown.own(prepared);
      onPrepared?.(prepared);
      for (const warning of earlyWarnings(prepared)) {
        // Of a Claude Code that follows another one only what is new is told.
        if (!told.has(warning)) warn(warning);
        told.add(warning);
      }
      if (claimed === undefined) claimNext();
      claimed?.begin(prepared);
      [recorder, claimed] = [claimed, undefined];
      for (const line of heard.splice(0)) recorder?.callerLine(line);
    },
    onChildEnded: () => {
      teardown.childEnded();
      teardown.run();
      recorder = undefined;
      onChildEnded?.();
    },
  });
}

/** The order of the first child of a conversation. */
export function conversationOrder(
  request: RunRequest,
  { env, cwd }: Pick<HoldOptions, "env" | "cwd">,
): RunOrder {
  return {
    ...request,
    prompt: undefined,
    cwd,
    env,
    frames: true,
    limitsTold: request.answerAlone !== true,
    retries: true,
  };
}

/** Messages that wait for the result of the turn that answers them, by their tickets. */
interface PendingResults<Result> {
  /** What becomes of a message that is about to be sent. */
  readonly expect: (ticket: string) => Promise<Result>;
  /** Hands a result to the messages that its turn answers. */
  readonly resolve: (tickets: readonly string[], result: Result) => void;
  /** Tells all that still wait why they do so in vain. */
  readonly reject: (error: unknown) => void;
}

/** No messages yet. */
export function createPendingResults<Result>(): PendingResults<Result> {
  const waiting = new Map<string, PromiseWithResolvers<Result>>();
  return {
    expect: (ticket) => {
      const result = Promise.withResolvers<Result>();
      waiting.set(ticket, result);
      return result.promise;
    },
    resolve: (tickets, result) => {
      for (const ticket of tickets) {
        waiting.get(ticket)?.resolve(result);
        waiting.delete(ticket);
      }
    },
    reject: (error) => {
      for (const result of waiting.values()) result.reject(error);
      waiting.clear();
    },
  };
}
