import type { AttachmentEntry, ContentBlock, Entry, OtherEntry, UserEntry } from "./entry.ts";
import { STOPPED_BY_HOOK } from "./special_entries.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { OUTPUT_TOOL } from "./structured_output_tool.ts";

/** Attachments that describe the session. */
const LISTINGS: readonly string[] = [
  "agent_listing_delta",
  "command_permissions",
  "deferred_tools_delta",
  "environment",
  "goal_status",
  "model",
  "queued_command",
  "skill_listing",
];

/** The number of kept characters of a successful tool result: enough to recognise a stop. */
const MAX_RESULT = 64;

/**
 * Returns the part of a printed line that later lines and the turn's result still need: a few MB for 50,000 lines.
 *
 * Ids, texts and errors stay. Thinking, inputs of tools and their results are left out.
 */
export function trimEntry(entry: Exclude<Entry, OtherEntry>): Entry {
  switch (entry.type) {
    case "assistant": {
      const content = entry.message.content.map(trimBlock);
      return { ...entry, message: { ...entry.message, content } };
    }
    case "user":
      return trimUserEntry(entry);
    case "attachment":
      return trimAttachment(entry);
    case "system":
      return entry;
  }
}

function trimBlock(block: ContentBlock): ContentBlock {
  const { type, id, name, text, input } = block;
  if (type === "text") return { type, text };
  // Its input is the structured answer.
  if (name === OUTPUT_TOOL) return { type, id, name, input };
  return type === "tool_use" ? { type, id, name } : { type };
}

function trimUserEntry(entry: UserEntry): UserEntry {
  const { content } = entry.message;
  if (typeof content === "string") return entry;
  if (entry.meaning !== "tool-result") {
    const kept = content.map((block) => block.type === "image" ? { type: block.type } : block);
    return { ...entry, message: { ...entry.message, content: kept } };
  }
  return {
    ...entry,
    message: { ...entry.message, content: content.map(trimResult) },
    toolUseResult: agentIn(entry.toolUseResult),
  };
}

function trimResult(block: ContentBlock): ContentBlock {
  const { type, tool_use_id, is_error, content } = block;
  if (type !== "tool_result" || is_error === true) return block;
  const text = resultText(content);
  // V8 keeps the whole string in memory for a slice of it, unless the slice is built anew.
  const kept = text.length > MAX_RESULT ? text.slice(0, MAX_RESULT).split("").join("") : text;
  return { type, tool_use_id, is_error, content: kept };
}

/** Returns the text of a tool's result; empty for images. */
export function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => isJsonObject(part) && typeof part.text === "string" ? part.text : "")
    .join("");
}

/** The fields of a tool result that tell of a subagent. */
function agentIn(given: unknown): JsonObject | undefined {
  if (!isJsonObject(given) || given.agentId === undefined) return undefined;
  const { agentId, agentType, isAsync, status } = given;
  return { agentId, agentType, isAsync, status };
}

function trimAttachment(entry: AttachmentEntry): AttachmentEntry {
  const { attachment } = entry;
  return attachment.type === STOPPED_BY_HOOK || LISTINGS.includes(attachment.type)
    ? entry
    : { ...entry, attachment: { type: attachment.type } };
}

/** Types of other lines that are read: what the session offers, its title, its cost. */
const USED_LINES: readonly unknown[] = [
  "api-request",
  "api-request-shape",
  "cost-state",
  "custom-title",
  "permission-mode",
];

/**
 * Returns the part of an earlier run's line that this run needs: who wrote it, which model, and what the session offers.
 *
 * @returns undefined if nothing of it is needed
 */
export function trimEarlierEntry(entry: Entry): Entry | undefined {
  switch (entry.type) {
    case "assistant": {
      const { type, uuid, isSidechain, message: { id, model } } = entry;
      return { type, uuid, isSidechain, message: { id, model, content: [] } };
    }
    case "user": {
      const { type, uuid, isSidechain, meaning } = entry;
      return { type, uuid, isSidechain, meaning, message: { content: "" } };
    }
    case "other":
      return USED_LINES.includes(entry.line["type"]) ? entry : undefined;
    default:
      return trimEntry(entry);
  }
}
