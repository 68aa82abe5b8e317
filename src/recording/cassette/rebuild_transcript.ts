import type { RecordedTurn, RecordedTurns } from "./recorded_turns.ts";
import { CliError } from "../../cli_error.ts";
import type { Message } from "../../conversation/control/message.ts";
import { type Entry, lineOf } from "../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";

/** A recorded conversation up to the end of a turn, and the prompts after it. */
interface RebuiltTranscript {
  /** The text of the transcript file; empty if the conversation had not begun. */
  readonly text: string;
  /** The transcripts and notes of subagents, by paths below the session's folder. */
  readonly subagentFiles: readonly { readonly path: string; readonly text: string }[];
  /** The prompts of the later turns. */
  readonly prompts: readonly Message[];
}

/**
 * Types of lines that a fork keeps: the conversation itself, and the lines that Claude Code needs to send the model the
 * same messages. Other lines belong to one machine or moment. Some would let the author of the recording decide where
 * the fork works and what it may do: Claude Code enters the worktree that a line names (2.1.330).
 */
const KEPT_LINES: readonly unknown[] = [
  ...["user", "assistant", "system", "attachment", "summary", "content-replacement"],
  ...["api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state"],
  ...["custom-title", "ai-title"],
];

/** Attachments that allow or call a tool, or schedule an action. */
const DROPPED_ATTACHMENTS: readonly unknown[] = [
  "command_permissions",
  "hook_deferred_tool",
  "session_cron_carry",
];

/**
 * Rebuilds the transcript of a recorded conversation up to the end of a turn.
 *
 * @param children the parts of the conversation, one for each child
 * @param options.at the number of the turn, from 1; 0 for the state before the first turn
 * @param options.sessionId the session id of the fork
 * @throws {CliError} if there are fewer turns, or the lines of the turn cannot be separated from those of the next
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
  const text = transcriptText(entriesUpTo(children, at), sessionId);
  const unanswered = children.at(-1)?.unanswered ?? [];
  return {
    text,
    subagentFiles: subagentsUpTo(children, { at, sessionId }),
    prompts: [...turns.slice(at).flatMap(({ prompts }) => prompts), ...unanswered],
  };
}

function transcriptText(entries: readonly Entry[], sessionId: string): string {
  return entries.map(lineOf)
    .filter(isKeptLine)
    .map((line) => `${jsonLine("sessionId" in line ? { ...line, sessionId } : line)}\n`)
    .join("");
}

/** Ids that are safe as part of a file name. */
const AGENT_ID = /^[\w-]{1,64}$/u;

function subagentsUpTo(
  children: readonly RecordedTurns[],
  { at, sessionId }: { readonly at: number; readonly sessionId: string },
): RebuiltTranscript["subagentFiles"] {
  let before = 0;
  const lines = children.flatMap(({ turns, subagents = [] }) => {
    const own = subagents.filter(({ completed }) => before + completed < at);
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
        text: transcriptText(own.map(({ entry }) => entry), sessionId),
      },
    ];
  });
}

function isKeptLine({ type, attachment }: JsonObject): boolean {
  return KEPT_LINES.includes(type) &&
    !(isJsonObject(attachment) && DROPPED_ATTACHMENTS.includes(attachment.type));
}

/**
 * Whether Claude Code answered a turn together with the previous one. Then the lines of both belong to the previous
 * turn.
 */
function sharesAnswerWithPrevious({ prompts, entries, result }: RecordedTurn): boolean {
  const isLocal = prompts.length > 0 && prompts.every(({ way }) => way === undefined);
  return entries.length === 0 && !isLocal && result.subtype === "success";
}

/**
 * The transcript lines up to the end of a turn. Each later child begins with the lines of the earlier children, or with
 * no lines after `/clear`.
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
