import { checkPrompt } from "../cli/arguments/check_prompt.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { ProgramCaller } from "../driver/inputs/caller/program_caller.ts";
import { StopSignals } from "../driver/stop_signals.ts";
import { awaitedResults } from "./awaited_results.ts";
import type {
  Conversation,
  ConversationEnd,
  ConverseOptions,
  MessageOptions,
  SentMessage,
  TurnResult,
} from "./conversation_handle.ts";
import { frameQueue } from "./frame_queue.ts";
import { holdConversation, type HoldOptions } from "./hold_conversation.ts";
import { folderOf, libraryRequest } from "./library_request.ts";
import { resultOf } from "./result_of.ts";
import { asRunError, RunError } from "./run_error.ts";
import { StoppedError } from "../run/waits.ts";
import { Teardown } from "../run/teardown.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import type { JsonObject } from "../json_object.ts";
import { messageLine } from "../claude/wire/caller_line.ts";
import type { ControlAnswer, ControlResponse } from "../claude/wire/control.ts";
import type { ContentBlock } from "../claude/wire/message_frames.ts";
import type { Frame } from "../claude/wire/frame.ts";

/** What a conversation can be told that `converse()` does not offer to everybody. */
export interface OpenOptions extends ConverseOptions {
  /** Who holds it; it is begun anew by default. */
  readonly hold?: typeof holdConversation;
  /** Whether what Claude Code asks for is asked in frames `control_request`, and then waits for an answer. */
  readonly asks?: boolean;
  /** Whether messages are frames too, once they are taken: `--replay-user-messages`. */
  readonly replays?: boolean;
  readonly onTerminal?: HoldOptions["onTerminal"];
  readonly onReady?: () => void;
  readonly onWaiting?: (about: string | undefined) => void;
}

/** A conversation, and what is asked in it by the control protocol of the Agent SDKs. */
export interface OpenConversation extends Conversation {
  /**
   * Asks Claude Code for something, such as another model.
   *
   * @returns its answer; undefined when there is no Claude Code, or it has gone meanwhile
   */
  readonly ask: (subtype: string, body?: JsonObject) => Promise<ControlResponse | undefined>;
  /** Answers what was asked in a frame `control_request`; what nobody has asked is nothing to anybody. */
  readonly answer: (answer: ControlAnswer) => void;
}

/** Of so many messages, the latest ones, it is known that they were sent before. */
const MOST_REMEMBERED = 1000;

/** The exit code of a conversation that nobody wants any more before it has begun. */
const ABANDONED = 141;

/**
 * Opens a conversation.
 *
 * @param options as those of `converse()`, and what of a conversation else is of interest
 */
export function openConversation(options: OpenOptions = {}): OpenConversation {
  const frames = frameQueue();
  const signals = new StopSignals({ listen: false });
  const caller = new ProgramCaller();
  const awaited = awaitedResults<TurnResult>();
  /** What is asked of the child, until it answers. */
  const asked = new Map<string, (answer?: ControlResponse) => void>();
  const byUuid = new Map<string, SentMessage>();
  const warnings: string[] = [];
  let hasChild = false;
  /** Why nothing more can be sent. */
  let over: RunError | undefined;
  let stopped = false;
  // A second signal would kill the child, and with it the end of the transcript.
  const stop = (signal: "SIGINT" | "SIGPIPE") => {
    over ??= overError("it has been ended");
    if (!stopped) signals.raise(signal);
    stopped = true;
  };
  const forgetChild = () => {
    hasChild = false;
    caller.dropRequests();
    for (const answered of asked.values()) answered();
    asked.clear();
  };
  const emit = (frame: Frame) => {
    if (frame.type !== "control_response") return frames.push(frame);
    const { request_id: id } = frame.response;
    const answered = typeof id === "string" ? asked.get(id) : undefined;
    if (typeof id !== "string" || answered === undefined) return frames.push(frame);
    asked.delete(id);
    answered(frame.response);
  };

  const holding = async (): Promise<number> => {
    const { args = [], asks = false, replays = false, onTerminal, onReady, onWaiting } = options;
    options.signal?.throwIfAborted();
    const request = await conversationRequest(args, { asks, replays });
    const env = options.env ?? callerEnvironment();
    const cwd = folderOf(options.cwd);
    const warn = (text: string) => void warnings.push(text);
    using teardown = new Teardown({ warn });
    const { hold = holdConversation } = options;
    return await hold(request, {
      env,
      cwd,
      teardown,
      caller,
      outlivesFailures: true,
      warm: options.warm ?? false,
      signals,
      emit,
      onReport: (report) => {
        const { tickets = [], warning } = report;
        if (warning !== undefined) warn(warning);
        // What a turn without a message has to say goes with the next result.
        if (tickets.length === 0) return;
        awaited.answer(tickets, resultOf(report, { warnings: warnings.splice(0), env, request }));
      },
      onPrepared: () => {
        if (stopped) throw unwanted(options.signal);
        hasChild = true;
      },
      ...(onTerminal === undefined ? {} : { onTerminal }),
      ...(onReady === undefined ? {} : { onReady }),
      ...(onWaiting === undefined ? {} : { onWaiting }),
      onChildEnded: forgetChild,
      warn,
      trace: () => {},
    });
  };
  const perform = async (): Promise<ConversationEnd> => {
    const onAbort = () => stop("SIGINT");
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const exitCode = await holding().catch((error: unknown) => {
        // It was told to end while nothing was to be done.
        if (!(error instanceof StoppedError)) throw error;
        options.signal?.throwIfAborted();
        return ABANDONED;
      });
      over ??= overError("it has been ended");
      frames.end();
      awaited.fail(
        new RunError("The message was not answered: the conversation was ended before", {
          suggestion: "Await its result before the conversation is ended",
        }),
      );
      return { exitCode, warnings };
    } catch (error) {
      const told = asRunError(error);
      over = failedError(told);
      frames.end({ error: told });
      awaited.fail(told);
      throw told;
    } finally {
      forgetChild();
      options.signal?.removeEventListener("abort", onAbort);
    }
  };
  const end = perform();
  // send() and iterating report an error as well; without them there is no unhandled rejection.
  const ended = end.then(() => {}, () => {});

  const deliver = async (
    content: string | readonly ContentBlock[],
    { uuid, priority }: MessageOptions,
  ): Promise<TurnResult> => {
    if (over !== undefined) throw over;
    const ticket = crypto.randomUUID();
    const line = messageLine(content, { uuid, ticket, priority });
    const problem = line.obstacle === undefined
      ? checkPrompt(typeof content === "string" ? content : line.text)
      : new RunError(`Cannot send the message: ${line.obstacle}`, {
        suggestion: "Send text, or the path of a file",
      });
    if (problem !== undefined) throw asRunError(problem);
    const result = awaited.expect(ticket);
    caller.say(line);
    return await result;
  };
  const ask: OpenConversation["ask"] = async (subtype, body = {}) => {
    if (!hasChild) return undefined;
    const id = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<ControlResponse | undefined>();
    asked.set(id, resolve);
    caller.say({ type: "control", request: { id, subtype, body } });
    return await promise;
  };
  const iterator: AsyncIterator<Frame, undefined> = { next: frames.next };
  return {
    send: (content, message = {}) => {
      const { uuid } = message;
      const known = uuid === undefined ? undefined : byUuid.get(uuid);
      if (known !== undefined) return known;
      const sent: SentMessage = { result: deliver(content, message) };
      // A result that is not awaited is no unhandled rejection.
      sent.result.catch(() => {});
      if (uuid !== undefined) byUuid.set(uuid, sent);
      if (byUuid.size > MOST_REMEMBERED) byUuid.delete(byUuid.keys().next().value ?? "");
      return sent;
    },
    interrupt: async () => {
      await ask("interrupt");
    },
    ask,
    answer: (answer) => {
      if (hasChild) caller.say({ type: "answer", answer });
    },
    close: () => {
      over ??= overError("it has been closed");
      caller.close();
      return end;
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      frames.drop();
      stop("SIGPIPE");
      await ended;
    },
  };
}

function overError(why: string): RunError {
  return new RunError(`Cannot send the message to the conversation: ${why}`, {
    suggestion: "Begin another one with converse()",
  });
}

function failedError(cause: unknown): RunError {
  const { message } = cause instanceof Error ? cause : new Error(`${cause}`);
  const { suggestion, exitCode = 2 } = cause instanceof RunError ? cause : {};
  return new RunError(`Cannot send the message to the conversation, which has failed: ${message}`, {
    exitCode,
    suggestion,
    cause,
  });
}

/**
 * What a conversation is held with.
 *
 * @throws {CliError} as `libraryRequest` does
 */
export async function conversationRequest(
  args: readonly string[],
  { asks = false, replays = false }: Pick<OpenOptions, "asks" | "replays">,
): Promise<RunRequest> {
  const flags = await libraryRequest(args, { caller: "converse()" });
  return {
    ...flags,
    asksCaller: asks && flags.promptTool === undefined,
    replayMessages: replays,
  };
}

/** Why a child that nobody wants any more is not started. */
function unwanted(signal: AbortSignal | undefined): unknown {
  return signal?.aborted
    ? signal.reason
    : new DOMException("The conversation was ended before it began", "AbortError");
}
