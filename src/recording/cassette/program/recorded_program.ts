import { CliError } from "../../../cli_error.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isSessionId } from "../../../claude/transcript/files/session_id.ts";
import { framesOn, type TapeEntry } from "../cassette_format.ts";
import { requestId } from "../../../claude/wire/request_id.ts";
import { type LiveRedaction, readWritten } from "./caller_lines.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";

/** What is known of a recorded program besides its tape, and how it is to be played. */
export interface ProgramOptions {
  readonly mode: ReplayMode;
  /** Whether it is played without the control protocol, for a caller that sends a prompt and reads. */
  readonly plain?: boolean;
  /** What it was asked, where that is not on the tape. */
  readonly prompts?: readonly string[];
  readonly exit?: ProgramExit;
  /** Whether the end of its input was what ended it; absent where that is not known. */
  readonly inputEnded?: boolean;
  readonly version?: string;
  /** What was taken out of the tape besides secrets. */
  readonly blanked?: readonly string[];
  readonly redaction?: LiveRedaction;
  /** The tape's file, for errors. */
  readonly path: string;
}

/** How a program ends whose tape stops where it was at work. */
const CUT: ProgramExit = {
  code: 1,
  stderr: "claude-print: The tape ends here, in the middle of a turn\n",
};

/** What a program may ask its caller. */
const QUESTIONS: ReadonlySet<unknown> = new Set(["can_use_tool", "hook_callback", "mcp_message"]);

/**
 * Makes a program of a tape, and checks all of it before anything is played.
 *
 * @throws {CliError} when there is something on the tape of which a replay does not know what it means
 */
export function recordedProgram(
  tape: readonly TapeEntry[],
  options: ProgramOptions,
): RecordedProgram {
  const all = stepsOf(tape, options);
  const known = exitOn(tape) ?? options.exit;
  const isTwoWay = all.some(({ kind }) => kind === "message" || kind === "request");
  // What has nothing but an end fails before it hears anybody.
  const isWhole = isTwoWay || (all.length === 0 && known !== undefined);
  const steps = played(isWhole ? all : withPrompts(all, options.prompts ?? []), options);
  const lastMessage = steps.findLastIndex(({ kind }) => kind === "message");
  const isCut = lastMessage !== -1 && !steps.slice(lastMessage + 1).some(isResult);
  const exit = known ?? (isCut ? CUT : undefined);
  const init = framesOn(tape).find(({ frame }) => isInit(frame))?.frame;
  const sessionId = init?.["session_id"];
  const told = init?.["claude_code_version"];
  const version = options.version ?? (typeof told === "string" ? told : undefined);
  return {
    steps,
    ...(exit === undefined ? {} : { exit }),
    endsByItself: exitOn(tape) !== undefined || isCut || options.inputEnded === false,
    ...(isSessionId(sessionId) ? { sessionId } : {}),
    ...(version === undefined ? {} : { version }),
    blanked: options.blanked ?? [],
    ...(options.redaction === undefined ? {} : { redaction: options.redaction }),
    knowsPrompts: steps.every((step) => step.kind !== "message" || step.message !== undefined),
  };
}

/** All that is on a tape. */
function stepsOf(
  tape: readonly TapeEntry[],
  options: ProgramOptions,
): readonly ProgramStep[] {
  const steps: ProgramStep[] = [];
  const requests = openRequests();
  /** What the program asked, by its id, and how often each was answered. */
  const questions = new Map<string, string>();
  const answered = new Map<string, number>();
  const isWritten = tape.some(({ dir }) => dir === "write");
  for (const [index, entry] of tape.entries()) {
    const refuse = (what: string) => unknownKind(what, { ...options, line: index + 1 });
    const { at } = entry;
    if (entry.dir === "write") {
      for (const line of entry.data.split("\n")) {
        const written = readWritten(line);
        switch (written?.kind) {
          case undefined:
          case "passing":
            break;
          case "unknown":
            throw refuse(written.what);
          case "message":
            steps.push({ at, ...written });
            break;
          case "request":
            steps.push({ at, ...written, id: requests.open(written.id) });
            break;
          case "answer": {
            const subtype = questions.get(written.id);
            if (subtype === undefined) throw refuse("a control response to nothing that was asked");
            const again = answered.get(written.id) ?? 0;
            answered.set(written.id, again + 1);
            steps.push({ at, ...written, subtype, again });
            break;
          }
        }
      }
      continue;
    }
    const { frame } = entry;
    switch (frame.type) {
      case "control_request": {
        const { request_id: id, request } = frame;
        if (!isJsonObject(request) || typeof request["subtype"] !== "string") {
          throw refuse("a control request without a subtype");
        }
        if (typeof id !== "string") throw refuse("a control request without an id");
        if (options.mode !== "inert" && !QUESTIONS.has(request["subtype"])) {
          throw refuse(`a question of the kind "${request["subtype"]}"`);
        }
        if (questions.has(id)) throw refuse("a question with the id of another one");
        questions.set(id, request["subtype"]);
        steps.push({ kind: "ask", at, id, request, frame });
        break;
      }
      case "control_response": {
        const { response } = frame;
        if (!isJsonObject(response)) throw refuse("a control response to nothing");
        const id = requests.answer(requestId(response).id);
        if (id !== undefined) steps.push({ kind: "reply", at, id, frame });
        // A tape of frames alone has the answers, but not what they answer.
        else if (isWritten) {
          throw refuse("a control response to a request that is not on the tape");
        }
        break;
      }
      default:
        steps.push({ kind: "frame", at, frame });
    }
  }
  return steps;
}

/** The requests of a caller, who may give several the same id, or none: those that were made first are answered first. */
function openRequests() {
  /** By their ids: those that wait, the one that was answered last, and how many there were. */
  const known = new Map<string, { waiting: string[]; last: string; count: number }>();
  const taken = new Set<string>();
  return {
    /** By what a further request is known. */
    open: (id: string): string => {
      const same = known.get(id) ?? { waiting: [], last: id, count: 0 };
      known.set(id, same);
      let free: string;
      do free = ++same.count === 1 ? id : `${id} ${same.count}`; while (taken.has(free));
      taken.add(free);
      same.waiting.push(free);
      return free;
    },
    /** By what the request is known that is answered by its id; undefined where there is none. */
    answer: (id: string): string | undefined => {
      const same = known.get(id);
      if (same !== undefined) same.last = same.waiting.shift() ?? same.last;
      return same?.last;
    },
  };
}

/** A tape that holds nothing of its caller: each of its turns waits for a message. */
function withPrompts(
  steps: readonly ProgramStep[],
  prompts: readonly string[],
): readonly ProgramStep[] {
  let isBetween = true;
  let turn = 0;
  const begins = (step: ProgramStep) =>
    turn === 0 || (isBetween && step.kind === "frame" && isInit(step.frame));
  const told = steps.length === 0 ? [{ kind: "frame", at: 0 } as const] : steps;
  return told.flatMap((step) => {
    const said: ProgramStep[] = "frame" in step ? [step] : [];
    if (begins(step as ProgramStep)) {
      const text = prompts[turn];
      turn++;
      isBetween = false;
      said.unshift({
        kind: "message",
        at: step.at,
        ...(text === undefined ? {} : { message: { role: "user", content: text } }),
      });
    }
    if (said.some(isResult)) isBetween = true;
    return said;
  });
}

/** What of a tape is played. */
function played(
  steps: readonly ProgramStep[],
  { mode, plain = false, path }: ProgramOptions,
): readonly ProgramStep[] {
  const isAsked = mode === "verify" && !plain;
  if (mode === "stub") requireDecisions(steps, path);
  const questions = new Set(steps.flatMap((step) => step.kind === "ask" ? [step.id] : []));
  const stopped = plain
    ? steps
    : steps.flatMap((step) =>
      isStopped(step) ? [{ kind: "stop", at: step.at } as const, step] : [step]
    );
  return stopped.filter((step) => {
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
      case "frame": {
        const { type, request_id: id } = step.frame;
        return type !== "control_cancel_request" || isAsked || !questions.has(`${asText(id)}`);
      }
    }
  });
}

/** Whoever stands in for the caller needs an answer to each question that was not taken back, and one that decides. */
function requireDecisions(steps: readonly ProgramStep[], path: string): void {
  const answers = new Map(
    steps.flatMap((step) => step.kind === "answer" ? [[step.id, step] as const] : []),
  );
  const cancelled = new Set(
    steps.flatMap((step) =>
      step.kind === "frame" && step.frame.type === "control_cancel_request"
        ? [step.frame["request_id"]]
        : []
    ),
  );
  for (const step of steps) {
    if (step.kind !== "ask" || cancelled.has(step.id)) continue;
    const answer = answers.get(step.id)?.response;
    if (answer?.["subtype"] === "success") continue;
    const subtype = asText(step.request["subtype"]);
    const why = answer === undefined ? "the tape has no answer to it" : "its answer is an error";
    throw new CliError(
      `Cannot replay ${path} with --mode stub: of a question of the kind "${subtype}" nobody knows a decision, ${why}`,
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

/** Whether it says that the program was ended by a signal of whoever called it. */
function isStopped(step: ProgramStep): boolean {
  return step.kind === "frame" && isResult(step) && step.frame["subtype"] === "interrupted";
}

function isInit({ type, subtype }: JsonObject): boolean {
  return type === "system" && subtype === "init";
}

function unknownKind(
  what: string,
  { path, line }: { readonly path: string; readonly line: number },
): CliError {
  return new CliError(`Cannot replay ${path}: entry ${line} is ${what}, which cannot be replayed`, {
    suggestion: what.startsWith("a question of the kind")
      ? "Use --mode inert, which asks nothing, or a later claude-print"
      : "Record it again, or use a later claude-print",
  });
}

/**
 * What a recorded program does with the questions that it asked its caller, in the words of `claude-agent-cassette`:
 *
 * - `inert`: it does not ask them, and what was answered plays no part
 * - `stub`: it does not ask them, and takes the answers from the tape, which has to have one for each
 * - `verify`: it asks them, and compares what is answered with the tape
 */
export type ReplayMode = "inert" | "stub" | "verify";

/** A step of a recorded program: something that it says, or something that it waits for. `at` as on the tape. */
export type ProgramStep =
  | { readonly kind: "frame"; readonly at: number; readonly frame: AnyFrame }
  /** A question to the caller. */
  | {
    readonly kind: "ask";
    readonly at: number;
    readonly id: string;
    readonly request: JsonObject;
    readonly frame: AnyFrame;
  }
  /** The answer to a request of the caller that had this id. */
  | { readonly kind: "reply"; readonly at: number; readonly id: string; readonly frame: AnyFrame }
  | WaitStep;

/** What a program waits for. */
export type WaitStep =
  /** A message; `message` is absent where the tape does not know what it said. */
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
  /** The answer to the question of this id. */
  | {
    readonly kind: "answer";
    readonly at: number;
    readonly id: string;
    /** How often that question had been answered before. */
    readonly again: number;
    readonly subtype: string;
    readonly response: JsonObject;
  }
  /** The signal by which the caller ended the program. */
  | { readonly kind: "stop"; readonly at: number };

/** How a recorded program ended. */
interface ProgramExit {
  readonly code: number;
  /** What it said on stderr. */
  readonly stderr?: string;
}

/** A tape as the program that it was recorded of. */
export interface RecordedProgram {
  readonly steps: readonly ProgramStep[];
  /** How it ended, where that is known; otherwise as its last result says. */
  readonly exit?: ProgramExit;
  /** Whether it ended by itself: one that did not waits for the end of its input. */
  readonly endsByItself: boolean;
  /** The session that it told, where it told any. */
  readonly sessionId?: string;
  /** The version of Claude Code that it said it is. */
  readonly version?: string;
  /** Whether the tape holds what its caller wrote, or what it was asked is known otherwise. */
  readonly knowsPrompts: boolean;
  /** What was taken out of the tape besides secrets, as `meta.json` says. */
  readonly blanked: readonly string[];
  /** Takes out of what is written what was taken out of the tape, where that can be done. */
  readonly redaction?: LiveRedaction;
}
