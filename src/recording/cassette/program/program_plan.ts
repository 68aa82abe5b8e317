import type { ProgramStep, RecordedProgram, WaitStep } from "./recorded_program.ts";

type RequestStep = Extract<WaitStep, { readonly kind: "request" }>;
/** The reply to a request. */
export type ReplyStep = Extract<ProgramStep, { readonly kind: "reply" }>;

/** What is asked of a program's steps again and again while it is played, found once. */
export interface ProgramPlan {
  /** The requests, in their order. */
  readonly requests: readonly RequestStep[];
  /** Whether one of them is `initialize`. */
  readonly isInitialized: boolean;
  /** How often the program has said something of its own accord ahead of each step. */
  readonly said: ArrayLike<number>;
  /** The replies by the ids of their requests, and where each stands. */
  readonly replies: ReadonlyMap<string, PlacedReply>;
  /** Those between which nothing else is said, by how often that was so ahead of them. */
  readonly repliesBehind: ReadonlyMap<number, readonly PlacedReply[]>;
}

/** A reply, and where among the steps it stands. */
export interface PlacedReply {
  readonly index: number;
  readonly step: ReplyStep;
}

/** Goes through a program once. */
export function programPlan({ steps }: RecordedProgram): ProgramPlan {
  const requests: RequestStep[] = [];
  const said = new Uint32Array(steps.length);
  const replies = new Map<string, PlacedReply>();
  const repliesBehind = new Map<number, PlacedReply[]>();
  let count = 0;
  for (const [index, step] of steps.entries()) {
    said[index] = count;
    if (step.kind === "frame" || step.kind === "ask") count++;
    if (step.kind === "request") requests.push(step);
    if (step.kind !== "reply" || replies.has(step.id)) continue;
    const placed = { index, step };
    replies.set(step.id, placed);
    const others = repliesBehind.get(count);
    if (others === undefined) repliesBehind.set(count, [placed]);
    else others.push(placed);
  }
  const isInitialized = requests.some(({ subtype }) => subtype === "initialize");
  return { requests, isInitialized, said, replies, repliesBehind };
}
