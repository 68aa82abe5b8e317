import type { Input } from "../../src/conversation/control/input.ts";
import type { Entry } from "../../src/claude/transcript/entry.ts";
import type { Phase } from "../../src/conversation/control/session_state.ts";

/** In which order phases are shown: that in which a conversation comes to them. */
const PHASES: readonly Phase["phase"][] = [
  ...["starting", "resting", "pasted", "entered", "working", "settling"] as const,
  ...["aborting", "interrupting", "ending", "reading"] as const,
];

/** Which inputs were met in which phases, and how often. */
export class Coverage {
  readonly #met = new Map<string, Map<Phase["phase"], number>>();

  /** Counts an input that arrives in a phase. */
  add(input: Input, phase: Phase["phase"]): void {
    const kind = kindOf(input);
    const phases = this.#met.get(kind) ?? new Map<Phase["phase"], number>();
    phases.set(phase, (phases.get(phase) ?? 0) + 1);
    this.#met.set(kind, phases);
  }

  /** How many pairs of an input and a phase were met, and which of the inputs that were met at all never in which phases. */
  describe(): string {
    const kinds = [...this.#met.keys()].toSorted();
    const met = kinds.reduce((sum, kind) => sum + (this.#met.get(kind)?.size ?? 0), 0);
    const rows = kinds.map((kind) => {
      const never = PHASES.filter((phase) => !this.#met.get(kind)?.has(phase));
      return never.length === 0 ? "" : `  ${kind.padEnd(34)} never in ${never.join(", ")}\n`;
    });
    return `${met} of ${kinds.length * PHASES.length} pairs of inputs and phases were met\n${
      rows.join("")
    }`;
  }
}

/** What kind of input it is, in a word or two. */
export function kindOf(input: Input): string {
  switch (input.type) {
    case "hook":
      return `hook ${input.event}${input.callback === undefined ? "" : " of the caller"}`;
    case "status":
      return `status ${input.status}`;
    case "deadline":
      return `deadline ${input.name}`;
    case "control":
      return `control ${input.request.subtype}`;
    case "signal":
      return `signal ${input.signal}`;
    case "transcript":
      return `line ${kindOfLine(input.entry)}`;
    case "subagent":
      return `subagent's line ${kindOfLine(input.line.entry)}`;
    default:
      return input.type;
  }
}

function kindOfLine(entry: Entry): string {
  switch (entry.type) {
    case "user":
      return entry.meaning;
    case "system":
      return entry.subtype ?? entry.type;
    case "attachment":
      return entry.attachment.type;
    case "other":
      return [entry.line["type"], entry.line["operation"]].filter(Boolean).join(" ");
    case "assistant":
      return entry.type;
  }
}
