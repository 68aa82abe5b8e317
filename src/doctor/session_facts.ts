import type { Entry } from "../transcript/entry.ts";

/** What a session's transcript tells about where its requests came from and who answered. */
export interface SessionFacts {
  /** The entrypoint Claude Code reports: its requests name the same (2.1.168, 2.1.197 and 2.1.330). */
  readonly entrypoint: string | undefined;
  readonly model: string | undefined;
}

/** Reads the facts from a transcript; of the model the last counts. */
export function sessionFacts(entries: readonly Entry[]): SessionFacts {
  let entrypoint: string | undefined;
  let model: string | undefined;
  for (const entry of entries) {
    if (entry.type === "other") continue;
    const named = entry["entrypoint"];
    if (typeof named === "string") entrypoint ??= named;
    if (entry.type === "assistant") model = entry.message.model;
  }
  return { entrypoint, model };
}
