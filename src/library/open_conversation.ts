import { checkPrompt } from "../cli/arguments/check_prompt.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { ProgramCaller } from "../driver/inputs/caller/program_caller.ts";
import { StopSignals } from "../driver/stop_signals.ts";
import { createPendingResults, holdConversation, type HoldOptions } from "./hold_conversation.ts";
import {
  asRunError,
  createFrameQueue,
  createRunResult,
  RunError,
  type RunOptions,
  type RunResult,
} from "./run_output.ts";
import { libraryRequest, resolveFolder } from "./library_request.ts";
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
  readonly sendRequest: (
    subtype: string,
    body?: JsonObject,
  ) => Promise<ControlResponse | undefined>;
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
  const frames = createFrameQueue();
  const signals = new StopSignals({ listen: false });
  const caller = new ProgramCaller();
  const awaited = createPendingResults<TurnResult>();
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
    const cwd = resolveFolder(options.cwd);
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
        awaited.resolve(
          tickets,
          createRunResult(report, { warnings: warnings.splice(0), env, request }),
        );
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
      awaited.reject(
        new RunError("The message was not answered: the conversation was ended before", {
          suggestion: "Await its result before the conversation is ended",
        }),
      );
      return { exitCode, warnings };
    } catch (error) {
      const told = asRunError(error);
      over = failedError(told);
      frames.end({ error: told });
      awaited.reject(told);
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
  const ask: OpenConversation["sendRequest"] = async (subtype, body = {}) => {
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
    sendRequest: ask,
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

/** What a conversation can be told beside its messages. */
export interface ConverseOptions extends RunOptions {
  /**
   * Whether Claude Code is started at once and waits for the first message, whose turn then takes as long as any later
   * one. Where something that it has read at its start is another by then (its settings, instructions or MCP servers, who
   * is logged in, the state of the git repository, the date), a new one takes the message.
   */
  readonly warm?: boolean;
}

/** What became of a turn, and with it of each message that it answered. */
export type TurnResult = RunResult;

/** What a message can be given beside its content. */
export interface MessageOptions {
  /**
   * An id of your own, which the message has in the session too: frames of type `command_lifecycle` tell how far it is. One
   * that was sent before is not sent again, and has the result that it has, as long as it is among the last 1000 that were
   * sent with an id; one that the session has from an earlier run, or that was sent longer ago, is refused.
   */
  readonly uuid?: string;
  /**
   * When it is Claude's business: `now` ends the turn under way, `next` may become a part of it, which is so by default,
   * and `later` waits until it is over; several that wait make one turn.
   */
  readonly priority?: "now" | "next" | "later";
}

/** A message on its way. */
export interface SentMessage {
  /**
   * The result of the turn that answers it; messages that are answered together have the same one.
   *
   * Failures of Claude Code, of the API and of this library are results, and after them the conversation goes on. It
   * rejects only when there is no turn for the message: with a {@linkcode RunError} that says what to do, or with the
   * reason of `signal`.
   */
  readonly result: Promise<TurnResult>;
}

/** How a conversation ended. */
export interface ConversationEnd {
  /** What the program would exit with, which is the exit code of the last turn. */
  readonly exitCode: number;
  /** What no result has told: a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A conversation of as many turns as you like, in one session.
 *
 * Iterating over it gives the frames that `--output-format stream-json` prints, of all turns, as they happen; those that
 * nobody has asked for yet wait. Each frame is given once, however many iterate. Leaving the loop leaves the
 * conversation as it is: another loop goes on where the first has stopped.
 *
 * It keeps your program from ending until it is closed, or the scope of `await using` ends.
 */
export interface Conversation extends AsyncIterable<Frame>, AsyncDisposable {
  /**
   * Sends a message, whether or not a turn is under way.
   *
   * @param content the text, or blocks of text, which reach the model as they are or not at all
   */
  readonly send: (
    content: string | readonly ContentBlock[],
    options?: MessageOptions,
  ) => SentMessage;
  /**
   * Stops the turn under way as a person does, by Escape: its result has the subtype `error_during_execution`, and the
   * conversation goes on. What has not begun yet is not stopped.
   *
   * It resolves when the turn has been told to end, or there is none.
   */
  readonly interrupt: () => Promise<void>;
  /**
   * Sends nothing more: what has been sent is answered, then Claude Code ends. It resolves when nothing of it is left, and
   * rejects as {@linkcode SentMessage.result} does when the conversation has failed.
   */
  readonly close: () => Promise<ConversationEnd>;
  /** The frames, each of them once. */
  [Symbol.asyncIterator](): AsyncIterator<Frame, undefined>;
  /** Ends Claude Code, whatever it does, and resolves when nothing of it is left. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Holds a conversation of many turns with the interactive Claude Code, as the program `claude-print` does with
 * `--input-format stream-json`.
 *
 * Claude Code is started with the first message, or at once if it is to be warm, stays for all that follow, and is started anew on the same session for
 * what comes after it has died. Your program is left alone as by {@linkcode run}.
 *
 * @param options as those of a run; `signal` ends the conversation
 * @returns the conversation, in which nothing has been said
 *
 * @example Two turns
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse({ args: ["--model", "haiku"] });
 * const first = await conversation.send("Think of a number.").result;
 * const second = await conversation.send("Double it.").result;
 * console.log(first.text, second.text);
 * ```
 *
 * @example What Claude does in all turns, as it happens
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse();
 * conversation.send("Why is the sky blue?");
 * conversation.send("And at night?");
 * conversation.close();
 * for await (const frame of conversation) {
 *   if (frame.type === "result") console.log(frame.result);
 * }
 * ```
 *
 * @example Another question instead
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse();
 * const first = conversation.send("Count to a million");
 * for await (const frame of conversation) {
 *   if (frame.type === "system") break;
 * }
 * await conversation.interrupt();
 * console.log((await first.result).frame.subtype); // error_during_execution
 * ```
 */
export function converse(options: ConverseOptions = {}): Conversation {
  const { sendRequest: _ask, answer: _answer, ...conversation } = openConversation(options);
  return conversation;
}
