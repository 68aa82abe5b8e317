import type { ForkOrigin } from "../recording/cassette/cassette_format.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import type { RunRecorder } from "./record_run.ts";
import { type ConversationNeeds, performConversation } from "../run/perform_conversation.ts";
import { earlyWarnings, type PreparedRun } from "../run/prepare_run.ts";
import type { RunOrder } from "../run/plan/run_order.ts";
import type { Teardown } from "../run/teardown.ts";
import type { Environment } from "../sandbox/environment.ts";
import { absolutePath } from "../paths.ts";

/** Options of a conversation, in addition to its request. */
export interface HoldOptions
  extends Omit<ConversationNeeds, "onEffect" | "onPrepared" | "onChildEnded"> {
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  /** Removes what each child leaves, and what the last one leaves however it ends. */
  readonly teardown: Pick<Teardown, "own" | "saveAtEnd" | "childEnded" | "run">;
  /** Called before a child is started. An error that it throws ends the conversation. */
  readonly onPrepared?: (prepared: PreparedRun) => void;
  /** Called when a child waits for a message. */
  readonly onReady?: () => void;
  /** Called when a dialog waits in the terminal, and with undefined when it is gone. */
  readonly onWaiting?: (about: string | undefined) => void;
  /** Called when nothing is left of a child. */
  readonly onChildEnded?: () => void;
  /** A recorded conversation to continue: the transcript of its session, with further files such as those of subagents. */
  readonly fork?: {
    readonly history: string;
    readonly besides?: NonNullable<RunOrder["besideHistory"]>;
    readonly from: ForkOrigin;
  };
}

/**
 * Carries a conversation out, records it and tears its children down.
 *
 * Each child has a cassette of its own: the first one in the folder for the recording, the second one in that folder's
 * folder `2`, and so on.
 *
 * @returns the exit code of the last turn
 * @throws {CliError} when there is no login, a child cannot be started, or a folder cannot be created
 */
export async function holdConversation(
  request: RunRequest,
  options: HoldOptions,
): Promise<number> {
  const { env, cwd, teardown, onPrepared, onReady, onWaiting, onChildEnded, fork, ...needs } =
    options;
  const recorder = await createRecorder(request, options);
  if (recorder !== undefined) needs.caller.onLine = (line) => recorder.recordLine(line);
  const warned = new Set<string>();
  return await performConversation({
    ...conversationOrder(request, { env, cwd }),
    ...(fork === undefined || fork.history === "" ? {} : {
      history: fork.history,
      besideHistory: fork.besides ?? [],
    }),
  }, {
    ...needs,
    onInput: (input) => {
      if (input.type === "status") {
        if (input.status === "idle") onReady?.();
        onWaiting?.(input.status === "waiting" ? input.waitingFor ?? "a dialog" : undefined);
      }
      recorder?.current?.input(input);
      needs.onInput?.(input);
    },
    onEffect: (effect) => recorder?.current?.effect(effect),
    onPrepared: (prepared) => {
      teardown.own(prepared);
      onPrepared?.(prepared);
      for (const warning of earlyWarnings(prepared)) {
        // A later child repeats the warnings of the first one.
        if (!warned.has(warning)) needs.warn(warning);
        warned.add(warning);
      }
      recorder?.begin(prepared);
    },
    onChildEnded: () => {
      teardown.childEnded();
      teardown.run();
      recorder?.end();
      onChildEnded?.();
    },
  });
}

/** Creates the recorder of a conversation that is to be recorded, and claims the folder for the first cassette. */
async function createRecorder(
  request: RunRequest,
  { env, cwd, teardown, fork }: HoldOptions,
): Promise<ConversationRecorder | undefined> {
  if (request.record === undefined) return undefined;
  const folder = absolutePath(request.record, cwd);
  // Loaded late: few conversations are recorded.
  const { recordRun } = await import("./record_run.ts");
  return new ConversationRecorder((count) => {
    const recorder = count === 1
      ? recordRun(folder, { env, request, forkedFrom: fork?.from })
      : recordRun(`${folder}/${count}`, { env, request });
    teardown.saveAtEnd(recorder.save);
    return recorder;
  });
}

/** Records the children of a conversation, one after the other. */
class ConversationRecorder {
  readonly #claim: (count: number) => RunRecorder;
  #count = 1;
  /** The recorder of the next child. */
  #next: RunRecorder | undefined;
  #current: RunRecorder | undefined;
  /** Lines of the caller that the next child gets. */
  readonly #lines: string[] = [];

  /** @param claim claims the folder for the cassette of a child, which are counted from 1 */
  constructor(claim: (count: number) => RunRecorder) {
    this.#claim = claim;
    this.#next = claim(1);
  }

  /** The recorder of the current child. */
  get current(): RunRecorder | undefined {
    return this.#current;
  }

  recordLine(line: string): void {
    if (this.#current === undefined) this.#lines.push(line);
    else this.#current.callerLine(line);
  }

  begin(prepared: PreparedRun): void {
    const recorder = this.#next ?? this.#claim(++this.#count);
    recorder.begin(prepared);
    [this.#current, this.#next] = [recorder, undefined];
    for (const line of this.#lines.splice(0)) recorder.callerLine(line);
  }

  end(): void {
    this.#current = undefined;
  }
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

/** Messages without a result, by their tickets. */
interface PendingResults<Result> {
  /** Returns the result of a message that is about to be sent. */
  readonly expect: (ticket: string) => Promise<Result>;
  /** Resolves the messages that a turn answers. */
  readonly resolve: (tickets: readonly string[], result: Result) => void;
  /** Rejects all messages that have no result. */
  readonly reject: (error: unknown) => void;
}

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
