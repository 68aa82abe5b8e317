import type { SystemEntry } from "../../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

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
export function compactMetadata({ compactMetadata: facts }: SystemEntry): JsonObject {
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
