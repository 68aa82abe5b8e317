import { CliError } from "../../cli_error.ts";
import { openRecorded } from "../../recording/cassette/read/open_cassette.ts";
import {
  compareConversations,
  type ConversationComparison,
  conversationSteps,
  type Parting,
  type RecordedStep,
  type StepContent,
  stepsOnTape,
} from "../../recording/cassette/compare_conversations.ts";
import { type RecordedTurns, recordedTurns } from "../../recording/cassette/recorded_turns.ts";
import { print, printLines, reportJson } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { count } from "../report/count.ts";

const BY_TAPE = "Compared by their tapes, on which the prompt of a run of one prompt is not";

/**
 * Prints where two recorded conversations part, in words or as one JSON object.
 *
 * @returns the exit code: 1 if they do
 */
export function printDifference(
  { dir, other, json }: { readonly dir: string; readonly other: string; readonly json: boolean },
): number {
  const casts = [castsOf(dir), castsOf(other)];
  const byTape = casts.includes(undefined);
  const [one, another] = byTape
    ? [tapeStepsOf(dir), tapeStepsOf(other)]
    : casts.map((each = []) => conversationSteps(each));
  const comparison: ConversationComparison = compareConversations(one ?? [], another ?? []);
  const text = json
    ? reportJson({ same: comparison.parting === undefined, ...comparison })
    : conversationDifference(comparison, [dir, other]);
  printLines(`${text}\n`);
  if (byTape) print(Deno.stderr, problemText({ message: BY_TAPE }));
  return comparison.parting === undefined ? 0 : 1;
}

/** What each Claude Code of a conversation had part in; undefined where that cannot be told of all of them. */
function castsOf(folder: string): readonly RecordedTurns[] | undefined {
  const { children } = openRecorded(folder);
  const casts = children.flatMap((child) => "cast" in child ? [recordedTurns(child.cast)] : []);
  return casts.length === children.length ? casts : undefined;
}

/** What tapes tell of a conversation, which is the same of two of which one has no cast. */
function tapeStepsOf(folder: string): readonly RecordedStep[] {
  const { children } = openRecorded(folder, { byTape: true });
  const tapes = children.flatMap((child) => "tape" in child ? [child.tape] : []);
  if (tapes.length === children.length) return stepsOnTape(tapes.flat());
  throw new CliError(`Cannot compare ${folder}: some of its recordings have no tape.jsonl`, {
    suggestion: "Restore the file from a copy, or the child.cast of the other one",
  });
}

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
