import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ProgramStep, RecordedProgram, WaitStep } from "./recorded_program.ts";

type RequestStep = Extract<WaitStep, { readonly kind: "request" }>;
export type ReplyStep = Extract<ProgramStep, { readonly kind: "reply" }>;

/** Positions in a program's steps that a play looks up often. */
export interface ProgramIndex {
  /** The caller's requests, in order. */
  readonly requests: readonly RequestStep[];
  readonly hasInitialize: boolean;
  /** For each step, the number of frames and questions before it. Replies do not count. */
  readonly emittedBefore: ArrayLike<number>;
  /** The first reply to each request, by the request's id. */
  readonly replies: ReadonlyMap<string, PlacedReply>;
  /** The same replies, by the number of frames and questions before them. */
  readonly repliesAfter: ReadonlyMap<number, readonly PlacedReply[]>;
}

/** A reply and its position among the steps. */
interface PlacedReply {
  readonly index: number;
  readonly step: ReplyStep;
}

export function indexProgram({ steps }: RecordedProgram): ProgramIndex {
  const requests: RequestStep[] = [];
  const emittedBefore = new Uint32Array(steps.length);
  const replies = new Map<string, PlacedReply>();
  let emitted = 0;
  for (const [index, step] of steps.entries()) {
    emittedBefore[index] = emitted;
    if (step.kind === "frame" || step.kind === "ask") emitted++;
    if (step.kind === "request") requests.push(step);
    if (step.kind === "reply" && !replies.has(step.id)) replies.set(step.id, { index, step });
  }
  return {
    requests,
    hasInitialize: requests.some(({ subtype }) => subtype === "initialize"),
    emittedBefore,
    replies,
    repliesAfter: Map.groupBy(replies.values(), ({ index }) => emittedBefore[index] ?? 0),
  };
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/giu;

/**
 * Replaces ids in a JSON value. A text that is an id is replaced as a whole. A UUID is also replaced inside a text,
 * such as a path.
 */
export function renameIds<Value>(value: Value, ids: ReadonlyMap<string, string>): Value {
  if (ids.size === 0) return value;
  // Each text is searched once for all ids, because a tape may have as many ids as texts.
  const rename = (each: unknown): unknown => {
    if (typeof each === "string") {
      return ids.get(each) ?? each.replace(UUID, (id) => ids.get(id) ?? id);
    }
    if (Array.isArray(each)) return each.map(rename);
    if (!isJsonObject(each)) return each;
    return Object.fromEntries(Object.entries(each).map(([name, field]) => [name, rename(field)]));
  };
  return rename(value) as Value;
}

/**
 * Finds the live callback id for each recorded one. An SDK numbers its hooks, so an additional hook changes the ids of
 * the others. Two hooks match if they have the same position in the same event.
 *
 * @param recorded the `initialize` request on the tape
 * @param live the `initialize` request of this run
 * @returns live ids by recorded id, without the hooks that the live caller lacks
 */
export function matchHooks(recorded: JsonObject, live: JsonObject): ReadonlyMap<string, string> {
  const liveIds = new Map(hooksOf(live).map(({ place, id }) => [place, id]));
  return new Map(
    hooksOf(recorded).flatMap(({ place, id }) => {
      const liveId = liveIds.get(place);
      return liveId === undefined ? [] : [[id, liveId] as const];
    }),
  );
}

function hooksOf(
  { hooks }: JsonObject,
): readonly { readonly place: string; readonly id: string }[] {
  if (!isJsonObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : []).flatMap((matcher, index) => {
      const ids = isJsonObject(matcher) ? matcher["hookCallbackIds"] : undefined;
      return (Array.isArray(ids) ? ids : []).flatMap((id, inner) =>
        typeof id === "string" ? [{ place: `${event}/${index}/${inner}`, id }] : []
      );
    })
  );
}
