import type { Input, Subagent, Untimed } from "../../conversation/control/input.ts";
import { type Entry, lineOf, readEntry } from "../../claude/transcript/entry.ts";
import type { JsonObject } from "../../json_object.ts";

/** Inputs with lines of transcripts. They are recorded as the JSON lines of the file. */
type WithLines = "earlier" | "transcript" | "subagent";

/** An input in the form of a cast's event: without its time. Terminal output is recorded in separate events. */
export type RecordedInput =
  | Untimed<Exclude<Input, { readonly type: "terminal" | WithLines }>>
  | { readonly type: "earlier"; readonly lines: readonly JsonObject[] }
  | { readonly type: "transcript"; readonly line: JsonObject }
  | { readonly type: "subagent"; readonly subagent: Subagent; readonly line: JsonObject }
  /** The first recordings have a summary instead of the line. */
  | { readonly type: "transcript"; readonly entry: LineSummary };

/** The parts of a transcript line that the first recordings keep: those that the conversation needed. */
export interface LineSummary {
  readonly type: string;
  readonly subtype?: string;
  readonly prompt: boolean;
  readonly text?: string;
  readonly end?: "completed" | "interrupted";
  readonly version?: string;
  readonly shellLimitMs?: number;
  readonly called?: readonly string[];
  readonly returned?: readonly string[];
}

export function toRecordedInput(
  input: Exclude<Input, { readonly type: "terminal" }>,
): RecordedInput {
  switch (input.type) {
    case "earlier":
      return { type: input.type, lines: input.entries.map(lineOf) };
    case "transcript":
      return { type: input.type, line: lineOf(input.entry) };
    case "subagent": {
      const { subagent, entry } = input.line;
      return { type: input.type, subagent, line: lineOf(entry) };
    }
    default: {
      const { at: _, ...untimed } = input;
      return untimed;
    }
  }
}

export function fromRecordedInput(recorded: RecordedInput, at: number): Input {
  switch (recorded.type) {
    case "earlier":
      return { at, type: recorded.type, entries: recorded.lines.map(parseEntry) };
    case "transcript":
      return {
        at,
        type: recorded.type,
        entry: "line" in recorded ? parseEntry(recorded.line) : entryFromSummary(recorded.entry),
      };
    case "subagent": {
      const { subagent, line } = recorded;
      return { at, type: recorded.type, line: { subagent, entry: parseEntry(line) } };
    }
    default:
      return { ...recorded, at };
  }
}

function parseEntry(line: JsonObject): Entry {
  return readEntry(line) ?? { type: "other", line };
}

/** Builds an entry that has the same effect on the conversation as the summarised one. */
function entryFromSummary(summary: LineSummary): Entry {
  const { type, subtype, text, version, shellLimitMs, called = [], returned = [] } = summary;
  switch (type) {
    case "user":
      return {
        type,
        meaning: summary.end === "interrupted"
          ? "interrupt"
          : summary.prompt
          ? "prompt"
          : "tool-result",
        message: { content: returned.map((id) => ({ type: "tool_result", tool_use_id: id })) },
      };
    case "assistant": {
      const input = shellLimitMs === undefined
        ? {}
        : { run_in_background: true, timeout: shellLimitMs };
      return {
        type,
        message: {
          id: "",
          model: "",
          content: [
            ...text === undefined ? [] : [{ type: "text", text }],
            ...called.map((id) => ({ type: "tool_use", id, name: "", input })),
          ],
        },
      };
    }
    case "system":
      return {
        type,
        ...(subtype === undefined ? {} : { subtype }),
        ...(version === undefined ? {} : { version }),
      };
    default:
      return { type: "other", line: { type } };
  }
}
