import type { CastEvent, CastHeader, TapeEntry } from "../cassette_format.ts";
import { createOrderedQueue, createStreamRedactor } from "../../redaction/redact_stream.ts";
import { createHeldStreams, streamedText } from "./streamed_text.ts";
import {
  createValueRedactor,
  type Redact,
  REDACTED,
  redactPieces,
} from "../../redaction/redact_pieces.ts";
import { openInTerminal, redactTerminal } from "./redact_terminal.ts";
import { recordedInput } from "../recorded_input.ts";
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
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import type { OutputKind } from "../../../claude/wire/output_writer.ts";

/** Most characters of output that are kept: a real session of an hour writes a few. */
const MOST_OUTPUT = 32 * 1024 * 1024;

/** A run that is being recorded. */
export interface Recording {
  /** Takes a line that the caller wrote, before the input that is made of it. */
  readonly said: (line: string) => void;
  /** Takes every input of the session before the machine does; nothing of it is kept but a copy. */
  readonly input: (input: Input) => void;
  /** Takes every effect, frames among them, before the next input. */
  readonly effect: (effect: ConversationEffect) => void;
  /** There is no more: what was held back for what might follow is written. */
  readonly end: () => void;
}

/** Takes the parts of a cassette as they come, without secrets. */
export interface CassetteSink {
  /** Takes the cast's header, before anything else, with the first input. */
  readonly begin: (header: CastHeader) => void;
  /** Takes the version of Claude Code whenever it is told. */
  readonly version: (claudeVersion: string) => void;
  readonly event: (event: CastEvent) => void;
  readonly entry: (entry: TapeEntry) => void;
}

/** What takes secrets out of what is recorded. */
export interface RecordingRedactor {
  readonly text: Redact;
  /** Where in a text something begins that may be a secret with what follows; `Infinity` where there is none. */
  readonly openFrom: (text: string) => number;
}

/**
 * Begins to record a run.
 *
 * What is recorded goes to the sink at once; only a text that comes in pieces, the terminal's, a shell's and an answer's,
 * waits, with what comes behind it, while it may end with the beginning of a secret.
 *
 * The terminal's output is kept as text: bytes that are no UTF-8 become U+FFFD. Of a flood only the first 32 MB are kept.
 *
 * @param options.conversation what the machines were told
 * @param options.output how the run prints its frames
 * @param options.term the child's TERM
 */
export function createRecording(options: {
  readonly conversation: ConversationOptions;
  readonly output: OutputKind;
  readonly term: string;
  readonly redactor: RecordingRedactor;
  readonly sink: CassetteSink;
}): Recording {
  const { conversation: { session, frames, report }, redactor, sink } = options;
  const redact = redactor.text;
  const redactValue = createValueRedactor(redact);
  const events = createOrderedQueue<CastEvent>(sink.event);
  const tape = createOrderedQueue<TapeEntry>(sink.entry);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const terminal = createStreamRedactor({
    redact: (pieces, { written }) => redactTerminal(pieces, redact, { written }),
    openFrom: (text) => openInTerminal(text, redactor.openFrom),
  });
  const beginStream = () =>
    createStreamRedactor({
      redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
      openFrom: redactor.openFrom,
    });
  const heard = createHeldStreams(beginStream);
  const told = createHeldStreams(beginStream);
  const marked = new Set<string>();
  /** Prompts that go in as a paste, by what is typed then. */
  const pastes = new Map<string, string>();
  /** Lines that wait for the input that says when they were heard. */
  const lines: string[] = [];
  let isBegun = false;
  let at = 0;
  let output = 0;
  const add = (code: CastEvent["code"], data: string) => events.add({ at, code, data });
  const addJson = (code: "h" | "d", value: unknown) =>
    add(code, JSON.stringify(redactValue(withRedactedScreens(Object(value), redact))));
  const begin = () => {
    if (isBegun) return;
    isBegun = true;
    sink.begin({
      version: 2,
      width: session.size.cols,
      height: session.size.rows,
      timestamp: Math.floor(frames.startedAt / 1000),
      env: { TERM: options.term },
      claude_print: {
        output: options.output,
        conversation: redactValue({ session, frames, report }),
      },
    });
  };
  const addLines = () => {
    for (const line of lines.splice(0)) {
      tape.add({ at, dir: "write", data: `${redactedLine(line, { redact, redactValue })}\n` });
    }
  };
  const addFrame = (frame: Frame) => {
    const time = at;
    told.heed(frame);
    const piece = streamedText(frame);
    if (piece !== undefined) {
      tape.addPending(told.take(piece), (redacted) => ({
        at: time,
        dir: "read",
        frame: redactValue(piece.replaced(textOf(redacted, piece.text))) as AnyFrame,
      }));
    } else {
      tape.add({ at, dir: "read", frame: redactValue(frame) });
    }
    const version = frame.type === "result"
      ? frame.claude_version
      : frame.type === "system" && frame.subtype === "init"
      ? frame.claude_code_version
      : undefined;
    if (typeof version === "string" && version !== "unknown") sink.version(version);
  };
  const take = (effect: EffectPart): void => {
    switch (effect.type) {
      case "write": {
        // Cut as this program would cut it, so that it types the same when the recording is replayed.
        const keys = new TextDecoder().decode(effect.bytes);
        const prompt = pastes.get(keys);
        add("i", prompt === undefined ? redact(keys) : pasteOf(redact(prompt)));
        break;
      }
      case "resize":
        add("r", `${effect.size.cols}x${effect.size.rows}`);
        break;
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
        addJson("d", effect);
        break;
      case "report":
        addJson("d", withoutResult(effect));
        break;
      case "frame":
        addFrame(effect.frame);
        break;
      case "deadline":
      case "postpone":
      case "trace":
      case "place-image":
      case "note-tools":
      case "named":
      case "log":
      case "whole":
        // Deadlines and lines of a log are among the inputs, and what is traced says what else is here.
        break;
      default:
        effect satisfies never;
    }
  };
  return {
    said: (line) => void lines.push(line),
    input: (input) => {
      at = input.at;
      begin();
      addLines();
      if (input.type === "terminal") {
        const text = decoder.decode(input.bytes, { stream: true });
        output += text.length;
        if (output <= MOST_OUTPUT) {
          const time = at;
          if (text !== "") {
            events.addPending(
              terminal(text),
              (data) => data === "" ? undefined : { at: time, code: "o", data },
            );
          }
        } else if (!marked.has(FLOODED)) {
          marked.add(FLOODED);
          add("m", FLOODED);
        }
        return;
      }
      const moment = momentOf(input);
      if (moment !== undefined && !marked.has(moment) && !(moment === TAKEN && marked.has(OVER))) {
        marked.add(moment);
        add("m", moment);
      }
      if (input.type === "message" && input.message.way === "paste") {
        for (const part of promptParts(input.message)) {
          if (part.kind === "text") pastes.set(pasteOf(part.text), part.text);
        }
      }
      const recorded = recordedInput(input);
      heard.heed(Object(recorded));
      const piece = streamedText(Object(recorded));
      if (piece !== undefined) {
        const time = at;
        events.addPending(heard.take(piece), (redacted) => ({
          at: time,
          code: "h",
          data: JSON.stringify(redactValue(piece.replaced(textOf(redacted, piece.text)))),
        }));
      } else {
        addJson("h", recorded);
      }
      if (input.type === "exit") {
        const { exit } = input;
        add("x", `${exit.kind === "exited" ? exit.code : 128 + exit.signal}`);
      }
    },
    effect: (effect) => partsOf(effect).forEach(take),
    end: () => {
      if (isBegun) addLines();
      events.end();
      tape.end();
    },
  };
}

/** No piece of an output is left empty that was not. */
function textOf(redacted: string, text: string): string {
  return text === "" ? "" : redacted || REDACTED;
}

/** A line of the caller, as it was where it holds no secret. */
function redactedLine(
  line: string,
  { redact, redactValue }: {
    readonly redact: Redact;
    readonly redactValue: <Value>(value: Value) => Value;
  },
): string {
  if (isTooDeep(line)) return redact(line);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return redact(line);
  }
  const redacted = JSON.stringify(redactValue(value));
  return redacted === JSON.stringify(value) ? line : redacted;
}

const FLOODED = "too much output, the rest of it is left out";
const TAKEN = "prompt taken";
const OVER = "turn over";

/** The moments that a player can jump to. */
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

/** What an input or an effect may show of a screen. */
interface ScreenHolder {
  readonly screen?: Screen;
  readonly ending?: ScreenHolder;
}

/** A screen keeps its rows, although a secret on it may go on from one to the next. */
function withRedactedScreens(holder: ScreenHolder, redact: Redact): ScreenHolder {
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
