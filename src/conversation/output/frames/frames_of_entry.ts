import { assistantFrames } from "./assistant_frames.ts";
import { defined, type FrameContext, systemFrame } from "./frame_context.ts";
import { userFrames } from "./user_frames.ts";
import { blockedPrompt, type Entry, type SystemEntry } from "../../../claude/transcript/entry.ts";
import { isDeferral } from "../../../claude/transcript/turn.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { withGivenIds } from "../../../claude/transcript/moved_lines.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/**
 * Turns a line of the transcript into the frames `claude -p` prints for it.
 *
 * Prompts, attachments and bookkeeping lines give none. Known differences: `usage` holds the final
 * output tokens, not the first count; a call of an MCP tool has no `tool_use_meta`, because the
 * transcript does not know the tool's title; a `rate_limit_event` only tells of a limit that was hit;
 * there are no `system/thinking_tokens` and `system/notification` frames. What a line says about
 * tasks is told by `updateTasks`.
 */
export function framesOfEntry(entry: Entry, context: FrameContext): readonly Frame[] {
  if (entry.type === "other" || entry.type === "attachment") return [];
  if (entry.isSidechain === true && context.subagent === undefined) return [];
  switch (entry.type) {
    case "assistant":
      return assistantFrames(entry, context);
    case "user":
      return isDeferral(entry) ? [] : userFrames(entry, context);
    case "system":
      return systemFrames(entry, context);
  }
}

/** The frames of a line that Claude Code has written of itself. */
function systemFrames(line: SystemEntry, context: FrameContext): readonly Frame[] {
  const entry = withGivenIds(line, context.givenIds ?? new Map());
  const uuid = entry.uuid ?? context.newUuid();
  switch (entry.subtype) {
    case "informational":
      return !isOfScreen(entry) || blockedPrompt(entry) !== undefined
        ? [
          systemFrame("informational", {
            content: entry.content,
            level: entry.level,
            ...taggedFields(entry),
            prevent_continuation: entry.preventContinuation === true ? true : undefined,
            prompt_submit_outcome: submitOutcome(entry),
            uuid,
          }, context),
        ]
        : [];
    case "compact_boundary":
      return [
        systemFrame("compact_boundary", {
          compact_metadata: compactMetadata(entry),
          logical_parent_uuid: entry.logicalParentUuid ?? undefined,
          uuid,
        }, context),
      ];
    case "model_fallback":
      return [
        systemFrame("model_fallback", {
          trigger: entry.trigger,
          original_model: entry.originalModel,
          fallback_model: entry.fallbackModel,
          content: entry.content,
          uuid,
        }, context),
      ];
    case "model_refusal_no_fallback":
      return [
        systemFrame("model_refusal_no_fallback", {
          original_model: entry.originalModel,
          request_id: entry.requestId,
          api_refusal_category: entry.apiRefusalCategory,
          api_refusal_explanation: entry.apiRefusalExplanation,
          refused_user_message_uuid: entry.refusedUserMessageUuid,
          content: entry.content,
          uuid,
        }, context),
      ];
    default:
      return [];
  }
}

/** How a prompt ended that a hook has blocked. */
function submitOutcome({ promptSubmitEnding }: SystemEntry): unknown {
  if (!isJsonObject(promptSubmitEnding)) return undefined;
  const { ending, promptKept } = promptSubmitEnding;
  if (!isJsonObject(ending)) return undefined;
  const { kind, reason } = ending;
  const known = typeof reason === "string" ? noVerdict(reason) : undefined;
  return defined({ kind, reason, prompt_kept: promptKept, ...known });
}

const FAILED = '[callback]: failed; blocking because onFailure is "block"';
const LATE = /^UserPrompt(?:Submit|Expansion) hook callback timed out after \d+ms$/u;

/** That a hook of the caller's has not judged the prompt, as our hook in its place has said. */
function noVerdict(reason: string): Readonly<Record<string, unknown>> | undefined {
  if (reason.startsWith(`${FAILED}\n`)) {
    return { kind: "no_verdict", no_verdict_kind: "hook_failed", reason: FAILED };
  }
  return LATE.test(reason)
    ? { kind: "no_verdict", no_verdict_kind: "callback_timed_out", reason: undefined }
    : undefined;
}

/** The tags of warnings, which a transcript does not have, by the words that a warning begins with. */
const TAGS: Readonly<Record<string, RegExp>> = {
  // 2.1.332 and newer.
  skill_shell_hook: /^(?:Not run in|Ran anyway in) \/|^PreSkillShellCommand\S* says: /u,
  auto_mode_no_server_check: /^Auto mode can't check actions in this session\. /u,
};

function taggedFields(entry: SystemEntry): Readonly<Record<string, unknown>> {
  const { content, level, timestamp } = entry;
  if (typeof content !== "string" || level !== "warning") return {};
  const tag = Object.keys(TAGS).find((tag) => TAGS[tag]?.test(content));
  // `claude -p` prints this one as the line that its own transcript has.
  return tag === "auto_mode_no_server_check" ? { tag, isMeta: false, timestamp } : { tag };
}

/**
 * Remarks for the person before the screen, which `claude -p` does not print: that the input box waits for the end of a
 * limit, that the request is made again without a stream, where `/debug` logs to, what `/doctor` cannot do, and what the
 * mode auto is.
 */
const OF_SCREEN =
  /set to continue automatically|· continuing automatically at |^Streaming response ended before any complete data was received\.|^Logging to |^Goal paused |^\/status checks your setup |^Auto mode lets Claude handle permission prompts /u;

function isOfScreen({ content }: SystemEntry): boolean {
  return typeof content === "string" && OF_SCREEN.test(content);
}

type Names = Readonly<Record<string, string>>;

/** What `claude -p` calls what a transcript says of a compaction, in its order; the rest is not printed. */
const NAMES: Names = {
  trigger: "trigger",
  preTokens: "pre_tokens",
  postTokens: "post_tokens",
  cumulativeDroppedTokens: "cumulative_dropped_tokens",
  durationMs: "duration_ms",
  userContext: "user_context",
  messagesSummarized: "messages_summarized",
  precomputed: "precomputed",
  preCompactDiscoveredTools: "pre_compact_discovered_tools",
  preCompactArtifactReadVersions: "pre_compact_artifact_read_versions",
  preservedSegment: "preserved_segment",
  preservedMessages: "preserved_messages",
};

/** The same of the messages that a compaction leaves as they are. */
const NAMES_OF_PRESERVED: Names = {
  headUuid: "head_uuid",
  anchorUuid: "anchor_uuid",
  tailUuid: "tail_uuid",
  uuids: "uuids",
  allUuids: "all_uuids",
};

/** The `compact_metadata` that the boundary of a compaction gives. */
function compactMetadata({ compactMetadata: facts }: SystemEntry): JsonObject {
  return isJsonObject(facts) ? renamed(facts, NAMES) : {};
}

/** What gave rise to a compaction: `auto` or `manual`. */
export function triggerOf({ compactMetadata: facts }: SystemEntry): unknown {
  return isJsonObject(facts) ? facts.trigger : undefined;
}

/** Ids of the lines that a compaction leaves as they are, which an old Claude Code (2.1.197) writes once more. */
export function preservedLines({ compactMetadata: facts }: SystemEntry): readonly string[] {
  const kept = isJsonObject(facts) ? facts.preservedMessages : undefined;
  const ids = isJsonObject(kept) ? kept.allUuids ?? kept.uuids : undefined;
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

function renamed(facts: JsonObject, names: Names): JsonObject {
  return Object.fromEntries(
    Object.entries(names).flatMap(([key, name]) => {
      const value = facts[key];
      if (value === undefined) return [];
      const isPreserved = key.startsWith("preserved") && isJsonObject(value);
      return [[name, isPreserved ? renamed(value, NAMES_OF_PRESERVED) : value]];
    }),
  );
}
