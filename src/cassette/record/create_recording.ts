import type { Cassette, TapedFrame } from "../cassette.ts";
import type { CastEvent } from "../cast.ts";
import { createValueRedactor, type Redact, REDACTED, redactPieces } from "./redact_pieces.ts";
import { redactTerminal } from "./redact_terminal.ts";
import { recordedInput } from "../recorded_input.ts";
import { withoutResult } from "../replay/replay_cast.ts";
import {
  type ConversationEffect,
  type ConversationOptions,
  type EffectPart,
  partsOf,
} from "../../frames/conversation.ts";
import { type Input, isTurnFailure } from "../../session/input.ts";
import { promptParts } from "../../session/message.ts";
import { encodePaste } from "../../session/terminal/paste.ts";
import type { Screen } from "../../session/terminal/screen.ts";
import { transcriptSign } from "../../session/transcript_sign.ts";
import type { Frame } from "../../wire/frame.ts";
import type { OutputKind } from "../../wire/output_writer.ts";
import { asText } from "../../transcript/json_object.ts";

/** Most characters of output that are kept: a real session of an hour writes a few. */
const MOST_OUTPUT = 32 * 1024 * 1024;

/** A run that is being recorded. */
export interface Recording {
  /** Takes every input of the session before the machine does; nothing of it is kept but a copy. */
  readonly input: (input: Input) => void;
  /** Takes every effect, frames among them, before the next input. */
  readonly effect: (effect: ConversationEffect) => void;
  /** What there is so far, without secrets; nothing before the first input. */
  readonly cassette: () => Cassette | undefined;
}

/**
 * Begins to record a run, in memory.
 *
 * The terminal's output is kept as text: bytes that are no UTF-8 become U+FFFD. Of a flood only the first 32 MB are kept.
 *
 * @param options.version the version of this program
 * @param options.conversation what the machines were told
 * @param options.output how the run prints its frames
 * @param options.term the child's TERM
 */
export function createRecording(options: {
  readonly version: string;
  readonly conversation: ConversationOptions;
  readonly output: OutputKind;
  readonly term: string;
  readonly redact: Redact;
}): Recording {
  const { conversation: { session, frames, report }, redact } = options;
  const events: CastEvent[] = [];
  const tape: TapedFrame[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const marked = new Set<string>();
  const pasted: string[] = [];
  let isBegun = false;
  let at = 0;
  let output = 0;
  let claudeVersion: string | undefined;
  const add = (code: CastEvent["code"], data: string) => void events.push({ at, code, data });
  const take = (effect: EffectPart): void => {
    switch (effect.type) {
      case "write":
        add("i", new TextDecoder().decode(effect.bytes));
        break;
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
        add("d", JSON.stringify(effect));
        break;
      case "report":
        add("d", JSON.stringify(withoutResult(effect)));
        break;
      case "frame":
        tape.push({ at, frame: effect.frame });
        if (effect.frame.type === "result" && effect.frame.claude_version !== "unknown") {
          claudeVersion = `${effect.frame.claude_version}`;
        }
        break;
      case "deadline":
      case "postpone":
      case "trace":
      case "place-image":
        // Deadlines come back as inputs once they are due, and what is traced says what else is here.
        break;
      default:
        effect satisfies never;
    }
  };
  return {
    input: (input) => {
      at = input.at;
      isBegun = true;
      if (input.type === "terminal") {
        const text = decoder.decode(input.bytes, { stream: true });
        output += text.length;
        if (output <= MOST_OUTPUT) {
          if (text !== "") add("o", text);
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
          if (part.kind === "text") pasted.push(part.text);
        }
      }
      add("h", JSON.stringify(recordedInput(input)));
      if (input.type === "exit") {
        const { exit } = input;
        add("x", `${exit.kind === "exited" ? exit.code : 128 + exit.signal}`);
      }
    },
    effect: (effect) => partsOf(effect).forEach(take),
    cassette: () => {
      if (!isBegun) return undefined;
      const redactValue = createValueRedactor(redact);
      return {
        cast: {
          header: {
            version: 2,
            width: session.size.cols,
            height: session.size.rows,
            timestamp: Math.floor(frames.startedAt / 1000),
            env: { TERM: options.term },
            claude_print: {
              version: options.version,
              ...(claudeVersion === undefined ? {} : { claude_version: claudeVersion }),
              output: options.output,
              conversation: redactValue({
                session,
                frames,
                report,
              }),
            },
          },
          events: redactEvents(
            withRedactedOutput(events, {
              redact,
              pieceOf: shellOutputIn,
              withText: (event, text) => ({
                ...event,
                data: JSON.stringify({ ...JSON.parse(event.data), text }),
              }),
            }),
            { redact, redactValue, pasted },
          ),
        },
        tape: withRedactedOutput(tape, {
          redact,
          pieceOf: ({ frame }) =>
            frame.type === "system" && frame.subtype === "shell_output_delta"
              ? { of: asText(frame.tool_use_id), text: asText(frame.text) }
              : undefined,
          withText: ({ at, frame }, text) => ({ at, frame: { ...frame, text } as Frame }),
        }).map(({ at, frame }) => ({ at, frame: redactValue(frame) })),
      };
    },
  };
}

/** What an event holds of the output of a shell. */
function shellOutputIn({ code, data }: CastEvent): OutputPiece | undefined {
  if (code !== "h" || !data.startsWith('{"type":"shell-output"')) return undefined;
  const { id, text }: { readonly id: string; readonly text: string } = JSON.parse(data);
  return { of: id, text };
}

/** A piece of what was written, and who wrote it. */
interface OutputPiece {
  readonly of: string;
  readonly text: string;
}

/** Takes out secrets that go on from one piece of an output to the next; no piece is left empty that was not. */
function withRedactedOutput<Item>(
  items: readonly Item[],
  { redact, pieceOf, withText }: {
    readonly redact: Redact;
    readonly pieceOf: (item: Item) => OutputPiece | undefined;
    readonly withText: (item: Item, text: string) => Item;
  },
): readonly Item[] {
  const pieces = new Map<string, { readonly item: Item; readonly text: string }[]>();
  for (const item of items) {
    const piece = pieceOf(item);
    if (piece === undefined) continue;
    const known = pieces.get(piece.of) ?? [];
    known.push({ item, text: piece.text });
    pieces.set(piece.of, known);
  }
  const texts = new Map<Item, string>();
  for (const all of pieces.values()) {
    const redacted = redactPieces(all.map(({ text }) => text), redact);
    for (const [index, { item, text }] of all.entries()) {
      texts.set(item, text === "" ? "" : redacted[index] || REDACTED);
    }
  }
  return items.map((item) => {
    const text = texts.get(item);
    return text === undefined ? item : withText(item, text);
  });
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

function redactEvents(
  events: readonly CastEvent[],
  options: {
    readonly redact: Redact;
    readonly redactValue: <Value>(value: Value) => Value;
    /** Prompts that went in as a paste. */
    readonly pasted: readonly string[];
  },
): readonly CastEvent[] {
  const { redact, redactValue } = options;
  const isOutput = ({ code }: CastEvent) => code === "o";
  const output = redactTerminal(events.filter(isOutput).map(({ data }) => data), redact);
  const pastes = new Map(options.pasted.map((prompt) => [pasteOf(prompt), prompt]));
  let outputs = 0;
  const redacted = (event: CastEvent): string => {
    const { code, data } = event;
    switch (code) {
      case "o":
        return output[outputs++] ?? "";
      case "i":
        // Cut as this program would cut it, so that it types the same when the recording is replayed.
        return pastes.has(data) ? pasteOf(redact(pastes.get(data) ?? "")) : redact(data);
      case "h":
      case "d":
        return JSON.stringify(redactValue(withRedactedScreens(JSON.parse(data), redact)));
      case "r":
      case "m":
      case "x":
        return data;
    }
  };
  return events.map((event) => ({ ...event, data: redacted(event) }))
    .filter((event) => !isOutput(event) || event.data !== "");
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
