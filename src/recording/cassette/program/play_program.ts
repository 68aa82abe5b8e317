import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import {
  EMPTY_INITIALIZE_RESPONSE,
  type RequestIdField,
  requestIdField,
} from "../../../claude/wire/control.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import {
  type CallerLine,
  comparableMessage,
  compareLines,
  type LineComparison,
  parseCallerLine,
} from "./caller_lines.ts";
import type { EmitStep, RecordedProgram, WaitStep } from "./recorded_program.ts";
import {
  indexProgram,
  matchHooks,
  type ProgramIndex,
  renameIds,
  type ReplyStep,
} from "./tape_lookup.ts";

type Message = Extract<CallerLine, { readonly kind: "message" }>;
type Request = Extract<CallerLine, { readonly kind: "request" }>;
type Answer = Extract<CallerLine, { readonly kind: "answer" }>;

/** An input of a play. */
export type PlayInput =
  | { readonly type: "start" }
  | { readonly type: "line"; readonly line: string }
  /** The caller closed its input. */
  | { readonly type: "closed" }
  /** The caller sent the program a signal that ends it. */
  | { readonly type: "stopped" }
  /** The caller did not write the next line of the tape in time. */
  | { readonly type: "timeout" };

/** An effect of a play. */
export type PlayEffect =
  /** Emit a frame, `pauseMs` after the previous step of the tape. */
  | { readonly type: "emit"; readonly frame: AnyFrame; readonly pauseMs: number }
  /** Report that the caller differs from the recorded caller. */
  | { readonly type: "divergence"; readonly what: string }
  /** Report a line of the caller that cannot be compared with the tape, or only partly. */
  | { readonly type: "uncompared"; readonly what: string }
  | { readonly type: "end"; readonly code: number; readonly stderr?: string };

/**
 * Plays a recorded program to a caller: emits the recorded frames, waits for the caller where the program waited, and
 * compares the caller's lines with the tape.
 *
 * The play reports each divergence of the caller and continues, so it never hangs because of one. It does no I/O.
 */
export class Player {
  readonly #program: RecordedProgram;
  readonly #index: ProgramIndex;
  /** The position of the next step. */
  #next = 0;
  /** Lines that the caller has written before their step: messages and requests by number, from 0. */
  readonly #messages = new Map<number, Message>();
  readonly #requests = new Map<number, Request & { readonly isRefused: boolean }>();
  /** Answers by `answerKey()`. */
  readonly #answers = new Map<string, Answer>();
  /** The number of answers that the caller has given to each question. */
  readonly #answerCounts = new Map<string, number>();
  #messagesTaken = 0;
  #requestsTaken = 0;
  /** Requests whose reply has not been emitted: the live id by the id on the tape. */
  readonly #unansweredRequests = new Map<string, RequestIdField>();
  /** The progress of the play at the last search for early replies. */
  #repliedUpTo = { emitted: -1, requests: 0 };
  /** Live ids by recorded id, and recorded ids by live id. */
  readonly #liveIds = new Map<string, string>();
  readonly #recordedIds = new Map<string, string>();
  /** Live callback ids by recorded id; absent before the caller's `initialize`. */
  #hooks: ReadonlyMap<string, string> | undefined;
  /** Questions that were asked, that could not be asked, and that were cancelled. */
  readonly #asked = new Set<string>();
  readonly #notAsked = new Set<string>();
  readonly #cancelled = new Set<string>();
  #isClosed = false;
  #isStopped = false;
  /** The exit code that follows from the last result. */
  #resultCode = 0;
  #hasEnded = false;
  /** Effects of the current input. */
  #effects: PlayEffect[] = [];

  /** @param options.sessionId the session id of this run; by default the session id of the tape */
  constructor(program: RecordedProgram, { sessionId }: { readonly sessionId?: string } = {}) {
    this.#program = program;
    this.#index = indexProgram(program);
    const recorded = program.sessionId;
    if (sessionId !== undefined && recorded !== undefined && recorded !== sessionId) {
      this.#liveIds.set(recorded, sessionId);
      this.#recordedIds.set(sessionId, recorded);
    }
  }

  receive(input: PlayInput): readonly PlayEffect[] {
    this.#effects = [];
    if (!this.#hasEnded) this.#receive(input);
    return this.#effects;
  }

  /** The step for which the play waits; undefined once the play has ended. */
  get awaited(): WaitStep | undefined {
    const step = this.#hasEnded ? undefined : this.#program.steps[this.#next];
    return step !== undefined && !("frame" in step) ? step : undefined;
  }

  /** Whether the caller has to write now. The next message of a conversation may come at any time. */
  get isCallerDue(): boolean {
    const step = this.awaited;
    return step !== undefined &&
      (step.kind !== "message" || this.#requests.size > 0 || this.#unansweredRequests.size > 0);
  }

  #receive(input: PlayInput): void {
    switch (input.type) {
      case "start":
        return this.#advance();
      case "line":
        return this.#receiveLine(input.line);
      case "closed":
        this.#isClosed = true;
        return this.#advance();
      case "stopped":
        this.#isStopped = true;
        return this.#advance();
      case "timeout": {
        const step = this.awaited;
        this.#diverge(
          step === undefined
            ? "The tape has ended, and the caller goes on"
            : step.kind === "stop"
            ? "The caller has not ended the program by a signal, as it did when it was recorded"
            : `The caller has not written ${this.#nameOf(step)}, as it did when it was recorded`,
        );
        return this.#end();
      }
    }
  }

  #receiveLine(line: string): void {
    const written = parseCallerLine(line);
    switch (written?.kind) {
      case undefined:
      case "ignored":
        return;
      case "unknown":
        return this.#diverge(`The caller wrote ${written.what}`);
      case "message":
        this.#messages.set(this.#messagesTaken + this.#messages.size, written);
        return this.#advance();
      case "answer": {
        const count = this.#answerCounts.get(written.id) ?? 0;
        this.#answers.set(answerKey(written.id, count), written);
        this.#answerCounts.set(written.id, count + 1);
        return this.#advance();
      }
      case "request":
        return this.#receiveRequest(written);
    }
  }

  /** Compares a request with the next request on the tape. If it is another request, answers with an error. */
  #receiveRequest(request: Request): void {
    const { subtype } = request;
    const number = this.#requestsTaken + this.#requests.size;
    const step = this.#index.requests[number];
    if (subtype === "initialize" && !this.#index.hasInitialize) {
      return this.#emit(success(request, EMPTY_INITIALIZE_RESPONSE));
    }
    if (step === undefined || step.subtype !== subtype) {
      const instead = step === undefined
        ? "the tape has no further request"
        : `the tape's next one is "${step.subtype}"`;
      return this.#refuse(request, `The caller asks for "${subtype}", and ${instead}`);
    }
    // An initialize is not compared, because it describes the SDK's user. Its hooks and servers are compared when they
    // are called.
    const comparison: LineComparison = subtype === "initialize"
      ? {}
      : compareLines(step.request, request.request, this.#program);
    const name = `Request ${number + 1} (${subtype})`;
    const isRefused = comparison.difference !== undefined;
    if (isRefused) this.#refuse(request, `${name}: ${comparison.difference}`);
    else this.#report(name, comparison);
    this.#requests.set(number, { ...request, isRefused });
    this.#advance();
  }

  #refuse(request: Request, what: string): void {
    this.#diverge(what);
    this.#emit(failure(request, what));
  }

  /** Plays steps up to the first step whose line the caller has not written. */
  #advance(): void {
    const { steps } = this.#program;
    for (let step = steps[this.#next]; step !== undefined; step = steps[this.#next]) {
      if ("frame" in step) this.#emitStep(step);
      else if (!this.#take(step)) {
        this.#replyEarly();
        // A signal may come after the end of the input.
        if (this.#isClosed && step.kind !== "stop") this.#endBefore(step);
        return;
      }
      this.#next++;
    }
    this.#endAfterLastStep();
  }

  /** Emits the frames of a step, with the ids of this run. */
  #emitStep(step: EmitStep): void {
    const pauseMs = Math.max(0, step.at - (this.#program.steps[this.#next - 1]?.at ?? 0));
    switch (step.kind) {
      case "frame": {
        const { type, is_error, request_id } = step.frame;
        if (type === "control_cancel_request") {
          const id = asText(request_id);
          if (this.#notAsked.has(id)) return;
          this.#cancelled.add(id);
        }
        if (type === "result") this.#resultCode = Number(is_error === true);
        return this.#emitRecorded(step.frame, pauseMs);
      }
      case "reply":
        return this.#reply(step, pauseMs);
      case "ask":
        return this.#ask(step, pauseMs);
    }
  }

  /** Asks a question of the tape. A hook is called by the id that the live caller gave it. */
  #ask({ id, request, frame }: Extract<EmitStep, { readonly kind: "ask" }>, pauseMs: number): void {
    const { subtype, callback_id: hook, input } = request;
    if (subtype !== "hook_callback" || typeof hook !== "string" || this.#hooks === undefined) {
      this.#asked.add(id);
      return this.#emitRecorded(frame, pauseMs);
    }
    const live = this.#hooks.get(hook);
    if (live === undefined) {
      const event = isJsonObject(input) ? ` for ${asText(input["hook_event_name"])}` : "";
      this.#notAsked.add(id);
      return this.#diverge(
        `The tape calls a hook "${hook}"${event}, which the caller does not have`,
      );
    }
    this.#asked.add(id);
    this.#emitRecorded({ ...frame, request: { ...request, callback_id: live } }, pauseMs);
  }

  /** Emits the reply on the tape, unless the caller has not made the request or already has a reply. */
  #reply({ id, frame }: ReplyStep, pauseMs: number): void {
    const live = this.#unansweredRequests.get(id);
    if (live === undefined) return;
    this.#unansweredRequests.delete(id);
    const { request_id: _, ...rest } = isJsonObject(frame["response"]) ? frame["response"] : {};
    this.#emitRecorded({ ...frame, response: { ...rest, ...live } }, pauseMs);
  }

  /**
   * Emits replies before their place on the tape. The recorded caller may have continued to write without the reply,
   * while the live caller waits for it. A reply can come early if the program emitted nothing else before it; the reply
   * to `initialize` always can.
   *
   * Examines only the replies after the last emitted frame, and the requests since the last call, so that a long play
   * takes linear time.
   */
  #replyEarly(): void {
    const emitted = this.#index.emittedBefore[this.#next] ?? 0;
    const due = emitted === this.#repliedUpTo.emitted
      ? []
      : this.#index.repliesAfter.get(emitted) ?? [];
    const requests = this.#index.requests.slice(this.#repliedUpTo.requests, this.#requestsTaken);
    const taken = requests.flatMap(({ id, subtype }) => {
      const reply = this.#index.replies.get(id);
      const isDue = reply !== undefined &&
        (subtype === "initialize" || this.#index.emittedBefore[reply.index] === emitted);
      return isDue ? [reply] : [];
    });
    this.#repliedUpTo = { emitted, requests: this.#requestsTaken };
    const replies = [...due, ...taken].toSorted((one, other) => one.index - other.index);
    for (const { step } of replies) this.#reply(step, 0);
  }

  /** Takes and compares the line for which a step waits; false if the caller has not written it. */
  #take(step: WaitStep): boolean {
    switch (step.kind) {
      case "message":
        return this.#takeMessage(step);
      case "request":
        return this.#takeRequest(step);
      case "answer":
        return this.#takeAnswer(step);
      case "stop":
        return this.#isStopped;
    }
  }

  #takeMessage({ message, uuid }: Extract<WaitStep, { readonly kind: "message" }>): boolean {
    const live = this.#messages.get(this.#messagesTaken);
    if (live === undefined) return false;
    this.#messages.delete(this.#messagesTaken++);
    if (uuid !== undefined && live.uuid !== undefined && uuid !== live.uuid) {
      this.#liveIds.set(uuid, live.uuid);
      this.#recordedIds.set(live.uuid, uuid);
    }
    const comparison = message === undefined
      ? {}
      : compareLines(comparableMessage(message), comparableMessage(live.message), this.#program);
    this.#report(`Message ${this.#messagesTaken}`, comparison);
    return true;
  }

  #takeRequest(step: Extract<WaitStep, { readonly kind: "request" }>): boolean {
    const live = this.#requests.get(this.#requestsTaken);
    if (live === undefined) {
      // A caller that begins with a message sends no later initialize.
      if (step.subtype !== "initialize" || this.#messages.size === 0) return false;
      this.#requestsTaken++;
      this.#diverge("The caller does not begin with initialize, as the one that was recorded did");
      return true;
    }
    this.#requests.delete(this.#requestsTaken++);
    if (!live.isRefused && this.#index.replies.has(step.id)) {
      this.#unansweredRequests.set(step.id, requestIdField(live));
    }
    if (step.subtype === "initialize") this.#hooks = matchHooks(step.request, live.request);
    return true;
  }

  #takeAnswer(step: Extract<WaitStep, { readonly kind: "answer" }>): boolean {
    if (this.#notAsked.has(step.id)) return true;
    const key = answerKey(step.id, step.again);
    const live = this.#answers.get(key);
    if (live === undefined) return false;
    this.#answers.delete(key);
    const response = renameIds(live.response, this.#recordedIds);
    this.#report(
      `The answer to ${nameOfQuestion(step)}`,
      compareAnswers(step.response, response, this.#program),
    );
    return true;
  }

  /** Ends the play before a step, because the caller has closed its input. */
  #endBefore(step: WaitStep): void {
    const rest = this.#program.steps.slice(this.#next + 1);
    const more = rest.filter((each) => !("frame" in each)).length;
    const others = more === 0 ? "" : ` and ${more} more of what it wrote when it was recorded`;
    this.#diverge(`The caller ended its input before ${this.#nameOf(step)}${others}`);
    this.#end();
  }

  #endAfterLastStep(): void {
    const next = this.#messages.get(this.#messagesTaken);
    if (next !== undefined) {
      const content = JSON.stringify(comparableMessage(next.message)["content"]).slice(0, 120);
      this.#diverge(`Message ${this.#messagesTaken + 1} is not on the tape: ${content}`);
    } else if (!this.#isClosed && !this.#program.endsByItself) return;
    this.#end();
  }

  #end(): void {
    for (const [key, { id }] of this.#answers) {
      if (this.#cancelled.has(id)) continue;
      const none = key === answerKey(id, 0) ? "no answer" : "no further answer";
      this.#diverge(
        this.#asked.has(id)
          ? `The caller answered the question ${id}, and the tape has ${none} to it`
          : `The caller answered a question ${id} that it was not asked`,
      );
    }
    const { exit } = this.#program;
    this.#hasEnded = true;
    this.#effects.push({
      type: "end",
      code: exit?.code ?? this.#resultCode,
      ...(exit?.stderr === undefined ? {} : { stderr: exit.stderr }),
    });
  }

  #emit(frame: AnyFrame, pauseMs = 0): void {
    this.#effects.push({ type: "emit", frame, pauseMs });
  }

  #emitRecorded(frame: AnyFrame, pauseMs: number): void {
    this.#emit(renameIds(frame, this.#liveIds), pauseMs);
  }

  #diverge(what: string): void {
    this.#effects.push({ type: "divergence", what });
  }

  /** Reports how a line differs from the tape. Reports nothing if both are equal. */
  #report(name: string, { difference, uncompared }: LineComparison): void {
    if (difference !== undefined) return this.#diverge(`${name}: ${difference}`);
    if (uncompared === undefined) return;
    const what = `${name} was not compared in whole: ${uncompared}`;
    this.#effects.push({ type: "uncompared", what });
  }

  /** An awaited step, for a report. */
  #nameOf(step: WaitStep): string {
    switch (step.kind) {
      case "message":
        return `message ${this.#messagesTaken + 1}`;
      case "request":
        return `request ${this.#requestsTaken + 1} (${step.subtype})`;
      case "stop":
        return "the signal that ends the program";
      case "answer":
        return `the answer to ${nameOfQuestion(step)}`;
    }
  }
}

/** The key of an answer. A caller may give two answers to one question before either is awaited. */
function answerKey(id: string, again: number): string {
  return `${again} ${id}`;
}

function nameOfQuestion(
  { id, subtype }: { readonly id: string; readonly subtype: string },
): string {
  return `${subtype} ${id}`;
}

/** Compares two answers. Two errors are equal whatever their texts. */
function compareAnswers(
  recorded: JsonObject,
  live: JsonObject,
  program: RecordedProgram,
): LineComparison {
  if (recorded["subtype"] === "error" && live["subtype"] === "error") return {};
  if (recorded["subtype"] !== live["subtype"]) return compareLines(recorded, live, program);
  return compareLines(recorded["response"] ?? {}, live["response"] ?? {}, program);
}

function success(request: Request, response: JsonObject): AnyFrame {
  return {
    type: "control_response",
    response: { subtype: "success", ...requestIdField(request), response },
  };
}

function failure(request: Request, error: string): AnyFrame {
  return {
    type: "control_response",
    response: { subtype: "error", ...requestIdField(request), error },
  };
}
