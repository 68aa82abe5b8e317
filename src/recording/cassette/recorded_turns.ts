import type { CastReader } from "./cassette_format.ts";
import { castSteps } from "./cast_steps.ts";
import { advance, startConversation } from "../../conversation/output/advance.ts";
import { partsOf } from "../../conversation/output/conversation.ts";
import type { Message } from "../../conversation/control/message.ts";
import type { SubagentLine } from "../../conversation/control/input.ts";
import { type Entry, isPrompt, type UserEntry } from "../../claude/transcript/entry.ts";
import { asText } from "../../json_object.ts";
import { lineId, sortParentsFirst } from "../../claude/transcript/entry_order.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";

export interface RecordedTurn {
  /** The prompts that the turn answers; none if Claude Code itself began the turn. */
  readonly prompts: readonly Message[];
  /** The transcript lines of the turn; none if its prompt was answered together with the previous turn. */
  readonly entries: readonly Entry[];
  readonly result: ResultFrame;
}

/** The part of a conversation that ran in one child. */
export interface RecordedTurns {
  /** The transcript lines with which the child began. */
  readonly earlier: readonly Entry[];
  readonly turns: readonly RecordedTurn[];
  /** Prompts without a result, because the recording stops earlier. */
  readonly unanswered: readonly Message[];
  /** The lines of subagents, each with the number of turns that were completed when the line arrived. */
  readonly subagents?: readonly (SubagentLine & { readonly completed: number })[];
}

/** A transcript line, and the number of turns that were completed when the line arrived. */
interface Arrival {
  readonly entry: Entry;
  readonly completed: number;
}

/**
 * Splits a recorded conversation into turns. It passes the recorded inputs to a conversation, which reports the end and
 * the prompts of each turn.
 *
 * Claude Code writes some lines of a turn after its answer, so a turn has all lines up to the next prompt.
 */
export function readTurns(cast: CastReader): RecordedTurns {
  let state = startConversation(cast.header.claude_print.conversation);
  let earlier: readonly Entry[] = [];
  const arrivals: Arrival[] = [];
  const subagents: (SubagentLine & { readonly completed: number })[] = [];
  const messages: Message[] = [];
  const turns: { prompts: readonly Message[]; readonly result: ResultFrame }[] = [];
  const unanswered = new Set<Message>();
  /** The first turn without a report. */
  let unreported = 0;
  const answer = (prompts: readonly Message[]) => {
    for (const prompt of prompts) unanswered.delete(prompt);
    const turn = turns[unreported];
    if (turn !== undefined) turn.prompts = prompts;
    unreported = turns.length;
  };
  for (const { input } of castSteps(cast)) {
    if (input.type === "earlier") earlier = input.entries;
    if (input.type === "transcript") arrivals.push({ entry: input.entry, completed: turns.length });
    if (input.type === "subagent") subagents.push({ ...input.line, completed: turns.length });
    if (input.type === "message") unanswered.add(input.message);
    // The report of a turn names its messages by their tickets.
    const received = input.type === "message"
      ? { ...input, message: { ...input.message, ticket: `${messages.push(input.message) - 1}` } }
      : input;
    const next = advance(state, received);
    state = next.state;
    for (const effect of next.effects.flatMap(partsOf)) {
      if (effect.type === "frame" && effect.frame.type === "result") {
        turns.push({ prompts: [], result: effect.frame });
      } else if (effect.type === "report") {
        const { tickets = [] } = effect.report;
        answer(tickets.flatMap((ticket) => messages[Number(ticket)] ?? []));
      }
    }
  }
  const entries = entriesOf(arrivals, turns);
  return {
    earlier,
    turns: turns.map((turn, index) => ({ ...turn, entries: entries.get(index) ?? [] })),
    unanswered: [...unanswered],
    subagents,
  };
}

/**
 * Divides transcript lines among turns. A prompt of the caller belongs to the turn that answered it. Claude Code may
 * take such a prompt before it prints the previous turn's result. Any other prompt belongs to the turn that was
 * running.
 */
function entriesOf(
  arrivals: readonly Arrival[],
  turns: readonly Pick<RecordedTurn, "prompts">[],
): ReadonlyMap<number, readonly Entry[]> {
  const completed = new Map(
    arrivals.map(({ entry, completed }) => [lineId(entry) ?? entry, completed]),
  );
  const prompts = turns.flatMap(({ prompts }, turn) => prompts.map(({ text }) => ({ text, turn })));
  const entries = new Map<number, Entry[]>();
  let turn = 0;
  for (const entry of sortParentsFirst(arrivals.map(({ entry }) => entry))) {
    if (isPrompt(entry)) {
      const at = prompts.findIndex(({ text }) => text === userText(entry));
      const [own] = at === -1 ? [] : prompts.splice(at, 1);
      turn = Math.max(turn, own?.turn ?? completed.get(lineId(entry) ?? entry) ?? 0);
    }
    const own = entries.get(turn);
    if (own === undefined) entries.set(turn, [entry]);
    else own.push(entry);
  }
  return entries;
}

function userText({ message: { content } }: UserEntry): string {
  return typeof content === "string"
    ? content
    : content.map((block) => block.type === "text" ? asText(block.text) : "").join("");
}
