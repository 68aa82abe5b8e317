import { createTraceFinder, type Trace } from "./find_traces.ts";
import type { Fill } from "./fill_trace.ts";
import type { KnownTraces } from "./known_traces.ts";
import { blankText } from "./blanked/blank_text.ts";

/** Takes traces of a machine and of who sits at it out of texts. */
export interface TraceScrubber {
  readonly text: (text: string) => string;
  /** A JSON value, with the names of its fields and what some of these say to be somebody's. */
  readonly value: <Value>(value: Value) => Value;
  /** A text that was cut into pieces, as many pieces of what it becomes, cut at the same places. */
  readonly pieces: (pieces: readonly string[]) => readonly string[];
  /** As of `TraceFinder`. */
  readonly openFrom: (text: string) => number;
  /** Its traces, and what stands for each. */
  readonly filled: (text: string) => readonly (Trace & { readonly fill: string })[];
}

/** Fields that tell whose account it is, by numbers and by names; a `display_name` is that of a tool. */
const IDS = /^(?:account|organization|user|device)_?(?:uu)?id$/iu;
const NAMES = /^(?:organization_?name|displayname|full_?name|hostname)$/iu;
const NUMBER = /^[\da-f-]{32,64}$/iu;

/** Creates what takes traces out of texts, and puts what `fill` says in their place. */
export function createTraceScrubber(known: KnownTraces, fill: Fill): TraceScrubber {
  const { find, openFrom } = createTraceFinder(known);
  const filled = (text: string) =>
    find(text).map((trace) => ({
      ...trace,
      fill: fill(text.slice(trace.start, trace.end), trace.kind),
    }));
  const scrub = (text: string) => {
    let kept = "";
    let from = 0;
    for (const { start, end, fill } of filled(text)) {
      kept += text.slice(from, start) + fill;
      from = end;
    }
    return from === 0 ? text : kept + text.slice(from);
  };
  return {
    text: scrub,
    value: (value) =>
      mapTexts(value, (text, field) => {
        if (field === undefined) return scrub(text);
        if (IDS.test(field) && NUMBER.test(text)) return text.replace(/[\da-f]/giu, "0");
        return NAMES.test(field) ? blankText(text) : scrub(text);
      }),
    pieces: (pieces) => {
      const whole = pieces.join("");
      const traces = filled(whole);
      if (traces.length === 0) return pieces;
      const parts = pieces.map(() => "");
      let index = 0;
      let end = pieces[0]?.length ?? 0;
      /** Adds what stands for the text between two places, to the pieces that these are in. */
      const add = (from: number, to: number, text: string) => {
        let rest = text;
        for (let at = from;;) {
          while (at >= end && index < pieces.length - 1) {
            index++;
            end += pieces[index]?.length ?? 0;
          }
          const length = to > end ? end - at : Infinity;
          parts[index] += rest.slice(0, length);
          rest = rest.slice(length);
          if (to <= end) return;
          at = end;
        }
      };
      let from = 0;
      for (const trace of traces) {
        add(from, trace.start, whole.slice(from, trace.start));
        add(trace.start, trace.end, trace.fill);
        from = trace.end;
      }
      add(from, whole.length, whole.slice(from));
      return parts;
    },
    openFrom,
    filled,
  };
}

/** Levels of a JSON value that are gone through: what a recording is read with takes no more. */
const MOST_DEPTH = 1000;

/**
 * A JSON value with other texts: of each string and each name of a field what a function makes of it. Where nothing
 * changes, it is the same value.
 *
 * @param change takes a text and, of one that is the value of a field, the field's name
 */
function mapTexts<Value>(value: Value, change: Change): Value {
  return mapped(value, change, { depth: 0 }) as Value;
}

type Change = (text: string, field?: string) => string;

function mapped(
  value: unknown,
  change: Change,
  { field, depth }: { readonly field?: string; readonly depth: number },
): unknown {
  if (typeof value === "string") return change(value, field);
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, change, { depth: depth + 1 }));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isSame = true;
  const fields = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) {
    const other = mapped(item, change, { field: name, depth: depth + 1 });
    const plain = change(name);
    let key = plain;
    // Two names that have become one are told apart: no field is lost.
    for (let number = 2; fields.has(key); number++) key = `${plain}-${number}`;
    fields.set(key, other);
    if (key !== name || other !== item) isSame = false;
  }
  return isSame ? value : Object.fromEntries(fields);
}
