import type { CastEvent, CastHeader, TapeEntry } from "../cassette_format.ts";
import {
  createTextStreams,
  type TextPiece,
  textPieceIn,
  type TextStreams,
} from "./streamed_text.ts";
import {
  createValueRedactor,
  type Redact,
  REDACTED,
  redactPieces,
} from "../../redaction/redact_pieces.ts";
import {
  createOrderedQueue,
  createStreamRedactor,
  type OrderedQueue,
  type StreamPiece,
} from "../../redaction/redact_stream.ts";
import { findOpenSecret, redactTerminal } from "./redact_terminal.ts";
import { type RecordedInput, toRecordedInput } from "../recorded_input.ts";
import { withoutResult } from "../replay_cast.ts";
import {
  type ConversationEffect,
  type ConversationOptions,
  type EffectPart,
  partsOf,
} from "../../../conversation/output/conversation.ts";
import { type Input, isTurnFailure } from "../../../conversation/control/input.ts";
import { promptParts } from "../../../conversation/control/message.ts";
import { encodePaste } from "../../../conversation/terminal/paste.ts";
import type { Screen } from "../../../conversation/terminal/screen.ts";
import { transcriptSign } from "../../../conversation/control/transcript_sign.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import type { OutputKind } from "../../../claude/wire/output_writer.ts";
import { EXIT } from "../../../cli_error.ts";

/** The maximum number of characters of terminal output that are kept. A real session of an hour writes a few MB. */
const MOST_OUTPUT = 32 * 1024 * 1024;

/** Receives the parts of a cassette while they are recorded, without secrets. */
export interface CassetteSink {
  /** Receives the cast's header with the first input, before all other parts. */
  readonly begin: (header: CastHeader) => void;
  /** Receives the version of Claude Code, each time that a frame has it. */
  readonly version: (claudeVersion: string) => void;
  readonly event: (event: CastEvent) => void;
  readonly entry: (entry: TapeEntry) => void;
}

/** Removes secrets from recorded texts. */
export interface RecordingRedactor {
  readonly text: Redact;
  /** Returns where a text begins to look like a secret that the following text may complete; `Infinity` if nowhere. */
  readonly openFrom: (text: string) => number;
}

/**
 * Records a run: turns its inputs, effects and caller lines into the cast and the tape of a cassette.
 *
 * Everything goes to the sink immediately, with one exception. A text that arrives in pieces (of the terminal, a shell
 * or an answer) waits while it ends with the possible beginning of a secret. All later parts wait with it.
 *
 * The terminal's output is kept as text, in which invalid UTF-8 becomes U+FFFD. Only the first 32 MB of a flood are
 * kept.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #redact: Redact;
  readonly #redactValue: <Value>(value: Value) => Value;
  readonly #events: OrderedQueue<CastEvent>;
  readonly #tape: OrderedQueue<TapeEntry>;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #terminal: (text: string) => StreamPiece;
  readonly #inputTexts: TextStreams;
  readonly #frameTexts: TextStreams;
  /** Names of the markers in the cast. */
  readonly #marked = new Set<string>();
  /** Prompts that are pasted, by the keys that paste them. */
  readonly #pastes = new Map<string, string>();
  /** Caller lines that wait for the time of the next input. */
  readonly #lines: string[] = [];
  #isBegun = false;
  /** The time of the last input in milliseconds. */
  #at = 0;
  #outputLength = 0;

  constructor(options: RecorderOptions) {
    const { redactor, sink } = options;
    const redact = redactor.text;
    this.#options = options;
    this.#redact = redact;
    this.#redactValue = createValueRedactor(redact);
    this.#events = createOrderedQueue((event) => sink.event(event));
    this.#tape = createOrderedQueue((entry) => sink.entry(entry));
    this.#terminal = createStreamRedactor({
      redact: (pieces, { written }) => redactTerminal(pieces, redact, { written }),
      openFrom: (text) => findOpenSecret(text, redactor.openFrom),
    });
    const beginText = () =>
      createStreamRedactor({
        redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
        openFrom: redactor.openFrom,
      });
    this.#inputTexts = createTextStreams(beginText);
    this.#frameTexts = createTextStreams(beginText);
  }

  /** Adds a line that the caller wrote, before the input that is made from it. */
  addCallerLine(line: string): void {
    this.#lines.push(line);
  }

  /** Adds an input before the conversation receives it. Keeps only a copy. */
  addInput(input: Input): void {
    this.#at = input.at;
    this.#begin();
    this.#addLines();
    if (input.type === "terminal") return this.#addOutput(input.bytes);
    const moment = momentOf(input);
    if (moment !== undefined && !(moment === TAKEN && this.#marked.has(OVER))) this.#mark(moment);
    if (input.type === "message" && input.message.way === "paste") {
      for (const part of promptParts(input.message)) {
        if (part.kind === "text") this.#pastes.set(pasteOf(part.text), part.text);
      }
    }
    this.#addRecordedInput(toRecordedInput(input));
    if (input.type === "exit") {
      const { exit } = input;
      this.#addEvent("x", `${exit.kind === "exited" ? exit.code : EXIT.signal + exit.signal}`);
    }
  }

  /** Adds an effect, before the next input. */
  addEffect(effect: ConversationEffect): void {
    for (const part of partsOf(effect)) this.#addPart(part);
  }

  /** Ends the recording: all waiting parts go to the sink. */
  end(): void {
    if (this.#isBegun) this.#addLines();
    this.#events.end();
    this.#tape.end();
  }

  #begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const { conversation: { session, frames, report }, output, term, sink } = this.#options;
    sink.begin({
      version: 2,
      width: session.size.cols,
      height: session.size.rows,
      timestamp: Math.floor(frames.startedAt / 1000),
      env: { TERM: term },
      claude_print: { output, conversation: this.#redactValue({ session, frames, report }) },
    });
  }

  #addLines(): void {
    for (const line of this.#lines.splice(0)) {
      this.#tape.add({ at: this.#at, dir: "write", data: `${this.#redactLine(line)}\n` });
    }
  }

  /** A line of the caller without secrets. A line that has none stays byte for byte. */
  #redactLine(line: string): string {
    if (isTooDeep(line)) return this.#redact(line);
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return this.#redact(line);
    }
    const redacted = JSON.stringify(this.#redactValue(value));
    return redacted === JSON.stringify(value) ? line : redacted;
  }

  #addOutput(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#outputLength += text.length;
    if (this.#outputLength > MOST_OUTPUT) return this.#mark(FLOODED);
    if (text === "") return;
    const at = this.#at;
    this.#events.addPending(
      this.#terminal(text),
      (data) => data === "" ? undefined : { at, code: "o", data },
    );
  }

  #addRecordedInput(input: RecordedInput): void {
    this.#inputTexts.observe(Object(input));
    const piece = textPieceIn(Object(input));
    if (piece === undefined) return this.#addJson("h", input);
    const at = this.#at;
    this.#events.addPending(this.#inputTexts.take(piece), (redacted) => ({
      at,
      code: "h",
      data: JSON.stringify(this.#redactValue(withRedactedText(piece, redacted))),
    }));
  }

  #addFrame(frame: Frame): void {
    this.#frameTexts.observe(frame);
    const piece = textPieceIn(frame);
    const at = this.#at;
    if (piece === undefined) {
      this.#tape.add({ at, dir: "read", frame: this.#redactValue(frame) });
    } else {
      this.#tape.addPending(this.#frameTexts.take(piece), (redacted) => ({
        at,
        dir: "read",
        frame: this.#redactValue(withRedactedText(piece, redacted)) as AnyFrame,
      }));
    }
    const version = frame.type === "result"
      ? frame.claude_version
      : frame.type === "system" && frame.subtype === "init"
      ? frame.claude_code_version
      : undefined;
    if (typeof version === "string" && version !== "unknown") this.#options.sink.version(version);
  }

  #addPart(effect: EffectPart): void {
    switch (effect.type) {
      case "write": {
        // A redacted prompt is encoded as a paste again, because a replay types it with the same encoding.
        const keys = new TextDecoder().decode(effect.bytes);
        const prompt = this.#pastes.get(keys);
        const typed = prompt === undefined ? this.#redact(keys) : pasteOf(this.#redact(prompt));
        return this.#addEvent("i", typed);
      }
      case "resize":
        return this.#addEvent("r", `${effect.size.cols}x${effect.size.rows}`);
      case "look":
      case "answer":
      case "deliver":
      case "mcp-message":
      case "consult":
      case "kill":
      case "list-shells":
      case "follow-shell":
      case "leave-shell":
      case "end":
        return this.#addJson("d", effect);
      case "report":
        return this.#addJson("d", withoutResult(effect));
      case "frame":
        return this.#addFrame(effect.frame);
      case "deadline":
      case "postpone":
      case "trace":
      case "place-image":
      case "note-tools":
      case "named":
      case "log":
      case "whole":
        // Not recorded: deadlines and log lines become inputs, and the trace repeats other events.
        return;
      default:
        effect satisfies never;
    }
  }

  #addEvent(code: CastEvent["code"], data: string): void {
    this.#events.add({ at: this.#at, code, data });
  }

  #addJson(code: "h" | "d", value: unknown): void {
    const redacted = this.#redactValue(withRedactedScreens(Object(value), this.#redact));
    this.#addEvent(code, JSON.stringify(redacted));
  }

  /** Adds a marker, unless there is already one with this name. */
  #mark(name: string): void {
    if (this.#marked.has(name)) return;
    this.#marked.add(name);
    this.#addEvent("m", name);
  }
}

interface RecorderOptions {
  readonly conversation: ConversationOptions;
  /** How the run prints its frames. */
  readonly output: OutputKind;
  /** The child's TERM. */
  readonly term: string;
  readonly redactor: RecordingRedactor;
  readonly sink: CassetteSink;
}

/** An input or a frame with the redacted text. A text does not become empty: an empty text of a shell marks its end. */
function withRedactedText(piece: TextPiece, redacted: string): JsonObject {
  return piece.withText(piece.text === "" ? "" : redacted || REDACTED);
}

const FLOODED = "too much output, the rest of it is left out";
const TAKEN = "prompt taken";
const OVER = "turn over";

/** The marker for an input, at which a player can stop. */
function momentOf(input: Input): string | undefined {
  switch (input.type) {
    case "transcript":
      return transcriptSign(input.entry).prompt ? TAKEN : undefined;
    case "status":
      return input.status === "busy" ? TAKEN : undefined;
    case "hook":
      if (input.event === "UserPromptSubmit") return TAKEN;
      return input.event === "Stop" || isTurnFailure(input.event, input.payload) ? OVER : undefined;
    case "signal":
      return input.signal;
    case "exit":
      return "exit";
    default:
      return undefined;
  }
}

function pasteOf(prompt: string): string {
  return new TextDecoder().decode(encodePaste(prompt));
}

interface WithScreen {
  readonly screen?: Screen;
  readonly ending?: WithScreen;
}

/** Removes secrets from screens, also a secret that continues in the next row. Rows keep their positions. */
function withRedactedScreens(holder: WithScreen, redact: Redact): WithScreen {
  const { screen, ending } = holder;
  return {
    ...holder,
    ...(screen === undefined ? {} : { screen: redactedScreen(screen, redact) }),
    ...(ending === undefined ? {} : { ending: withRedactedScreens(ending, redact) }),
  };
}

function redactedScreen(screen: Screen, redact: Redact): Screen {
  const rows = redactPieces(screen.lines.map((line) => `${line}\n`), redact);
  return { ...screen, lines: rows.map((row) => row.replaceAll("\n", "")) };
}
