import { createValueRedactor, redactPieces } from "../../redaction/redact_pieces.ts";
import { createStreamRedactor, type StreamPiece } from "../record/redact_stream.ts";
import { openInTerminal, redactTerminal } from "../record/redact_terminal.ts";
import type { Redactor } from "../../redaction/redact.ts";
import { blankText } from "../../redaction/traces/blank_text.ts";
import { createSaidBlanker, type SaidParts } from "../../redaction/traces/blank_said.ts";
import { fillAlike } from "../../redaction/traces/fill_trace.ts";
import type { KnownTraces } from "../../redaction/traces/known_traces.ts";
import { createTraceScrubber, type TraceScrubber } from "../../redaction/traces/scrub_text.ts";
import { createTerminalBlanker } from "./blank_terminal.ts";
import { scrubTerminal } from "./scrub_terminal.ts";

/** What is taken out of a cassette. */
export interface ScrubOptions {
  /** What is known of the machine that it was recorded on; absent where what tells of it stays. */
  readonly known?: KnownTraces;
  readonly redactor: Pick<Redactor, "text" | "openFrom">;
  /** Whose words are blanked besides. */
  readonly said: SaidParts;
}

/** Takes secrets and traces out of what a cast or a tape holds, and the words of those who are to say nothing. */
export interface PartScrubber {
  /** A text by itself, as keys that were typed. */
  readonly text: (text: string) => string;
  /** A JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /** A piece of an answer that has been scrubbed: nothing more, unless answers are blanked. */
  readonly answer: (text: string) => string;
  /** The rows of a screen, as many and as long. */
  readonly rows: (rows: readonly string[]) => readonly string[];
  /** Begins a text that comes in pieces; takes the next one. */
  readonly stream: () => (text: string) => StreamPiece;
  /** Begins what is written to a terminal; takes the next piece. */
  readonly terminal: () => (text: string) => StreamPiece;
}

/** Finds none. */
const NO_TRACES: TraceScrubber = {
  text: (text) => text,
  value: (value) => value,
  pieces: (pieces) => pieces,
  openFrom: () => Infinity,
  filled: () => [],
};

/** Creates a scrubber. What it puts in the place of a trace is as long as that was. */
export function createPartScrubber({ known, redactor, said }: ScrubOptions): PartScrubber {
  const traces = known === undefined ? NO_TRACES : createTraceScrubber(known, fillAlike(known));
  const redactValue = createValueRedactor(redactor.text);
  const text = (given: string) => traces.text(redactor.text(given));
  const openFrom = (given: string) => Math.min(redactor.openFrom(given), traces.openFrom(given));
  const blankSaid = createSaidBlanker(said);
  const isBlank = said.prompts || said.answers;
  return {
    text,
    value: (value) => blankSaid(traces.value(redactValue(value))),
    answer: said.answers ? blankText : (given) => given,
    rows: (rows) => {
      const lines = redactPieces(rows.map((row) => `${row}\n`), redactor.text)
        .map((row) => row.replaceAll("\n", "")).map((row) => `${row}\n`);
      return scrubTerminal(lines, traces).map((row) => row.slice(0, -1));
    },
    stream: () =>
      createStreamRedactor({
        redact: (pieces, options) => traces.pieces(redactPieces(pieces, redactor.text, options)),
        openFrom,
      }),
    terminal: () => {
      const blank = isBlank ? createTerminalBlanker() : undefined;
      const take = createStreamRedactor({
        redact: (pieces, options) =>
          scrubTerminal(redactTerminal(pieces, redactor.text, options), traces),
        openFrom: (written) => openInTerminal(written, openFrom),
      });
      // Where nothing is left to be read, there is nothing to be found.
      return (written) =>
        blank === undefined ? take(written) : { redacted: blank(written), settle: () => {} };
    },
  };
}
