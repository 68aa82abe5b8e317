import type { RecordedTurn, RecordedTurns } from "./recorded_turns.ts";
import type { TapeEntry } from "../cassette.ts";
import { printSentence } from "../../frames/result/print_sentence.ts";
import { type ContentBlock, type Entry, isPrompt, readEntry } from "../../transcript/entry.ts";
import { isJsonObject } from "../../transcript/json_object.ts";
import { parentsFirst } from "../../transcript/parents_first.ts";
import { readCallerLine } from "../../wire/caller_line.ts";
import type { AnyFrame } from "../../wire/frame.ts";

/** What was said or done, without what is another in each run: ids, times, costs. */
export type StepContent =
  /** Somebody's words, or what Claude Code says in somebody's name. */
  | { readonly kind: "prompt"; readonly content: unknown }
  | { readonly kind: "thinking"; readonly text: unknown }
  | { readonly kind: "answer"; readonly text: unknown }
  | { readonly kind: "call"; readonly tool: unknown; readonly input: unknown }
  | { readonly kind: "result"; readonly content: unknown; readonly failed: boolean }
  | { readonly kind: "interrupt" }
  | { readonly kind: "compaction" }
  /** A block of a type that is not known. */
  | { readonly kind: "block"; readonly type: string };

/** What was said or done, and by which model. */
type Said = Pick<ConversationStep, "content" | "model">;

/** A step of a conversation. */
export interface ConversationStep {
  /** The number of the turn, counted by prompts from the beginning of the conversation. */
  readonly turn: number;
  readonly content: StepContent;
  /** The model whose step it is, if it is one's. */
  readonly model?: string;
}

/**
 * A recorded conversation from its very beginning, step by step.
 *
 * @param children the conversation, a part for each Claude Code that it was held with
 */
export function conversationSteps(children: readonly RecordedTurns[]): readonly ConversationStep[] {
  const earlier = children[0]?.earlier ?? [];
  const turns = children.flatMap((child) => child.turns);
  return numbered([
    ...parentsFirst(earlier).flatMap(contentsOf),
    ...turns.flatMap((turn) =>
      turn.entries.length > 0 ? turn.entries.flatMap(contentsOf) : told(turn)
    ),
  ]);
}

/**
 * What a tape alone says of a conversation, which is nothing of what was before it. What is said while a turn is under way
 * stands before the next one, whenever that was.
 */
export function stepsOnTape(tape: readonly TapeEntry[]): readonly ConversationStep[] {
  const waiting: Said[] = [];
  const steps: Said[] = [];
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
      if (entry.frame.type === "result") isBusy = false;
    }
    begin();
  }
  return numbered([...steps, ...waiting]);
}

function promptIn(line: string): readonly Said[] {
  const said = readCallerLine(line);
  return said?.type === "user"
    ? [{ content: { kind: "prompt", content: plain(said.content) } }]
    : [];
}

function contentsIn(
  { type, message, parent_tool_use_id: parent, isReplay }: AnyFrame,
): readonly Said[] {
  // What a subagent says is no step of the conversation; its answer is the result of a call.
  if (typeof parent === "string" || isReplay === true) return [];
  const line = readEntry({ type, message });
  return line === undefined ? [] : contentsOf(line);
}

function numbered(said: readonly Said[]): readonly ConversationStep[] {
  // What a tape tells of a run begins with an answer.
  let turn = said[0]?.content.kind === "prompt" ? 0 : 1;
  return said.map((each, at) => {
    if (each.content.kind === "prompt" && said[at - 1]?.content.kind !== "prompt") turn++;
    return { turn, ...each };
  });
}

/** A turn of which the transcript says nothing: a command that Claude Code answers by itself. */
function told({ prompts, result }: RecordedTurn): readonly Said[] {
  const isLocal = prompts.length > 0 && prompts.every(({ way }) => way === undefined);
  if (!isLocal) return [];
  return [
    ...prompts.map(({ text }) => ({ content: { kind: "prompt", content: text } } as const)),
    { content: { kind: "answer", text: result["result"] } },
  ];
}

function contentsOf(entry: Entry): readonly Said[] {
  switch (entry.type) {
    case "user": {
      const { meaning, message: { content } } = entry;
      if (meaning === "interrupt") return [{ content: { kind: "interrupt" } }];
      if (isPrompt(entry)) return [{ content: { kind: "prompt", content: plain(content) } }];
      return meaning !== "tool-result" || typeof content === "string" ? [] : content
        .filter(({ type }) => type === "tool_result")
        .map(({ content, is_error: failed }) => ({
          content: { kind: "result", content: plain(content), failed: failed === true },
        }));
    }
    case "assistant": {
      const { model, content } = entry.message;
      return content.map((block) => ({ content: contentOf(inPrint(block, model)), model }));
    }
    case "system":
      return entry.subtype === "compact_boundary" ? [{ content: { kind: "compaction" } }] : [];
    default:
      return [];
  }
}

/** A block as it is printed: what Claude Code says in the model's place reads otherwise on its screen. */
function inPrint(block: ContentBlock, model: string): ContentBlock {
  const { text } = block;
  return model === "<synthetic>" && typeof text === "string"
    ? { ...block, text: printSentence(text) }
    : block;
}

function contentOf({ type, text, thinking, name, input }: ContentBlock): StepContent {
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

/** The content of a message: text where it is nothing else, however it is written down. */
function plain(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = content.map((block: unknown) =>
    isJsonObject(block) && block["type"] === "text" ? block["text"] : undefined
  );
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : content;
}
