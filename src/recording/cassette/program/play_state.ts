import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import type { GivenId } from "../../../claude/wire/request_id.ts";
import type { Renamed } from "./as_told.ts";
import { type GrownMap, grownMap } from "./grown_map.ts";
import { type ProgramPlan, programPlan } from "./program_plan.ts";
import type { RecordedProgram } from "./recorded_program.ts";
import type { Written } from "./caller_lines.ts";

type Message = Extract<Written, { readonly kind: "message" }>;
type Answer = Extract<Written, { readonly kind: "answer" }>;
/** A request that it has written. */
export type Request = Extract<Written, { readonly kind: "request" }>;

/** What is played of a program, and what its caller has written ahead of its turn. */
export interface PlayState {
  readonly program: RecordedProgram;
  readonly plan: ProgramPlan;
  /** The next step. */
  readonly next: number;
  /** What was written and not yet waited for: messages and requests by their numbers, from 0 on. */
  readonly messages: GrownMap<number, Message>;
  readonly requests: GrownMap<number, Request & { readonly isRefused: boolean }>;
  /** Answers by `answerKey()`, and how often each question has been answered. */
  readonly answers: GrownMap<string, Answer>;
  readonly answered: GrownMap<string, number>;
  /** Messages that were waited for, and requests. */
  readonly messagesTaken: number;
  readonly requestsTaken: number;
  /** Those requests of the tape whose reply on it has not been given, and the ids that they have in this run. */
  readonly open: GrownMap<string, GivenId>;
  /** How much had been said, and how many requests were taken, when last it was looked what can be replied early. */
  readonly looked: { readonly said: number; readonly requests: number };
  /** Ids of the tape in those of this run, and the other way round. */
  readonly renamed: Renamed;
  readonly recorded: Renamed;
  /** By their names on the tape, what this caller calls its hooks; absent before it has said so. */
  readonly hooks?: ReadonlyMap<string, string>;
  /** Questions that could not be asked, and those that were taken back. */
  readonly unasked: GrownMap<string, true>;
  readonly cancelled: GrownMap<string, true>;
  readonly asked: GrownMap<string, true>;
  /** Whether the caller's input has ended. */
  readonly closed: boolean;
  /** Whether it has ended the program by a signal. */
  readonly stopped: boolean;
  /** The exit code that the last result means. */
  readonly resultCode: number;
  readonly ended: boolean;
}

/** By what an answer is known, of those to the same question too: whoever answers twice may do so at once. */
export function answerKey(id: string, again: number): string {
  return `${again} ${id}`;
}

/** What a program is told. */
export type PlayInput =
  | { readonly type: "start" }
  | { readonly type: "line"; readonly line: string }
  | { readonly type: "closed" }
  /** The caller ends the program by a signal. */
  | { readonly type: "stopped" }
  /** The caller has had its time. */
  | { readonly type: "impatient" };

/** What is done then. */
export type PlayEffect =
  /** Something is said, so many milliseconds after what came before it on the tape. */
  | { readonly type: "say"; readonly frame: AnyFrame; readonly pauseMs: number }
  /** The caller does not do what it did. */
  | { readonly type: "divergence"; readonly what: string }
  /** The caller does something that cannot be compared with what it did. */
  | { readonly type: "uncompared"; readonly what: string }
  | { readonly type: "end"; readonly code: number; readonly stderr?: string };

/** A state and what came of it. */
export interface Played {
  readonly state: PlayState;
  readonly effects: readonly PlayEffect[];
}

/**
 * A program before it has said anything.
 *
 * @param options.sessionId the session that this run is to have
 */
export function startPlay(
  program: RecordedProgram,
  { sessionId }: { readonly sessionId?: string } = {},
): PlayState {
  const renamed = sessionId === undefined || program.sessionId === undefined ||
      program.sessionId === sessionId
    ? []
    : [[program.sessionId, sessionId] as const];
  return {
    program,
    plan: programPlan(program),
    next: 0,
    messages: grownMap(),
    requests: grownMap(),
    answers: grownMap(),
    answered: grownMap(),
    messagesTaken: 0,
    requestsTaken: 0,
    open: grownMap(),
    looked: { said: -1, requests: 0 },
    renamed: grownMap(renamed),
    recorded: grownMap(renamed.map(([from, to]) => [to, from])),
    unasked: grownMap(),
    cancelled: grownMap(),
    asked: grownMap(),
    closed: false,
    stopped: false,
    resultCode: 0,
    ended: false,
  };
}
