import { CliError } from "../../cli_error.ts";
import { openRecorded } from "../../recording/cassette/read/open_recorded.ts";
import {
  compareConversations,
  type ConversationComparison,
} from "../../recording/cassette/turns/compare_conversations.ts";
import {
  conversationSteps,
  type RecordedStep,
  stepsOnTape,
} from "../../recording/cassette/turns/conversation_steps.ts";
import {
  type RecordedTurns,
  recordedTurns,
} from "../../recording/cassette/turns/recorded_turns.ts";
import { print, printLines, reportJson } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { conversationDifference } from "./conversation_difference.ts";

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
