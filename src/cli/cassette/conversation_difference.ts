import type {
  ConversationComparison,
  Parting,
} from "../../recording/cassette/turns/compare_conversations.ts";
import type { StepContent } from "../../recording/cassette/turns/conversation_steps.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { count } from "../report/count.ts";

/** Most characters of a step that are told. */
const MOST = 200;

/** What is told of either conversation. */
type Sides = readonly [one: string, other: string];

/**
 * Where two conversations part, in words.
 *
 * @param names what they are called
 */
export function conversationDifference(
  { common, turns, models, parting }: ConversationComparison,
  names: Sides,
): string {
  const shared = `${count(common.turns, "turn")} and ${count(common.steps, "step")}`;
  const both = (sides: Sides) => sides.map((side, index) => `  ${names[index]}: ${side}`);
  const spoken = models.map((each) => each.join(", ") || "none") as [string, string];
  const lines = parting === undefined ? [`Both conversations are the same, for ${shared}`] : [
    `The conversations are the same for ${shared}, and part in turn ${parting.turn}${
      placeOf(parting)
    }:`,
    ...both(sidesOf(parting)),
    `Turns in all: ${turns.join(" and ")}`,
  ];
  const spokenBy = ["Their models, which do not count:", ...both(spoken)];
  return [...lines, ...(spoken[0] === spoken[1] ? [] : spokenBy)]
    .map((line) => nameUnseen(line)).join("\n");
}

/** At what, where both have a step of the same kind. */
function placeOf({ one, other, difference }: Parting): string {
  if (one === undefined || one.kind !== other?.kind) return "";
  const { pointer = "" } = difference ?? {};
  return `, at ${NAMES[one.kind]}${pointer === "" ? "" : ` (${pointer})`}`;
}

const NAMES: Readonly<Record<StepContent["kind"], string>> = {
  prompt: "a prompt",
  thinking: "what is thought",
  answer: "an answer",
  call: "a call of a tool",
  result: "the result of a tool",
  interrupt: "an interrupt",
  compaction: "a compaction",
  block: "a block of an answer",
};

/** What either has there: what differs of steps of one kind, else the steps. */
function sidesOf({ one, other, difference }: Parting): Sides {
  return one !== undefined && one.kind === other?.kind && difference !== undefined
    ? [difference.one ?? "nothing", difference.other ?? "nothing"]
    : [told(one), told(other)];
}

function told(step: StepContent | undefined): string {
  if (step === undefined) return "is over";
  const { kind, ...rest } = step;
  const text = JSON.stringify(rest);
  const shown = text === "{}" ? "" : `, ${text.slice(0, MOST)}${text.length > MOST ? "…" : ""}`;
  return `${NAMES[kind]}${shown}`;
}
