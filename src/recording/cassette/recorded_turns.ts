import type { CastReader } from "./cassette_format.ts";
import { castSteps } from "./cast_steps.ts";
import { advance, startConversation } from "../../conversation/output/advance.ts";
import { partsOf } from "../../conversation/output/conversation.ts";
import type { Message } from "../../conversation/control/message.ts";
import type { SubagentLine } from "../../conversation/control/input.ts";
import { type Entry, isPrompt, type UserEntry } from "../../claude/transcript/entry.ts";
import { asText } from "../../json_object.ts";
import { lineId, parentsFirst } from "../../claude/transcript/parents_first.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";

/** A turn of a recorded conversation. */
export interface RecordedTurn {
  /** What was said to Claude Code; nothing where it went on by itself. */
  readonly prompts: readonly Message[];
  /** What it added to the transcript; nothing where that is among what the turn before added, whose answer is its own too. */
  readonly entries: readonly Entry[];
  readonly result: ResultFrame;
}

/** The conversation that one Claude Code had part in. */
export interface RecordedTurns {
  /** The transcript that it went on with. */
  readonly earlier: readonly Entry[];
  readonly turns: readonly RecordedTurn[];
  /** What was said and has no result, because the recording stops before. */
  readonly unanswered: readonly Message[];
  /** The lines of subagents, each with the number of the turns that were over when it came. */
  readonly subagents?: readonly (SubagentLine & { readonly over: number })[];
}

/** A line of the transcript, and how many turns were over when it came. */
interface Arrival {
  readonly entry: Entry;
  readonly over: number;
}

/**
 * Tells the turns of a recorded conversation apart: its inputs are given to the machines, which say when each was over
 * and what it answered.
 *
 * What Claude Code writes once an answer is known belongs to its turn, up to the next prompt.
 */
export function readTurns(cast: CastReader): RecordedTurns {
  let state = startConversation(cast.header.claude_print.conversation);
  let earlier: readonly Entry[] = [];
  const arrivals: Arrival[] = [];
  const subagents: (SubagentLine & { readonly over: number })[] = [];
  const said: Message[] = [];
  const turns: { prompts: readonly Message[]; readonly result: ResultFrame }[] = [];
  const unanswered = new Set<Message>();
  /** The first turn of which nothing has been reported. */
  let unreported = 0;
  const answer = (prompts: readonly Message[]) => {
    for (const prompt of prompts) unanswered.delete(prompt);
    const turn = turns[unreported];
    if (turn !== undefined) turn.prompts = prompts;
    unreported = turns.length;
  };
  for (const { input } of castSteps(cast)) {
    if (input.type === "earlier") earlier = input.entries;
    if (input.type === "transcript") arrivals.push({ entry: input.entry, over: turns.length });
    if (input.type === "subagent") subagents.push({ ...input.line, over: turns.length });
    if (input.type === "message") unanswered.add(input.message);
    // By its ticket a message is known in what becomes of it.
    const heard = input.type === "message"
      ? { ...input, message: { ...input.message, ticket: `${said.push(input.message) - 1}` } }
      : input;
    const next = advance(state, heard);
    state = next.state;
    for (const effect of next.effects.flatMap(partsOf)) {
      if (effect.type === "frame" && effect.frame.type === "result") {
        turns.push({ prompts: [], result: effect.frame });
      } else if (effect.type === "report") {
        const { tickets = [] } = effect.report;
        answer(tickets.flatMap((ticket) => said[Number(ticket)] ?? []));
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
 * The lines of each turn. A prompt that the caller said is of the turn that answered it, which Claude Code may have begun
 * before the result of the one before was told; any other one is of that which was under way when it came.
 */
function entriesOf(
  arrivals: readonly Arrival[],
  turns: readonly Pick<RecordedTurn, "prompts">[],
): ReadonlyMap<number, readonly Entry[]> {
  const over = new Map(arrivals.map(({ entry, over }) => [lineId(entry) ?? entry, over]));
  const said = turns.flatMap(({ prompts }, turn) => prompts.map(({ text }) => ({ text, turn })));
  const entries = new Map<number, Entry[]>();
  let turn = 0;
  for (const entry of parentsFirst(arrivals.map(({ entry }) => entry))) {
    if (isPrompt(entry)) {
      const at = said.findIndex(({ text }) => text === textOf(entry));
      const [own] = at === -1 ? [] : said.splice(at, 1);
      turn = Math.max(turn, own?.turn ?? over.get(lineId(entry) ?? entry) ?? 0);
    }
    const own = entries.get(turn);
    if (own === undefined) entries.set(turn, [entry]);
    else own.push(entry);
  }
  return entries;
}

function textOf({ message: { content } }: UserEntry): string {
  return typeof content === "string"
    ? content
    : content.map((block) => block.type === "text" ? asText(block.text) : "").join("");
}
