import type { RecordedTurn, RecordedTurns } from "./recorded_turns.ts";
import { CliError } from "../../cli_error.ts";
import type { Message } from "../../conversation/control/message.ts";
import { type Entry, lineOf } from "../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";

/** A recorded conversation up to the end of a turn, and what was said after it. */
interface RebuiltTranscript {
  /** The transcript, as Claude Code has it in a file; empty where nothing was said before. */
  readonly text: string;
  /** The transcripts of its subagents, and what is noted of each, by paths below the folder of the session. */
  readonly subagentFiles: readonly { readonly path: string; readonly text: string }[];
  /** The prompts of the turns that follow. */
  readonly prompts: readonly Message[];
}

/**
 * The lines that are taken over: what was said, and what Claude Code needs to tell it the model as it did. All others are
 * of one machine or one moment, or would let whoever wrote the recording decide where the fork works, as whom, and what it
 * may do unasked: Claude Code goes into the worktree that a line names (2.1.330).
 */
const KEPT_LINES: readonly unknown[] = [
  ...["user", "assistant", "system", "attachment", "summary", "content-replacement"],
  ...["api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state"],
  ...["custom-title", "ai-title"],
];

/** What is attached that allows tools, calls one, or says when something is to be done. */
const DROPPED_ATTACHMENTS: readonly unknown[] = [
  "command_permissions",
  "hook_deferred_tool",
  "session_cron_carry",
];

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
  if (at > 0 && next !== undefined && sharesAnswerWithPrevious(next)) {
    throw new CliError(`Cannot fork at turn ${at}: turn ${at + 1} was answered together with it`, {
      suggestion: `Fork before it, with --at ${at - 1}, or behind both, with --at ${at + 1}`,
    });
  }
  const text = textOf(entriesUpTo(children, at), sessionId);
  const unanswered = children.at(-1)?.unanswered ?? [];
  return {
    text,
    subagentFiles: subagentsUpTo(children, { at, sessionId }),
    prompts: [...turns.slice(at).flatMap(({ prompts }) => prompts), ...unanswered],
  };
}

function textOf(entries: readonly Entry[], sessionId: string): string {
  return entries.map(lineOf)
    .filter(isKept)
    .map((line) => `${jsonLine("sessionId" in line ? { ...line, sessionId } : line)}\n`)
    .join("");
}

/** What an id of a subagent has to be so that a file can have its name. */
const AGENT_ID = /^[\w-]{1,64}$/u;

/** The files of subagents up to the end of a turn. */
function subagentsUpTo(
  children: readonly RecordedTurns[],
  { at, sessionId }: { readonly at: number; readonly sessionId: string },
): RebuiltTranscript["subagentFiles"] {
  let before = 0;
  const lines = children.flatMap(({ turns, subagents = [] }) => {
    const own = subagents.filter(({ over }) => before + over < at);
    before += turns.length;
    return own;
  }).filter(({ subagent }) => AGENT_ID.test(subagent.agentId));
  const byId = Map.groupBy(lines, ({ subagent }) => subagent.agentId);
  return [...byId].flatMap(([id, own]) => {
    const { toolUseId, type: agentType, description } = own.at(-1)?.subagent ?? {};
    const note = { agentType, description, ...(toolUseId === undefined ? {} : { toolUseId }) };
    return [
      { path: `subagents/agent-${id}.meta.json`, text: jsonLine(note) },
      {
        path: `subagents/agent-${id}.jsonl`,
        text: textOf(own.map(({ entry }) => entry), sessionId),
      },
    ];
  });
}

function isKept({ type, attachment }: JsonObject): boolean {
  return KEPT_LINES.includes(type) &&
    !(isJsonObject(attachment) && DROPPED_ATTACHMENTS.includes(attachment.type));
}

/** Whether what a turn added to the transcript is among what the turn before added. */
function sharesAnswerWithPrevious({ prompts, entries, result }: RecordedTurn): boolean {
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
