import type { JsonObject } from "../../transcript/json_object.ts";
import type { AnyFrame } from "../../wire/frame.ts";
import type { Renamed } from "./as_told.ts";
import type { RecordedProgram, WaitStep } from "./program_step.ts";
import type { Written } from "./written.ts";

type Message = Extract<Written, { readonly kind: "message" }>;
/** A request that it has written. */
export type Request = Extract<Written, { readonly kind: "request" }>;

/** What is played of a program, and what its caller has written ahead of its turn. */
export interface PlayState {
  readonly program: RecordedProgram;
  /** The next step. */
  readonly next: number;
  /** What was written and not yet waited for. */
  readonly messages: readonly Message[];
  readonly requests: readonly (Request & { readonly isRefused: boolean })[];
  readonly answers: ReadonlyMap<string, JsonObject>;
  /** Messages that were waited for, and requests. */
  readonly messagesTaken: number;
  readonly requestsTaken: number;
  /** The requests of the tape, in their order. */
  readonly expected: readonly Extract<WaitStep, { readonly kind: "request" }>[];
  /** The ids of those requests of the tape that have a reply on it. */
  readonly withReply: ReadonlySet<string>;
  /** The ids of this run for those requests of the tape that have a reply, and which have had it. */
  readonly requestIds: Renamed;
  readonly replied: ReadonlySet<string>;
  readonly renamed: Renamed;
  /** By their names on the tape, what this caller calls its hooks; absent before it has said so. */
  readonly hooks?: ReadonlyMap<string, string>;
  /** Questions that could not be asked, and those that were taken back. */
  readonly unasked: ReadonlySet<string>;
  readonly cancelled: ReadonlySet<string>;
  readonly asked: ReadonlySet<string>;
  /** Whether the caller's input has ended. */
  readonly closed: boolean;
  /** The exit code that the last result means. */
  readonly resultCode: number;
  readonly ended: boolean;
}

/** What a program is told. */
export type PlayInput =
  | { readonly type: "start" }
  | { readonly type: "line"; readonly line: string }
  | { readonly type: "closed" }
  /** The caller has had its time. */
  | { readonly type: "impatient" };

/** What is done then. */
export type PlayEffect =
  /** Something is said, so many milliseconds after what came before it on the tape. */
  | { readonly type: "say"; readonly frame: AnyFrame; readonly pauseMs: number }
  /** The caller does not do what it did. */
  | { readonly type: "divergence"; readonly what: string }
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
  const isRenamed = sessionId !== undefined && program.sessionId !== undefined &&
    program.sessionId !== sessionId;
  return {
    program,
    next: 0,
    messages: [],
    requests: [],
    answers: new Map(),
    messagesTaken: 0,
    requestsTaken: 0,
    expected: program.steps.filter((step) => step.kind === "request"),
    withReply: new Set(program.steps.flatMap((step) => step.kind === "reply" ? [step.id] : [])),
    requestIds: new Map(),
    replied: new Set(),
    renamed: new Map(isRenamed ? [[program.sessionId, sessionId]] : []),
    unasked: new Set(),
    cancelled: new Set(),
    asked: new Set(),
    closed: false,
    resultCode: 0,
    ended: false,
  };
}
