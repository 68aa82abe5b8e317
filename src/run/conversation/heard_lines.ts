import type { Input } from "../../conversation/control/input.ts";
import { lineId } from "../../claude/transcript/parents_first.ts";

/** Which lines of a session's transcript the machines have heard. */
export interface HeardLines {
  /** Takes an input before the machines do. */
  readonly hear: (input: Input) => void;
  /** The id of the last line of which is known whose it is; undefined where there is none. */
  readonly last: () => string | undefined;
}

/** Notes the lines: whose message a line is of the user's is known once the machines are done with it. */
export function heardLines(): HeardLines {
  let last: string | undefined;
  let next: string | undefined;
  return {
    hear: (input) => {
      last = next ?? last;
      next = input.type === "transcript" ? lineId(input.entry) : undefined;
      if (input.type !== "transcript") return;
      if (input.entry.type === "user" || input.entry.type === "attachment") return;
      last = next ?? last;
    },
    last: () => last,
  };
}
