/** What a server says to the client of a run. */
export type ServerMessage =
  /** It does not carry the run out, and has done nothing for it. */
  | { readonly type: "refused"; readonly reason: string }
  /** It has read all that it needs to begin. */
  | { readonly type: "taken" }
  /** Whatever comes next is seen by somebody: it waits for a "go". */
  | { readonly type: "ready" }
  /** The run is over, and nothing is left of it. */
  | { readonly type: "exit"; readonly code: number };
