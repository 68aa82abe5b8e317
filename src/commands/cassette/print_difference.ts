import { CliError } from "../../cli_error.ts";
import { openConversation } from "../../cassette/read/open_conversation.ts";
import {
  compareConversations,
  type Comparison,
} from "../../cassette/turns/compare_conversations.ts";
import {
  type ConversationStep,
  conversationSteps,
  stepsOnTape,
} from "../../cassette/turns/conversation_steps.ts";
import { recordedTurns } from "../../cassette/turns/recorded_turns.ts";
import { printLines, reportJson } from "../report/print.ts";
import { conversationDifference } from "./conversation_difference.ts";

/**
 * Prints where two recorded conversations part, in words or as one JSON object.
 *
 * @returns the exit code: 1 if they do
 */
export function printDifference(
  { dir, other, json }: { readonly dir: string; readonly other: string; readonly json: boolean },
): number {
  const comparison: Comparison = compareConversations(stepsOf(dir), stepsOf(other));
  const text = json
    ? reportJson({ same: comparison.parting === undefined, ...comparison })
    : conversationDifference(comparison, [dir, other]);
  printLines(`${text}\n`);
  return comparison.parting === undefined ? 0 : 1;
}

function stepsOf(folder: string): readonly ConversationStep[] {
  const { children } = openConversation(folder);
  const casts = children.flatMap((child) => "cast" in child ? [recordedTurns(child.cast)] : []);
  if (casts.length === children.length) return conversationSteps(casts);
  const tapes = children.flatMap((child) => "tape" in child ? child.tape : []);
  if (casts.length === 0) return stepsOnTape(tapes);
  throw new CliError(`Cannot read ${folder}: some of its recordings have no child.cast`, {
    suggestion: "Restore the file from a copy",
  });
}
