/** Facts that control finds out and output prints. Both hold the same object, and only control replaces it. */
export interface SharedFacts {
  /** The decisions about calls that needed a permission, by the ids of the calls. */
  readonly decisions: ReadonlyMap<string, CallDecision>;
  /** The caller's ids of prompts, by the ids in the transcript. */
  readonly givenIds: ReadonlyMap<string, string>;
  /** The connections to MCP servers, by the servers' names. */
  readonly servers: Readonly<Record<string, "connected" | "failed">>;
}

/**
 * The decision about a call that needs a permission.
 *
 * - `failed`: the caller could not be asked, or its answer is invalid
 * - `withdrawn`: the turn was stopped first
 * - `forbidden`: a hook of the caller forbade the call
 * - `late`: a hook of the caller did not answer in time, or the prompt tool has failed
 * - `gone`: the caller has gone, and its hook could have forbidden the call
 * - `unasked`: a hook of the caller wanted the user to be asked, which is impossible
 */
export type CallDecision =
  | "accepted"
  | "rejected"
  | "failed"
  | "withdrawn"
  | "forbidden"
  | "late"
  | "gone"
  | "unasked";

/** The model before the first input. */
export function noFacts(): SharedFacts {
  return { decisions: new Map(), givenIds: new Map(), servers: {} };
}
