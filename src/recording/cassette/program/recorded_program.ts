import { CliError } from "../../../cli_error.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isSessionId } from "../../../claude/transcript/session_files.ts";
import { framesOn, type TapeEntry } from "../cassette_format.ts";
import { parseRequestId } from "../../../claude/wire/control.ts";
import { type LiveRedaction, parseCallerLine } from "./caller_lines.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { definedFields } from "../../../defined_fields.ts";

/**
 * How a replay treats the questions that the recorded program asked its caller. The names are those of
 * `claude-agent-cassette`.
 *
 * - `inert`: does not ask them, and ignores the recorded answers
 * - `stub`: does not ask them, and takes the answers from the tape, which must have one for each question
 * - `verify`: asks them, and compares the live answers with the tape
 */
export type ReplayMode = "inert" | "stub" | "verify";

/** A step of a recorded program. `at` is the time on the tape in milliseconds. */
export type ProgramStep = EmitStep | WaitStep;

/** A step at which the program emits a frame. */
export type EmitStep =
  | { readonly kind: "frame"; readonly at: number; readonly frame: AnyFrame }
  /** A question to the caller. */
  | {
    readonly kind: "ask";
    readonly at: number;
    readonly id: string;
    readonly request: JsonObject;
    readonly frame: AnyFrame;
  }
  /** The reply to the caller's request of this id. */
  | { readonly kind: "reply"; readonly at: number; readonly id: string; readonly frame: AnyFrame };

/** A step at which the program waits for its caller. */
export type WaitStep =
  /** Waits for a prompt; `message` is absent if the tape does not have it. */
  | {
    readonly kind: "message";
    readonly at: number;
    readonly message?: JsonObject;
    readonly uuid?: string;
  }
  | {
    readonly kind: "request";
    readonly at: number;
    readonly id: string;
    readonly subtype: string;
    readonly request: JsonObject;
  }
  /** Waits for the answer to the question of this id. */
  | {
    readonly kind: "answer";
    readonly at: number;
    readonly id: string;
    /** The number of earlier answers to the same question. */
    readonly again: number;
    readonly subtype: string;
    readonly response: JsonObject;
  }
  /** Waits for the signal by which the caller ended the program. */
  | { readonly kind: "stop"; readonly at: number };

interface ProgramExit {
  readonly code: number;
  /** The text that the program wrote to stderr. */
  readonly stderr?: string;
}

/** The program from which a tape was recorded. */
export interface RecordedProgram {
  readonly steps: readonly ProgramStep[];
  /** How the program ended. If absent, the last result decides. */
  readonly exit?: ProgramExit;
  /** False if the program ended because its input ended. */
  readonly endsByItself: boolean;
  /** The session id in the program's first `system/init`. */
  readonly sessionId?: string;
  /** The version of Claude Code that the program printed. */
  readonly version?: string;
  /** Whether the text of every prompt is known. */
  readonly knowsPrompts: boolean;
  /** The removed parts of the tape, in addition to secrets, as `meta.json` lists them. */
  readonly blanked: readonly string[];
  /** Removes from the live caller's lines what was removed from the tape (`blanked`); absent if that is impossible. */
  readonly redaction?: LiveRedaction;
}

/** The known facts about a recorded program in addition to its tape, and how to play it. */
export interface ProgramOptions {
  readonly mode: ReplayMode;
  /** Whether to leave out the control protocol, for a caller that sends one prompt and reads. */
  readonly plain?: boolean;
  /** The prompts, for a tape that does not have them. */
  readonly prompts?: readonly string[];
  readonly exit?: ProgramExit;
  /** Whether the program ended because its input ended; absent if unknown. */
  readonly inputEnded?: boolean;
  readonly version?: string;
  readonly blanked?: readonly string[];
  readonly redaction?: LiveRedaction;
  /** The tape's file, for errors. */
  readonly path: string;
}

/** The end of a program whose tape stops in the middle of a turn. */
const CUT: ProgramExit = {
  code: 1,
  stderr: "claude-print: The tape ends here, in the middle of a turn\n",
};

/** The questions that a program may ask its caller. */
const QUESTIONS: ReadonlySet<unknown> = new Set(["can_use_tool", "hook_callback", "mcp_message"]);

/**
 * Turns a tape into a program, and checks the complete tape before it is played.
 *
 * @throws {CliError} if the tape has an entry that a replay does not understand
 */
export function recordedProgram(
  tape: readonly TapeEntry[],
  options: ProgramOptions,
): RecordedProgram {
  const all = readSteps(tape, options);
  const known = exitOn(tape) ?? options.exit;
  const hasCaller = all.some(({ kind }) => kind === "message" || kind === "request");
  // A tape that holds only an end comes from a program that failed before its first message.
  const isComplete = hasCaller || (all.length === 0 && known !== undefined);
  const steps = selectSteps(isComplete ? all : addPrompts(all, options.prompts ?? []), options);
  const lastMessage = steps.findLastIndex(({ kind }) => kind === "message");
  const isCut = lastMessage !== -1 && !steps.slice(lastMessage + 1).some(isResult);
  const exit = known ?? (isCut ? CUT : undefined);
  const init = framesOn(tape).find(({ frame }) => isInit(frame))?.frame;
  const sessionId = init?.["session_id"];
  const printed = init?.["claude_code_version"];
  const version = options.version ?? (typeof printed === "string" ? printed : undefined);
  return {
    steps,
    ...definedFields({ exit, version, redaction: options.redaction }),
    endsByItself: exitOn(tape) !== undefined || isCut || options.inputEnded === false,
    ...(isSessionId(sessionId) ? { sessionId } : {}),
    blanked: options.blanked ?? [],
    knowsPrompts: steps.every((step) => step.kind !== "message" || step.message !== undefined),
  };
}

/** All steps on a tape, in order. */
function readSteps(
  tape: readonly TapeEntry[],
  options: ProgramOptions,
): readonly ProgramStep[] {
  const reader = new StepReader(options, { hasCaller: tape.some(({ dir }) => dir === "write") });
  return tape.flatMap((entry, index): ProgramStep | readonly ProgramStep[] => {
    try {
      return entry.dir === "write"
        ? entry.data.split("\n").flatMap((line) => reader.callerStep(line, entry.at) ?? [])
        : reader.emitStep(entry.frame, entry.at) ?? [];
    } catch (error) {
      if (!(error instanceof UnplayableError)) throw error;
      throw unplayable(error.message, { path: options.path, line: index + 1 });
    }
  });
}

/** An entry of a tape that cannot be replayed. The message describes the entry. */
class UnplayableError extends Error {}

/** Reads the entries of one tape in order, and matches answers with questions and replies with requests. */
class StepReader {
  readonly #mode: ReplayMode;
  readonly #hasCaller: boolean;
  readonly #requests = new CallerRequests();
  /** Subtypes of the program's questions by id. */
  readonly #questions = new Map<string, string>();
  /** The number of answers to each question. */
  readonly #answerCounts = new Map<string, number>();

  constructor(
    { mode }: Pick<ProgramOptions, "mode">,
    { hasCaller }: { readonly hasCaller: boolean },
  ) {
    this.#mode = mode;
    this.#hasCaller = hasCaller;
  }

  /** The step that waits for a line of the caller; undefined for a line that needs none. */
  callerStep(line: string, at: number): WaitStep | undefined {
    const written = parseCallerLine(line);
    switch (written?.kind) {
      case undefined:
      case "ignored":
        return undefined;
      case "unknown":
        throw new UnplayableError(written.what);
      case "message":
        return { at, ...written };
      case "request":
        return { at, ...written, id: this.#requests.open(written.id) };
      case "answer": {
        const subtype = this.#questions.get(written.id);
        if (subtype === undefined) {
          throw new UnplayableError("a control response to nothing that was asked");
        }
        const again = this.#answerCounts.get(written.id) ?? 0;
        this.#answerCounts.set(written.id, again + 1);
        return { at, ...written, subtype, again };
      }
    }
  }

  /** The step that emits a frame. Undefined for a control response if the tape does not hold the caller's requests. */
  emitStep(frame: AnyFrame, at: number): EmitStep | undefined {
    switch (frame.type) {
      case "control_request":
        return this.#question(frame, at);
      case "control_response": {
        const { response } = frame;
        if (!isJsonObject(response)) throw new UnplayableError("a control response to nothing");
        const id = this.#requests.answer(parseRequestId(response).id);
        if (id !== undefined) return { kind: "reply", at, id, frame };
        if (!this.#hasCaller) return undefined;
        throw new UnplayableError("a control response to a request that is not on the tape");
      }
      default:
        return { kind: "frame", at, frame };
    }
  }

  #question(frame: AnyFrame, at: number): EmitStep {
    const { request_id: id, request } = frame;
    if (!isJsonObject(request) || typeof request["subtype"] !== "string") {
      throw new UnplayableError("a control request without a subtype");
    }
    if (typeof id !== "string") throw new UnplayableError("a control request without an id");
    if (this.#mode !== "inert" && !QUESTIONS.has(request["subtype"])) {
      throw new UnplayableError(`${UNKNOWN_QUESTION} "${request["subtype"]}"`);
    }
    if (this.#questions.has(id)) {
      throw new UnplayableError("a question with the id of another one");
    }
    this.#questions.set(id, request["subtype"]);
    return { kind: "ask", at, id, request, frame };
  }
}

/** The requests of a caller. Several may have the same id, or none. The first of them is answered first. */
class CallerRequests {
  readonly #byId = new Map<string, { unanswered: string[]; last: string; count: number }>();
  readonly #names = new Set<string>();

  /** Adds a request. Returns a unique name for it: the id, or the id and a number. */
  open(id: string): string {
    const same = this.#byId.get(id) ?? { unanswered: [], last: id, count: 0 };
    this.#byId.set(id, same);
    let name: string;
    do name = ++same.count === 1 ? id : `${id} ${same.count}`; while (this.#names.has(name));
    this.#names.add(name);
    same.unanswered.push(name);
    return name;
  }

  /** The name of the request that a reply to this id answers; undefined if there was none. */
  answer(id: string): string | undefined {
    const same = this.#byId.get(id);
    if (same !== undefined) same.last = same.unanswered.shift() ?? same.last;
    return same?.last;
  }
}

/** Makes each turn of a tape without caller lines wait for a message. */
function addPrompts(
  steps: readonly ProgramStep[],
  prompts: readonly string[],
): readonly ProgramStep[] {
  const messageAt = (turn: number, at: number): WaitStep => {
    const text = prompts[turn];
    return {
      kind: "message",
      at,
      ...(text === undefined ? {} : { message: { role: "user", content: text } }),
    };
  };
  if (steps.length === 0) return [messageAt(0, 0)];
  let isBetweenTurns = true;
  let turn = 0;
  return steps.flatMap((step) => {
    const begins = turn === 0 || (isBetweenTurns && step.kind === "frame" && isInit(step.frame));
    const before = begins ? [messageAt(turn++, step.at)] : [];
    if (begins) isBetweenTurns = false;
    if (isResult(step)) isBetweenTurns = true;
    return "frame" in step ? [...before, step] : before;
  });
}

/** The steps that are played in a mode. */
function selectSteps(
  steps: readonly ProgramStep[],
  { mode, plain = false, path }: ProgramOptions,
): readonly ProgramStep[] {
  const isAsked = mode === "verify" && !plain;
  if (mode === "stub") requireDecisions(steps, path);
  const questions = new Set<string | undefined>(
    steps.flatMap((step) => step.kind === "ask" ? [step.id] : []),
  );
  const withStops = plain
    ? steps
    : steps.flatMap((step) =>
      isStopped(step) ? [{ kind: "stop", at: step.at } as const, step] : [step]
    );
  return withStops.filter((step) => {
    switch (step.kind) {
      case "ask":
      case "answer":
        return isAsked;
      case "request":
      case "reply":
        return !plain;
      case "message":
      case "stop":
        return true;
      case "frame":
        return isAsked || !questions.has(cancelledQuestion(step));
    }
  });
}

/** The question that a step cancels. */
function cancelledQuestion(step: ProgramStep): string | undefined {
  return step.kind === "frame" && step.frame.type === "control_cancel_request"
    ? asText(step.frame["request_id"])
    : undefined;
}

/** Questions of a program that neither its caller answered nor the program cancelled. */
export function unansweredQuestions(
  { steps }: RecordedProgram,
): readonly Extract<EmitStep, { readonly kind: "ask" }>[] {
  const settled = new Set(
    steps.flatMap((step) => step.kind === "answer" ? step.id : cancelledQuestion(step) ?? []),
  );
  return steps.filter((step) => step.kind === "ask").filter(({ id }) => !settled.has(id));
}

/**
 * Requires a successful answer to each question that the program did not cancel, because `stub` decides with these
 * answers.
 */
function requireDecisions(steps: readonly ProgramStep[], path: string): void {
  const answers = new Map(
    steps.flatMap((step) => step.kind === "answer" ? [[step.id, step.response] as const] : []),
  );
  const cancelled = new Set(steps.map(cancelledQuestion));
  for (const step of steps) {
    if (step.kind !== "ask" || cancelled.has(step.id)) continue;
    const answer = answers.get(step.id);
    if (answer?.["subtype"] === "success") continue;
    const subtype = asText(step.request["subtype"]);
    const why = answer === undefined ? "the tape has no answer to it" : "its answer is an error";
    throw new CliError(
      `Cannot replay ${path} with --mode stub: the question "${subtype}" has no decision, ${why}`,
      {
        suggestion: "Use --mode inert, which asks nothing, or --mode verify, which asks the caller",
      },
    );
  }
}

function exitOn(tape: readonly TapeEntry[]): ProgramExit | undefined {
  const last = tape.at(-1);
  return last?.dir === "write" ? last.exit : undefined;
}

function isResult(step: ProgramStep): boolean {
  return step.kind === "frame" && step.frame.type === "result";
}

/** Whether a step is the result of a turn that a signal to the program ended. */
function isStopped(step: ProgramStep): boolean {
  return step.kind === "frame" && isResult(step) && step.frame["subtype"] === "interrupted";
}

function isInit({ type, subtype }: JsonObject): boolean {
  return type === "system" && subtype === "init";
}

const UNKNOWN_QUESTION = "a question of the kind";

function unplayable(
  what: string,
  { path, line }: { readonly path: string; readonly line: number },
): CliError {
  return new CliError(`Cannot replay ${path}: entry ${line} is ${what}, which cannot be replayed`, {
    suggestion: what.startsWith(UNKNOWN_QUESTION)
      ? "Use --mode inert, which asks nothing, or a later claude-print"
      : "Record it again, or use a later claude-print",
  });
}
