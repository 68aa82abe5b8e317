import { checkPrompt } from "../cli/arguments/check_prompt.ts";
import { ProgramCaller } from "../driver/inputs/callers.ts";
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
import { conversationRequest, resolveFolder } from "./library_request.ts";
import { StoppedError } from "../run/waits.ts";
import { Teardown } from "../run/teardown.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import type { JsonObject } from "../json_object.ts";
import { messageLine } from "../claude/wire/caller_line.ts";
import type { ControlAnswer, ControlResponse } from "../claude/wire/control.ts";
import type { ContentBlock } from "../claude/wire/message_frames.ts";
import type { Frame } from "../claude/wire/frame.ts";
import { EXIT } from "../cli_error.ts";
import { definedFields } from "../defined_fields.ts";

/** Options of a conversation. */
export interface ConverseOptions extends RunOptions {
  /**
   * Whether to start Claude Code at once, so that the first turn takes no longer than later ones. If something that Claude
   * Code reads at its start changes before the first message (settings, instructions, MCP servers, the login, the state of
   * the git repository, the date), a new Claude Code takes the message.
   */
  readonly warm?: boolean;
}

/** The result of a turn, and of each message that it answers. */
export type TurnResult = RunResult;

/** Options of a message. */
export interface MessageOptions {
  /**
   * Your own id for the message. It is also the message's id in the session and in frames of type `command_lifecycle`.
   *
   * A message with the id of one of the last 1000 messages with an id is not sent again, and has the result of that
   * message. An id of an older message, or of a message of an earlier run, is refused.
   */
  readonly uuid?: string;
  /**
   * When Claude gets the message: `now` ends the running turn, `next`, the default, may join it, and `later` waits for its
   * end. Messages that wait become one turn.
   */
  readonly priority?: "now" | "next" | "later";
}

/** A message that was sent. */
export interface SentMessage {
  /**
   * The result of the turn that answers the message. Messages that are answered together have the same one.
   *
   * Failures of Claude Code, of the API and of this library are results, and the conversation continues after them. It
   * rejects only when there is no turn for the message: with a {@linkcode RunError} that says what to do, or with the
   * reason of `signal`.
   */
  readonly result: Promise<TurnResult>;
}

/** How a conversation ended. */
export interface ConversationEnd {
  /** The exit code that the program would have: that of the last turn. */
  readonly exitCode: number;
  /** Warnings that are in no result, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A conversation of any number of turns in one session.
 *
 * Iterating yields the frames that `--output-format stream-json` prints, of all turns, as they happen. Frames that nobody has
 * read yet wait. Each frame is yielded once, also to several iterations. Leaving a loop does not end the conversation:
 * another loop continues where the first has stopped.
 *
 * The conversation keeps your program running until it is closed, or the scope of `await using` ends.
 */
export interface Conversation extends AsyncIterable<Frame>, AsyncDisposable {
  /**
   * Sends a message, also during a turn.
   *
   * @param content the text, or blocks of text, which reach the model byte for byte or not at all
   */
  readonly send: (
    content: string | readonly ContentBlock[],
    options?: MessageOptions,
  ) => SentMessage;
  /**
   * Stops the running turn as Escape does. Its result has the subtype `error_during_execution`, and the conversation
   * continues. A message that has not begun is not stopped.
   *
   * Resolves when Claude Code has received the request, or when there is no turn.
   */
  readonly interrupt: () => Promise<void>;
  /**
   * Accepts no more messages, answers those that were sent, then ends Claude Code. Resolves when nothing of it is left, and
   * rejects as {@linkcode SentMessage.result} does when the conversation has failed.
   */
  readonly close: () => Promise<ConversationEnd>;
  /** The frames, each of them once. */
  [Symbol.asyncIterator](): AsyncIterator<Frame, undefined>;
  /** Ends Claude Code at once, and resolves when nothing of it is left. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a conversation of many turns with the interactive Claude Code, as the program `claude-print` does with
 * `--input-format stream-json`.
 *
 * Claude Code starts with the first message, or at once if it is `warm`, and serves all turns. If it dies, a new one
 * continues the same session. Your program is left alone as by {@linkcode run}.
 *
 * @param options as those of a run; `signal` ends the conversation
 * @returns the conversation, without a message yet
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
  const { sendRequest: _sendRequest, answer: _answer, ...conversation } = openConversation(options);
  return conversation;
}

/** Options that `converse()` does not have. */
export interface OpenOptions extends ConverseOptions {
  /** Carries the conversation out, such as with a warm child; `holdConversation` by default. */
  readonly hold?: typeof holdConversation;
  /** Whether permission requests, questions and plans are frames `control_request` that wait for `answer`. */
  readonly asks?: boolean;
  /** Whether messages are frames when Claude Code takes them: `--replay-user-messages`. */
  readonly replays?: boolean;
  readonly onTerminal?: HoldOptions["onTerminal"];
  readonly onReady?: () => void;
  readonly onWaiting?: (about: string | undefined) => void;
}

/** A conversation with the control protocol of the Agent SDKs. */
export interface OpenConversation extends Conversation {
  /**
   * Sends a control request, such as for another model.
   *
   * @returns the response; undefined when there is no child, or it ends first
   */
  readonly sendRequest: (
    subtype: string,
    body?: JsonObject,
  ) => Promise<ControlResponse | undefined>;
  /** Answers a frame `control_request`. Ignores an answer without a request. */
  readonly answer: (answer: ControlAnswer) => void;
}

/** Opens a conversation as `converse()` does, with further options. */
export function openConversation(options: OpenOptions = {}): OpenConversation {
  const run = new ConversationRun(options);
  const iterator: AsyncIterator<Frame, undefined> = { next: run.nextFrame };
  return {
    send: (content, message = {}) => run.send(content, message),
    interrupt: async () => {
      await run.sendRequest("interrupt", {});
    },
    sendRequest: (subtype, body = {}) => run.sendRequest(subtype, body),
    answer: (answer) => run.answer(answer),
    close: () => run.close(),
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: () => run.abort(),
  };
}

/** The number of remembered messages with an id, so that none of them is sent twice. */
const MAX_REMEMBERED = 1000;

/** A conversation that is carried out, from its start to its end. */
class ConversationRun {
  readonly #options: OpenOptions;
  readonly #frames = createFrameQueue();
  readonly #signals = new StopSignals({ listen: false });
  readonly #caller = new ProgramCaller();
  readonly #results = createPendingResults<TurnResult>();
  /** Resolve control requests that the child has not answered, by id. */
  readonly #requests = new Map<string, (response?: ControlResponse) => void>();
  readonly #byUuid = new Map<string, SentMessage>();
  readonly #warnings: string[] = [];
  readonly #end: Promise<ConversationEnd>;
  #hasChild = false;
  #isStopped = false;
  /** Why no more messages are accepted. */
  #closedError: RunError | undefined;

  constructor(options: OpenOptions) {
    this.#options = options;
    this.#end = this.#perform();
    // send() and iterating report an error too. Without them it must not be an unhandled rejection.
    this.#end.catch(() => {});
  }

  get nextFrame(): AsyncIterator<Frame, undefined>["next"] {
    return this.#frames.next;
  }

  send(content: string | readonly ContentBlock[], options: MessageOptions): SentMessage {
    const { uuid } = options;
    const known = uuid === undefined ? undefined : this.#byUuid.get(uuid);
    if (known !== undefined) return known;
    const sent: SentMessage = { result: this.#deliver(content, options) };
    // A caller that does not await the result must not get an unhandled rejection.
    sent.result.catch(() => {});
    if (uuid !== undefined) this.#byUuid.set(uuid, sent);
    if (this.#byUuid.size > MAX_REMEMBERED) {
      this.#byUuid.delete(this.#byUuid.keys().next().value ?? "");
    }
    return sent;
  }

  async sendRequest(subtype: string, body: JsonObject): Promise<ControlResponse | undefined> {
    if (!this.#hasChild) return undefined;
    const id = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<ControlResponse | undefined>();
    this.#requests.set(id, resolve);
    this.#caller.say({ type: "control", request: { id, subtype, body } });
    return await promise;
  }

  answer(answer: ControlAnswer): void {
    if (this.#hasChild) this.#caller.say({ type: "answer", answer });
  }

  close(): Promise<ConversationEnd> {
    this.#closedError ??= closedError("it has been closed");
    this.#caller.close();
    return this.#end;
  }

  /** Ends the child at once, and resolves when nothing of it is left. */
  async abort(): Promise<void> {
    this.#frames.drop();
    this.#stop("SIGPIPE");
    await this.#end.catch(() => {});
  }

  async #perform(): Promise<ConversationEnd> {
    const { signal } = this.#options;
    const onAbort = () => this.#stop("SIGINT");
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const exitCode = await this.#hold().catch((error: unknown) => {
        // The conversation was ended before it had a child.
        if (!(error instanceof StoppedError)) throw error;
        signal?.throwIfAborted();
        return EXIT.abandoned;
      });
      this.#closedError ??= closedError("it has been ended");
      this.#frames.end();
      this.#results.reject(
        new RunError("The message was not answered: the conversation was ended before", {
          suggestion: "Await its result before the conversation is ended",
        }),
      );
      return { exitCode, warnings: this.#warnings };
    } catch (thrown) {
      const error = asRunError(thrown);
      this.#closedError = failedError(error);
      this.#frames.end({ error });
      this.#results.reject(error);
      throw error;
    } finally {
      this.#forgetChild();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #hold(): Promise<number> {
    const { args = [], asks, replays, onTerminal, onReady, onWaiting } = this.#options;
    this.#options.signal?.throwIfAborted();
    const request = await conversationRequest(args, { asks, replays });
    const env = this.#options.env ?? callerEnvironment();
    const cwd = resolveFolder(this.#options.cwd);
    const warn = (text: string) => void this.#warnings.push(text);
    using teardown = new Teardown({ warn });
    const { hold = holdConversation } = this.#options;
    return await hold(request, {
      env,
      cwd,
      teardown,
      caller: this.#caller,
      outlivesFailures: true,
      warm: this.#options.warm ?? false,
      signals: this.#signals,
      emit: (frame) => this.#emit(frame),
      onReport: (report) => {
        const { tickets = [], warning } = report;
        if (warning !== undefined) warn(warning);
        // Warnings of a turn without a message go into the next result.
        if (tickets.length === 0) return;
        const warnings = this.#warnings.splice(0);
        this.#results.resolve(tickets, createRunResult(report, { warnings, env, request }));
      },
      onPrepared: () => {
        if (this.#isStopped) throw this.#abortReason();
        this.#hasChild = true;
      },
      ...definedFields({ onTerminal, onReady, onWaiting }),
      onChildEnded: () => this.#forgetChild(),
      warn,
      trace: () => {},
    });
  }

  async #deliver(
    content: string | readonly ContentBlock[],
    { uuid, priority }: MessageOptions,
  ): Promise<TurnResult> {
    if (this.#closedError !== undefined) throw this.#closedError;
    const ticket = crypto.randomUUID();
    const line = messageLine(content, { uuid, ticket, priority });
    const problem = line.obstacle === undefined
      ? checkPrompt(typeof content === "string" ? content : line.text)
      : new RunError(`Cannot send the message: ${line.obstacle}`, {
        suggestion: "Send text, or the path of a file",
      });
    if (problem !== undefined) throw asRunError(problem);
    const result = this.#results.expect(ticket);
    this.#caller.say(line);
    return await result;
  }

  /** Emits a frame, unless it is the response to a control request of this library. */
  #emit(frame: Frame): void {
    const id = frame.type === "control_response" ? frame.response.request_id : undefined;
    const resolve = typeof id === "string" ? this.#requests.get(id) : undefined;
    if (frame.type !== "control_response" || typeof id !== "string" || resolve === undefined) {
      return this.#frames.push(frame);
    }
    this.#requests.delete(id);
    resolve(frame.response);
  }

  #stop(signal: "SIGINT" | "SIGPIPE"): void {
    this.#closedError ??= closedError("it has been ended");
    // A second signal would kill the child before the end of its transcript is written.
    if (!this.#isStopped) this.#signals.raise(signal);
    this.#isStopped = true;
  }

  /** Why a child is not started. */
  #abortReason(): unknown {
    const { signal } = this.#options;
    return signal?.aborted
      ? signal.reason
      : new DOMException("The conversation was ended before it began", "AbortError");
  }

  #forgetChild(): void {
    this.#hasChild = false;
    this.#caller.dropRequests();
    for (const resolve of this.#requests.values()) resolve();
    this.#requests.clear();
  }
}

function closedError(why: string): RunError {
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
