import { firstDifference, maskVarying } from "../relay/match_requests.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";
import type { RecordedTurn, RecordedTurns } from "./recorded_turns.ts";
import type { TapeEntry } from "./cassette_format.ts";
import { printSentence } from "../../conversation/output/result/api_failure.ts";
import {
  type ContentBlock,
  type Entry,
  isPrompt,
  isResumptionFiller,
  readEntry,
} from "../../claude/transcript/entry.ts";
import { isJsonObject } from "../../json_object.ts";
import { sortParentsFirst } from "../../claude/transcript/entry_order.ts";
import { readCallerLine } from "../../claude/wire/caller_line.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import { definedFields } from "../../defined_fields.ts";

/** The comparison of two conversations. */
export interface ConversationComparison {
  /** The number of turns and steps that both share at their beginning. */
  readonly common: { readonly turns: number; readonly steps: number };
  /** The number of turns of each conversation. */
  readonly turns: readonly [number, number];
  /** The models of each conversation, in the order of their first steps. */
  readonly models: readonly [readonly string[], readonly string[]];
  /** The first difference; absent if there is none. */
  readonly parting?: FirstDifference;
}

/** The first step that differs. */
export interface FirstDifference {
  readonly turn: number;
  /** The step in each conversation; absent if the conversation has ended. */
  readonly one?: StepContent;
  readonly other?: StepContent;
  /** The first difference inside the steps; absent if one step is missing. */
  readonly difference?: StepDifference;
}

interface StepDifference {
  /** The place of the difference, as a JSON pointer. */
  readonly pointer: string;
  /** The values there, shortened; absent if there is none. */
  readonly one?: string;
  readonly other?: string;
}

/**
 * Finds the first difference of two conversations. Ignores values that differ in each run, such as ids. Models are
 * reported but not compared, because a user may want to compare the answers of two models.
 */
export function compareConversations(
  one: readonly RecordedStep[],
  other: readonly RecordedStep[],
): ConversationComparison {
  const models = [one, other].map((steps) => [
    ...new Set(steps.flatMap(({ model }) => model ?? [])),
  ]) as [string[], string[]];
  const turns = [one, other].map((steps) => steps.at(-1)?.turn ?? 0) as [number, number];
  const texts = [one, other].map((steps) =>
    steps.map(({ content }) => maskVarying(jsonLine(content)))
  ) as [string[], string[]];
  const most = Math.max(one.length, other.length);
  for (let steps = 0; steps < most; steps++) {
    const [text, otherText] = [texts[0][steps], texts[1][steps]];
    if (text === otherText) continue;
    const [step, otherStep] = [one[steps], other[steps]];
    const turn = Math.min(step?.turn ?? Infinity, otherStep?.turn ?? Infinity);
    const difference = text === undefined || otherText === undefined
      ? undefined
      : differenceOf(text, otherText);
    return {
      common: { turns: Math.max(0, turn - 1), steps },
      turns,
      models,
      parting: {
        turn,
        ...definedFields({ one: step?.content, other: otherStep?.content, difference }),
      },
    };
  }
  return { common: { turns: turns[0], steps: most }, turns, models };
}

function differenceOf(one: string, other: string): StepDifference {
  const { pointer = "", recorded, asked } = firstDifference(one, other) ?? {};
  return definedFields({ pointer, one: recorded, other: asked });
}

/** The content of a step, without ids, times and costs, which differ in each run. */
export type StepContent =
  /** A prompt of the user, or a message that Claude Code sends in the user's name. */
  | { readonly kind: "prompt"; readonly content: unknown }
  | { readonly kind: "thinking"; readonly text: unknown }
  | { readonly kind: "answer"; readonly text: unknown }
  | { readonly kind: "call"; readonly tool: unknown; readonly input: unknown }
  | { readonly kind: "result"; readonly content: unknown; readonly failed: boolean }
  | { readonly kind: "interrupt" }
  | { readonly kind: "compaction" }
  /** A content block of an unknown type. */
  | { readonly kind: "block"; readonly type: string };

type StepBody = Pick<RecordedStep, "content" | "model">;

/** A step of a conversation. */
export interface RecordedStep {
  /** The number of the turn, which is the number of prompts since the beginning of the conversation. */
  readonly turn: number;
  readonly content: StepContent;
  /** The model, for a step of a model. */
  readonly model?: string;
}

/**
 * The steps of a recorded conversation, including those from before the recording.
 *
 * @param children the parts of the conversation, one for each child
 */
export function conversationSteps(children: readonly RecordedTurns[]): readonly RecordedStep[] {
  const earlier = children[0]?.earlier ?? [];
  const turns = children.flatMap((child) => child.turns);
  return numberTurns([
    ...sortParentsFirst(earlier).flatMap(contentsOf),
    ...turns.flatMap((turn) =>
      turn.entries.length > 0 ? turn.entries.flatMap(contentsOf) : localCommandSteps(turn)
    ),
  ]);
}

/**
 * The steps on a tape; none from before the recording. A prompt that the caller wrote during a turn comes before the
 * next turn.
 */
export function stepsOnTape(tape: readonly TapeEntry[]): readonly RecordedStep[] {
  const waiting: StepBody[] = [];
  const steps: StepBody[] = [];
  let isBusy = false;
  const begin = () => {
    const next = isBusy ? undefined : waiting.shift();
    isBusy ||= next !== undefined;
    if (next !== undefined) steps.push(next);
  };
  for (const entry of tape) {
    if (entry.dir === "write") {
      waiting.push(...entry.data.split("\n").flatMap(promptIn));
    } else {
      steps.push(...contentsIn(entry.frame));
      if (entry.frame.type === "result") {
        isBusy = false;
        if (steps.at(-1)?.content.kind === "prompt") steps.push(...resultAnswer(entry.frame));
      }
    }
    begin();
  }
  return numberTurns([...steps, ...waiting]);
}

/** The answer to a command that prints nothing but a result. */
function resultAnswer({ subtype, result }: AnyFrame): readonly StepBody[] {
  return subtype === "success" ? [{ content: { kind: "answer", text: result } }] : [];
}

function promptIn(line: string): readonly StepBody[] {
  const input = readCallerLine(line);
  return input?.type === "user"
    ? [{ content: { kind: "prompt", content: plainContent(input.content) } }]
    : [];
}

function contentsIn(
  { type, message, parent_tool_use_id: parent, isReplay }: AnyFrame,
): readonly StepBody[] {
  // Frames of subagents are no steps, because their answer is the result of a call.
  if (typeof parent === "string" || isReplay === true) return [];
  const line = readEntry({ type, message });
  return line === undefined ? [] : contentsOf(line);
}

function numberTurns(bodies: readonly StepBody[]): readonly RecordedStep[] {
  // A tape without caller lines begins with an answer, in turn 1.
  let turn = bodies[0]?.content.kind === "prompt" ? 0 : 1;
  return bodies.map((each, at) => {
    if (each.content.kind === "prompt" && bodies[at - 1]?.content.kind !== "prompt") turn++;
    return { turn, ...each };
  });
}

/** The steps of a local command, which the transcript does not have. */
function localCommandSteps({ prompts, result }: RecordedTurn): readonly StepBody[] {
  const isLocal = prompts.length > 0 && prompts.every(({ way }) => way === undefined);
  if (!isLocal) return [];
  return [
    ...prompts.map(({ text }) => ({ content: { kind: "prompt", content: text } } as const)),
    { content: { kind: "answer", text: result["result"] } },
  ];
}

function contentsOf(entry: Entry): readonly StepBody[] {
  // Claude Code adds this entry before a prompt, in one version only.
  if (isResumptionFiller(entry)) return [];
  switch (entry.type) {
    case "user": {
      const { meaning, message: { content } } = entry;
      if (meaning === "interrupt") return [{ content: { kind: "interrupt" } }];
      if (isPrompt(entry)) return [{ content: { kind: "prompt", content: plainContent(content) } }];
      return meaning !== "tool-result" || typeof content === "string" ? [] : content
        .filter(({ type }) => type === "tool_result")
        .map(({ content, is_error: failed }) => ({
          content: { kind: "result", content: plainContent(content), failed: failed === true },
        }));
    }
    case "assistant": {
      const { model, content } = entry.message;
      return content.map((block) => ({ content: stepContent(printedBlock(block, model)), model }));
    }
    case "system":
      return entry.subtype === "compact_boundary" ? [{ content: { kind: "compaction" } }] : [];
    default:
      return [];
  }
}

/** The text of commands without output. */
const NO_CONTENT = "(no content)";

/** A block as `claude -p` prints it. Claude Code's own messages read differently on its screen. */
function printedBlock(block: ContentBlock, model: string): ContentBlock {
  const { text } = block;
  return model === "<synthetic>" && typeof text === "string"
    ? { ...block, text: text === NO_CONTENT ? "" : printSentence(text) }
    : block;
}

function stepContent({ type, text, thinking, name, input }: ContentBlock): StepContent {
  switch (type) {
    case "text":
      return { kind: "answer", text };
    case "thinking":
      return { kind: "thinking", text: thinking };
    case "tool_use":
      return { kind: "call", tool: name, input };
    default:
      return { kind: "block", type };
  }
}

/** The content of a message. Content of text blocks only is the same as one text. */
function plainContent(content: unknown): unknown {
  if (!Array.isArray(content)) return typeof content === "string" ? typedText(content) : content;
  const texts = content.map((block: unknown) =>
    isJsonObject(block) && block["type"] === "text" ? block["text"] : undefined
  );
  return texts.every((text) => typeof text === "string") ? typedText(texts.join("\n")) : content;
}

/** A typed command in a transcript (2.1.330), with its tags in any order. */
const COMMAND =
  /^(?:\s*<command-(?:name|message|args)>[^<]*<\/command-(?:name|message|args)>)+\s*$/u;

/** A prompt as typed: a command without the tags that Claude Code adds. */
function typedText(text: string): string {
  const trimmed = text.startsWith("/") ? text.trim().replace(/^(\S+)\s+/u, "$1 ") : text;
  if (!COMMAND.test(text)) return trimmed;
  const tag = (name: string) =>
    new RegExp(`<command-${name}>([^<]*)</command-${name}>`, "u").exec(text)?.[1]?.trim() ?? "";
  const name = tag("name");
  return name === "" ? text : `/${name.replace(/^\//u, "")} ${tag("args")}`.trim();
}
