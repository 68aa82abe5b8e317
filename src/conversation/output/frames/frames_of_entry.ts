import { definedFields } from "../../../defined_fields.ts";
import { assistantFrames } from "./assistant_frames.ts";
import { type FrameContext, systemFrame } from "./frame_context.ts";
import { userFrames } from "./user_frames.ts";
import {
  type Entry,
  readBlockedPrompt,
  type SystemEntry,
} from "../../../claude/transcript/entry.ts";
import { isDeferral } from "../../../claude/transcript/turn.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { replaceIds } from "../../../claude/transcript/moved_lines.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/**
 * Returns the frames that `claude -p` prints for a line of a transcript.
 *
 * Prompts, attachments and bookkeeping lines give none. `updateTasks` returns the frames about tasks.
 *
 * Known differences: `usage` holds the final output tokens, not the first count. A call of an MCP tool has no
 * `tool_use_meta`, because no transcript holds the tool's title. A `rate_limit_event` reports only a limit that was hit.
 * There are no `system/thinking_tokens` and `system/notification` frames.
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

function systemFrames(line: SystemEntry, context: FrameContext): readonly Frame[] {
  const entry = replaceIds(line, context.givenIds ?? new Map());
  const uuid = entry.uuid ?? context.newUuid();
  switch (entry.subtype) {
    case "informational":
      return !isForScreen(entry) || readBlockedPrompt(entry) !== undefined
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

/** The `prompt_submit_outcome` of a prompt that a hook has blocked. */
function submitOutcome({ promptSubmitEnding }: SystemEntry): unknown {
  if (!isJsonObject(promptSubmitEnding)) return undefined;
  const { ending, promptKept } = promptSubmitEnding;
  if (!isJsonObject(ending)) return undefined;
  const { kind, reason } = ending;
  const known = typeof reason === "string" ? noVerdict(reason) : undefined;
  return definedFields({ kind, reason, prompt_kept: promptKept, ...known });
}

const FAILED = '[callback]: failed; blocking because onFailure is "block"';
const LATE = /^UserPrompt(?:Submit|Expansion) hook callback timed out after \d+ms$/u;

/**
 * The fields for a caller's hook that gave no verdict on the prompt. They are read from the text of our hook, which ran
 * in its place.
 */
function noVerdict(reason: string): Readonly<Record<string, unknown>> | undefined {
  if (reason.startsWith(`${FAILED}\n`)) {
    return { kind: "no_verdict", no_verdict_kind: "hook_failed", reason: FAILED };
  }
  return LATE.test(reason)
    ? { kind: "no_verdict", no_verdict_kind: "callback_timed_out", reason: undefined }
    : undefined;
}

/** The tags of warnings, which no transcript holds, and the words with which each warning begins. */
const TAGS: Readonly<Record<string, RegExp>> = {
  // 2.1.332 and newer.
  skill_shell_hook: /^(?:Not run in|Ran anyway in) \/|^PreSkillShellCommand\S* says: /u,
  auto_mode_no_server_check: /^Auto mode can't check actions in this session\. /u,
};

function taggedFields(entry: SystemEntry): Readonly<Record<string, unknown>> {
  const { content, level, timestamp } = entry;
  if (typeof content !== "string" || level !== "warning") return {};
  const tag = Object.keys(TAGS).find((tag) => TAGS[tag]?.test(content));
  // `claude -p` prints this warning with the fields of its line.
  return tag === "auto_mode_no_server_check" ? { tag, isMeta: false, timestamp } : { tag };
}

/**
 * Messages for the terminal, which `claude -p` does not print: about the wait for the end of a limit, a request that is
 * repeated without a stream, the log file of `/debug`, the parts that `/status` cannot check, and auto mode.
 */
const FOR_SCREEN =
  /set to continue automatically|· continuing automatically at |^Streaming response ended before any complete data was received\.|^Logging to |^Goal paused |^\/status checks your setup |^Auto mode lets Claude handle permission prompts /u;

function isForScreen({ content }: SystemEntry): boolean {
  return typeof content === "string" && FOR_SCREEN.test(content);
}

type Names = Readonly<Record<string, string>>;

/** The fields of `compact_metadata`, by their names in a transcript. Other fields are not printed. */
const COMPACTION_FIELDS: Names = {
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

/** The fields about messages that a compaction keeps. */
const PRESERVED_FIELDS: Names = {
  headUuid: "head_uuid",
  anchorUuid: "anchor_uuid",
  tailUuid: "tail_uuid",
  uuids: "uuids",
  allUuids: "all_uuids",
};

function compactMetadata({ compactMetadata: facts }: SystemEntry): JsonObject {
  return isJsonObject(facts) ? renamed(facts, COMPACTION_FIELDS) : {};
}

/** The trigger of a compaction: `auto` or `manual`. */
export function triggerOf({ compactMetadata: facts }: SystemEntry): unknown {
  return isJsonObject(facts) ? facts.trigger : undefined;
}

/** The ids of the lines that a compaction keeps. An old Claude Code (2.1.197) writes these lines again. */
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
      return [[name, isPreserved ? renamed(value, PRESERVED_FIELDS) : value]];
    }),
  );
}
