import { createValueRedactor, redactPieces } from "../../redaction/redact_pieces.ts";
import { createStreamRedactor, type StreamPiece } from "../../redaction/redact_stream.ts";
import { openInTerminal, redactTerminal } from "../record/redact_terminal.ts";
import type { Redactor } from "../../redaction/redact.ts";
import { blankText } from "../../redaction/traces/blanked/blank_text.ts";
import { createSaidBlanker } from "../../redaction/traces/blanked/blank_said.ts";
import { speaksToSubagent } from "../../redaction/traces/blanked/blank_call_input.ts";
import type { SaidParts } from "../../redaction/traces/blanked/said_parts.ts";
import type { SubagentCalls } from "../../redaction/traces/blanked/subagent_calls.ts";
import { fillAlike } from "../../redaction/traces/fill_trace.ts";
import type { Trace } from "../../redaction/traces/find_traces.ts";
import { noting } from "../../redaction/traces/noting.ts";
import type { KnownTraces } from "../../redaction/traces/known_traces.ts";
import { createTraceScrubber, type TraceScrubber } from "../../redaction/traces/scrub_text.ts";
import { createCallBlanker } from "./blank_call.ts";
import { createTerminalBlanker } from "./blank_terminal.ts";
import { caretAtCursor } from "../../../conversation/terminal/choices.ts";
import { RULE } from "../../../conversation/terminal/recognise_dialog.ts";
import type { Screen } from "../../../conversation/terminal/screen.ts";
import { scrubTerminal } from "./scrub_terminal.ts";

/** What is taken out of a cassette. */
export interface ScrubOptions {
  /** What is known of the machine that it was recorded on; absent where what tells of it stays. */
  readonly known?: KnownTraces;
  readonly redactor: Pick<Redactor, "text" | "openFrom">;
  /** Whose words are blanked besides. */
  readonly said: SaidParts;
  /** The calls of subagents that are known before; those that are come by are learned. */
  readonly subagents?: SubagentCalls;
  /** Takes the kind of each trace that is taken out. */
  readonly note?: (kind: Trace["kind"]) => void;
  /** What becomes of a value that is nested more deeply than a recording keeps; it is cut there by default. */
  readonly deep?: (value: object) => unknown;
}

/** Takes secrets and traces out of what a cast or a tape holds, and the words of those who are to say nothing. */
export interface PartScrubber {
  /** A text by itself, as keys that were typed. */
  readonly text: (text: string) => string;
  /** A JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /** A piece of an answer that has been scrubbed: nothing more, unless answers are blanked. */
  readonly answer: (text: string) => string;
  /** A screen with as many rows, as long as they were. */
  readonly screen: <Shown extends Screen>(
    screen: Shown,
    options: { readonly blank: boolean },
  ) => Shown;
  /** Begins a text that comes in pieces, which may be what a tool is given, as JSON; takes the next one. */
  readonly stream: (tool?: string) => (text: string) => StreamPiece;
  /** Begins what is written to a terminal; takes the next piece. */
  readonly terminal: () => (text: string, options: { readonly blank: boolean }) => StreamPiece;
}

/** How much text is gone through at once: a recording holds it in small pieces, each of which is looked at with others. */
const GATHERED = 8 * 1024;

/** Finds none. */
const NO_TRACES: TraceScrubber = {
  text: (text) => text,
  value: (value) => value,
  pieces: (pieces) => pieces,
  openFrom: () => Infinity,
  filled: () => [],
};

/** Creates a scrubber. What it puts in the place of a trace is as long as that was. */
export function createPartScrubber(
  { known, redactor, said, subagents, note, deep }: ScrubOptions,
): PartScrubber {
  const traces = known === undefined
    ? NO_TRACES
    : createTraceScrubber(known, noting(fillAlike(known), note));
  const redactValue = createValueRedactor(redactor.text, { deep });
  const text = (given: string) => traces.text(redactor.text(given));
  const openFrom = (given: string) => Math.min(redactor.openFrom(given), traces.openFrom(given));
  const blankSaid = createSaidBlanker(said, { subagents });
  return {
    text,
    value: (value) => blankSaid(traces.value(redactValue(value))),
    answer: said.answers ? blankText : (given) => given,
    screen: (screen, { blank }) => {
      const rows = redactPieces(screen.lines.map((row) => `${row}\n`), redactor.text)
        .map((row) => row.replaceAll("\n", "")).map((row) => `${row}\n`);
      const lines = scrubTerminal(rows, traces).map((row) => row.slice(0, -1));
      const scrubbed = { ...screen, lines };
      return blank ? { ...scrubbed, lines: blankScreen(scrubbed) } : scrubbed;
    },
    stream: (tool) => {
      const redact = (pieces: readonly string[], options: { readonly written: number }) =>
        traces.pieces(redactPieces(pieces, redactor.text, options));
      return said.prompts && tool !== undefined && speaksToSubagent(tool)
        ? createCallBlanker({ tool, redact })
        : createStreamRedactor({ redact, openFrom, gather: GATHERED });
    },
    terminal: () => {
      const blanker = said.prompts || said.answers ? createTerminalBlanker() : undefined;
      const take = createStreamRedactor({
        redact: (pieces, options) =>
          scrubTerminal(redactTerminal(pieces, redactor.text, options), traces),
        openFrom: (written) => openInTerminal(written, openFrom),
        gather: GATHERED,
      });
      return (written, { blank }) => {
        // It follows what is written though nothing of it is blanked.
        const blanked = blanker?.(written);
        // Where nothing is left to be read, there is nothing to be found.
        return blank && blanked !== undefined
          ? { redacted: blanked, settle: () => {} }
          : take(written);
      };
    },
  };
}

/** The rows of a screen without a letter, but for a dialog: a program has to know which it is. */
function blankScreen(screen: Screen): readonly string[] {
  const caret = caretAtCursor(screen);
  const rule = screen.lines.findLastIndex((line, row) =>
    caret !== undefined && row < caret && RULE.test(line)
  );
  const from = caret === undefined ? Infinity : rule;
  return screen.lines.map((line, row) => row < from ? blankText(line) : line);
}
