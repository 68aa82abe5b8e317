import type { AttachmentEntry, ContentBlock, Entry, OtherEntry, UserEntry } from "./entry.ts";
import { HALTED } from "./special_entries.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { OUTPUT_TOOL } from "./structured_output_tool.ts";

/** What is attached that says something of the session. */
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

/** How much is kept of what a tool gave that succeeded: enough to know what ended it. */
const MAX_RESULT = 64;

/**
 * What is still asked of a line once it has been told, by what comes after it and by the turn's result: of 50,000 lines
 * that is a few MB, whatever tools were given and gave.
 *
 * Left out are what the model thought, what it gave to its tools, which is known as long as they run, and what they
 * gave, but for why they failed. The ids by which lines hang together stay.
 */
export function keptEntry(entry: Exclude<Entry, OtherEntry>): Entry {
  switch (entry.type) {
    case "assistant": {
      const content = entry.message.content.map(keptBlock);
      return { ...entry, message: { ...entry.message, content } };
    }
    case "user":
      return keptUserEntry(entry);
    case "attachment":
      return keptAttachment(entry);
    case "system":
      return entry;
  }
}

function keptBlock(block: ContentBlock): ContentBlock {
  const { type, id, name, text, input } = block;
  if (type === "text") return { type, text };
  // That is the answer.
  if (name === OUTPUT_TOOL) return { type, id, name, input };
  return type === "tool_use" ? { type, id, name } : { type };
}

function keptUserEntry(entry: UserEntry): UserEntry {
  const { content } = entry.message;
  if (typeof content === "string") return entry;
  if (entry.meaning !== "tool-result") {
    const kept = content.map((block) => block.type === "image" ? { type: block.type } : block);
    return { ...entry, message: { ...entry.message, content: kept } };
  }
  return {
    ...entry,
    message: { ...entry.message, content: content.map(keptResult) },
    toolUseResult: agentIn(entry.toolUseResult),
  };
}

function keptResult(block: ContentBlock): ContentBlock {
  const { type, tool_use_id, is_error, content } = block;
  if (type !== "tool_result" || is_error === true) return block;
  const text = resultText(content);
  // A part of a text would keep all of it in memory, unless it is put together anew.
  const kept = text.length > MAX_RESULT ? text.slice(0, MAX_RESULT).split("").join("") : text;
  return { type, tool_use_id, is_error, content: kept };
}

/** The text of a tool's result; empty for images. */
export function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => isJsonObject(part) && typeof part.text === "string" ? part.text : "")
    .join("");
}

/** What is noted of a subagent's start and end. */
function agentIn(given: unknown): JsonObject | undefined {
  if (!isJsonObject(given) || given.agentId === undefined) return undefined;
  const { agentId, agentType, isAsync, status } = given;
  return { agentId, agentType, isAsync, status };
}

function keptAttachment(entry: AttachmentEntry): AttachmentEntry {
  const { attachment } = entry;
  return attachment.type === HALTED || LISTINGS.includes(attachment.type)
    ? entry
    : { ...entry, attachment: { type: attachment.type } };
}

/** Lines of other types that something is read from: what the session has to offer, its title, and what it cost. */
const TELLING: readonly unknown[] = [
  "api-request",
  "api-request-shape",
  "cost-state",
  "custom-title",
  "permission-mode",
];

/**
 * What is still asked of a line that an earlier run of a session has written, which is less than of the lines of this
 * one: who said something and which model, but not what, and what there is on offer.
 *
 * @returns undefined where nothing is
 */
export function recalledEntry(entry: Entry): Entry | undefined {
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
      return TELLING.includes(entry.line["type"]) ? entry : undefined;
    default:
      return keptEntry(entry);
  }
}
