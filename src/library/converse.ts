import { checkPrompt } from "../cli/check_prompt.ts";
import { ProgramCaller } from "../driver/sources/caller/program_caller.ts";
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
import { holdConversation } from "./hold_conversation.ts";
import { folderOf, libraryRequest } from "./library_request.ts";
import { resultOf } from "./result_of.ts";
import { asRunError, RunError } from "./run_error.ts";
import { StoppedError } from "../run/stopped_error.ts";
import { Teardown } from "../run/teardown.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import { messageLine } from "../wire/caller_line.ts";
import type { ContentBlock, Frame } from "../wire/frame.ts";

/** The exit code of a conversation that nobody wants any more before it has begun. */
const ABANDONED = 141;

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
  const frames = frameQueue();
  const signals = new StopSignals({ listen: false });
  const caller = new ProgramCaller();
  const awaited = awaitedResults<TurnResult>();
  /** What is asked of the child, until it answers. */
  const asked = new Map<string, () => void>();
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
    const id = frame.type === "control_response" ? `${frame.response.request_id}` : "";
    const answered = asked.get(id);
    if (answered === undefined) return frames.push(frame);
    asked.delete(id);
    answered();
  };

  const hold = async (): Promise<number> => {
    const { args = [] } = options;
    options.signal?.throwIfAborted();
    const request = await libraryRequest(args, { caller: "converse()" });
    const env = options.env ?? callerEnvironment();
    const cwd = folderOf(options.cwd);
    const warn = (text: string) => void warnings.push(text);
    using teardown = new Teardown({ warn });
    return await holdConversation(request, {
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
      onChildEnded: forgetChild,
      warn,
      trace: () => {},
    });
  };
  const perform = async (): Promise<ConversationEnd> => {
    const onAbort = () => stop("SIGINT");
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const exitCode = await hold().catch((error: unknown) => {
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
      return sent;
    },
    interrupt: async () => {
      if (!hasChild) return;
      const id = crypto.randomUUID();
      const { promise, resolve } = Promise.withResolvers<void>();
      asked.set(id, resolve);
      caller.say({ type: "control", request: { id, subtype: "interrupt", body: {} } });
      await promise;
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

/** Why a child that nobody wants any more is not started. */
function unwanted(signal: AbortSignal | undefined): unknown {
  return signal?.aborted
    ? signal.reason
    : new DOMException("The conversation was ended before it began", "AbortError");
}
