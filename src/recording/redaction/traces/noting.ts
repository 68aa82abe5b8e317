import type { Fill } from "./fill_trace.ts";
import type { Trace } from "./find_traces.ts";

/** Fills as another one does, and notes the kind of each trace that is not as it fills it. */
export function noting(fill: Fill, note: ((kind: Trace["kind"]) => void) | undefined): Fill {
  if (note === undefined) return fill;
  return (text, kind) => {
    const filled = fill(text, kind);
    if (filled !== text) note(kind);
    return filled;
  };
}
