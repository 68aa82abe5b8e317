import type { RecordedTurn, RecordedTurns } from "./recorded_turns.ts";
import { CliError } from "../../cli_error.ts";
import type { Message } from "../../session/message.ts";
import { type Entry, lineOf } from "../../transcript/entry.ts";
import { jsonLine } from "../../wire/json_text.ts";

/** A recorded conversation up to the end of a turn, and what was said after it. */
export interface RebuiltTranscript {
  /** The transcript, as Claude Code has it in a file; empty where nothing was said before. */
  readonly text: string;
  /** The prompts of the turns that follow. */
  readonly prompts: readonly Message[];
}

/**
 * Lines that say nothing to the model and are about one machine, or one moment: what waits to be taken, copies of files
 * that only the recorded session had, whose login it was, and where it stood.
 */
const OF_THE_MOMENT = ["queue-operation", "file-history-snapshot", "session-owner", "last-prompt"];

/**
 * Rebuilds the transcript of a recorded conversation up to the end of a turn.
 *
 * @param children the conversation, a part for each Claude Code that it was held with
 * @param options.at the number of that turn, from 1 on; 0 for what was there before the first
 * @param options.sessionId the session that goes on with it
 * @throws {CliError} when there are not so many turns, or it cannot be told what belongs to which of them
 */
export function rebuildTranscript(
  children: readonly RecordedTurns[],
  { at, sessionId }: { readonly at: number; readonly sessionId: string },
): RebuiltTranscript {
  const turns = children.flatMap((child) => child.turns);
  if (at > turns.length) {
    throw new CliError(
      `Cannot fork at turn ${at}: the recording has ${turns.length} turn${
        turns.length === 1 ? "" : "s"
      }`,
      { suggestion: `Use --at with a number from 0 to ${turns.length}` },
    );
  }
  const next = turns[at];
  if (at > 0 && next !== undefined && isOneWithBefore(next)) {
    throw new CliError(`Cannot fork at turn ${at}: turn ${at + 1} was answered together with it`, {
      suggestion: `Fork before it, with --at ${at - 1}, or behind both, with --at ${at + 1}`,
    });
  }
  const text = entriesUpTo(children, at).map(lineOf)
    .filter(({ type }) => !OF_THE_MOMENT.includes(`${type}`))
    .map((line) => `${jsonLine("sessionId" in line ? { ...line, sessionId } : line)}\n`)
    .join("");
  const unanswered = children.at(-1)?.unanswered ?? [];
  return { text, prompts: [...turns.slice(at).flatMap(({ prompts }) => prompts), ...unanswered] };
}

/** Whether what a turn added to the transcript is among what the turn before added. */
function isOneWithBefore({ prompts, entries, result }: RecordedTurn): boolean {
  const isLocal = prompts.length > 0 && prompts.every(({ way }) => way === undefined);
  return entries.length === 0 && !isLocal && result.subtype === "success";
}

/**
 * The lines up to the end of a turn. Each Claude Code but the first begins with what it was given: all that was before it,
 * or nothing where the conversation was cleared.
 */
function entriesUpTo(children: readonly RecordedTurns[], at: number): readonly Entry[] {
  let left = at;
  const further = [...children];
  for (let child = further.shift(); child !== undefined; child = further.shift()) {
    const { earlier, turns } = child;
    if (left < turns.length || further.length === 0) {
      return [...earlier, ...turns.slice(0, left).flatMap(({ entries }) => entries)];
    }
    left -= turns.length;
  }
  return [];
}
