import { isJsonObject } from "../../../json_object.ts";

/** What a session did at a moment, so that two runs can be compared. */
export interface Deeds {
  /** What it typed, without answers to the terminal's queries. */
  readonly typed: string;
  /** Those answers, in alphabetical order: which of them comes first depends on how the output was cut. */
  readonly replies: readonly string[];
  /** Whatever else reached the outside, as JSON with the names of fields in alphabetical order. */
  readonly others: readonly string[];
}

/** An effect that reaches the outside: keys as text, or a look, a signal, a size or the end as the machine says it. */
export type OuterEffect =
  | { readonly type: "write"; readonly text: string }
  | {
    readonly type:
      | "look"
      | "answer"
      | "deliver"
      | "mcp-message"
      | "consult"
      | "kill"
      | "resize"
      | "list-shells"
      | "follow-shell"
      | "leave-shell"
      | "report"
      | "end";
  };

/** What a terminal types by itself: reports on its attributes, its cursor and its size. */
// deno-lint-ignore no-control-regex
const REPLY = /\x1b(?:\[[?>]?[\d;]*[cRnt]|P[^\x1b]*\x1b\\)/gu;

/** Sums up effects in the order in which they were done. */
export function deedsOf(effects: readonly OuterEffect[]): Deeds {
  const typed = effects.map((effect) => effect.type === "write" ? effect.text : "").join("");
  return {
    typed: typed.replace(REPLY, ""),
    replies: (typed.match(REPLY) ?? []).toSorted(),
    others: effects.filter(({ type }) => type !== "write").map(canonicalJson),
  };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, item: unknown) =>
      isJsonObject(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => a < b ? -1 : 1))
        : item,
  );
}
