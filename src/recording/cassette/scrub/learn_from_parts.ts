import type { ParsedLine } from "../read/parse_lines.ts";
import type { TraceCollector } from "../../redaction/traces/learn_traces.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";

/** Who learns from what a part holds. */
type Learner = Pick<TraceCollector, "text" | "value">;

/** Learns of whom a cast tells: by its header, its inputs and what was done. */
export function learnFromCast(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    const [, code, data] = Array.isArray(value) ? value as readonly unknown[] : [];
    if (code === undefined) collector.value(value);
    else if ((code === "h" || code === "d") && typeof data === "string") learnJson(data, collector);
  }
}

/** Learns of whom a tape tells: by its frames, and the lines of the caller. */
export function learnFromTape(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    collector.value(value);
    const { data } = Object(value) as { readonly data?: unknown };
    if (typeof data === "string") learnJson(data, collector);
  }
}

/** Learns from a text of JSON, if it is one. */
function learnJson(text: string, collector: Learner): void {
  if (isTooDeep(text)) return;
  try {
    collector.value(JSON.parse(text));
  } catch {
    collector.text(text);
  }
}
