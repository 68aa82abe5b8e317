import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** One block of a message: `text`, `thinking`, `tool_use`, `tool_result`, … */
export interface ContentBlock extends JsonObject {
  readonly type: string;
}

/** The common fields of a conversation's lines. Claude Code writes all of them and reads few. */
export interface EntryFields extends JsonObject {
  readonly uuid?: string | undefined;
  readonly parentUuid?: string | null | undefined;
  /** Set on the first line after a compaction, whose `parentUuid` is null. */
  readonly logicalParentUuid?: string | null | undefined;
  /** True in a subagent's own transcript. */
  readonly isSidechain?: boolean | undefined;
  /** ISO 8601, UTC. */
  readonly timestamp?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly version?: string | undefined;
  readonly cwd?: string | undefined;
  /** What kind of Claude Code wrote the line: `cli` is the interactive one, `sdk-cli` is `claude -p`. */
  readonly entrypoint?: string | undefined;
}

/**
 * The meaning of a user line.
 *
 * - `prompt`: a message, a scheduled prompt or the end of a task
 * - `tool-result`: the result of a tool
 * - `interrupt`: the mark of an interrupted turn
 * - `local-command`: the output of a command that Claude Code runs without the model
 * - `remark`: a text by Claude Code for the model
 */
export type UserMeaning = "prompt" | "tool-result" | "interrupt" | "local-command" | "remark";

/** A user line as it is in the file. */
export interface UserLine extends EntryFields {
  readonly type: "user";
  readonly message: JsonObject & { readonly content: string | readonly ContentBlock[] };
  /** True for texts by Claude Code: reminders, hook feedback, skills. */
  readonly isMeta?: boolean | undefined;
  readonly promptId?: string | undefined;
  /** Who allowed or refused the call of this result; not in every version. */
  readonly permissionDecision?: JsonObject | undefined;
}

/** A user line and its meaning. */
export interface UserEntry extends UserLine {
  /** Not in the file: derived from the other fields. */
  readonly meaning: UserMeaning;
}

/** One block of one answer. All blocks of an answer share `message.id` and the final usage. */
export interface AssistantEntry extends EntryFields {
  readonly type: "assistant";
  readonly message: JsonObject & {
    readonly id: string;
    readonly model: string;
    readonly content: readonly ContentBlock[];
    readonly stop_reason?: string | null | undefined;
    readonly usage?: JsonObject | null | undefined;
  };
  readonly requestId?: string | undefined;
  /** A class such as `rate_limit`, on messages that Claude Code made of an API error. */
  readonly error?: string | undefined;
  readonly isApiErrorMessage?: boolean | undefined;
  /** The HTTP status of the error; absent if there was no response. */
  readonly apiErrorStatus?: number | null | undefined;
  readonly apiErrorType?: string | null | undefined;
}

/** A line about the session, such as `turn_duration` at the end of a turn. */
export interface SystemEntry extends EntryFields {
  readonly type: "system";
  readonly subtype?: string | undefined;
}

/** Context for the model: listings of tools, skills, agents and so on. */
export interface AttachmentEntry extends EntryFields {
  readonly type: "attachment";
  readonly attachment: ContentBlock;
}

/** A line of another type, or of a known type with an unexpected shape. */
export interface OtherEntry {
  readonly type: "other";
  /** The line itself, its own `type` included. */
  readonly line: JsonObject;
}

/** One line of a transcript. */
export type Entry = UserEntry | AssistantEntry | SystemEntry | AttachmentEntry | OtherEntry;

/**
 * Reads one line of a transcript.
 *
 * Unknown fields stay. Unknown types and unexpected shapes become `other`. Returns undefined if the line is not a JSON
 * object, for example because it is not complete yet. Never throws.
 */
export function parseEntry(line: string): Entry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return readEntry(value);
}

/** Reads the object of a line; undefined for any other value. */
export function readEntry(value: unknown): Entry | undefined {
  if (!isJsonObject(value)) return undefined;
  const line = removeUnexpectedFields(value);
  if (!hasEntryFields(line)) return { type: "other", line: value };
  switch (line.type) {
    case "user":
      return isUserLine(line)
        ? { ...line, meaning: meaningOf(line) }
        : { type: "other", line: value };
    case "assistant":
      return isAssistantLine(line) ? line : { type: "other", line: value };
    case "system":
      if (isNaming(line)) {
        return {
          ...line,
          type: "user",
          message: { role: "user", content: line.content },
          meaning: "prompt",
        };
      }
      return isSystemLine(line) ? line : { type: "other", line: value };
    case "attachment":
      return isAttachmentLine(line) ? line : { type: "other", line: value };
    default:
      return { type: "other", line: value };
  }
}

/** Removes two optional fields if they have another type than expected, so that the line can still be used. */
function removeUnexpectedFields(value: JsonObject): JsonObject {
  const { entrypoint, permissionDecision: decision } = value;
  const isFit = (entrypoint === undefined || typeof entrypoint === "string") &&
    (decision === undefined || isJsonObject(decision));
  return isFit ? value : {
    ...value,
    entrypoint: typeof entrypoint === "string" ? entrypoint : undefined,
    permissionDecision: isJsonObject(decision) ? decision : undefined,
  };
}

/** Returns the object that an entry was read from. */
export function lineOf(entry: Entry): JsonObject {
  if (entry.type === "other") return entry.line;
  if (entry.type !== "user") return entry;
  const { meaning: _, ...line } = entry;
  if (line["subtype"] === undefined) return line;
  const { message: __, ...naming } = line;
  return { ...naming, type: "system" };
}

/** Whether a line is the command that renames a session. It is a system line, but it counts as a prompt (2.1.330). */
function isNaming(line: JsonObject): line is JsonObject & { readonly content: string } {
  return line.subtype === "local_command" && typeof line.content === "string" &&
    /^<command-name>\/(?:re)?name<\//u.test(line.content);
}

function hasEntryFields(line: JsonObject): line is EntryFields {
  return isOptional("string", line.uuid) && isOptional("string", line.timestamp) &&
    isOptional("string", line.sessionId) && isOptional("string", line.version) &&
    isOptional("string", line.cwd) && isNullable("string", line.parentUuid) &&
    isNullable("string", line.logicalParentUuid) && isOptional("boolean", line.isSidechain);
}

function isUserLine(line: JsonObject): line is UserLine {
  const { message } = line;
  return isJsonObject(message) &&
    (typeof message.content === "string" || isContent(message.content)) &&
    isOptional("boolean", line.isMeta) && isOptional("boolean", line.isCompactSummary) &&
    isOptional("string", line.promptId);
}

function isAssistantLine(line: JsonObject): line is AssistantEntry {
  const { message } = line;
  return isJsonObject(message) && typeof message.id === "string" &&
    typeof message.model === "string" && isContent(message.content) &&
    isNullable("string", message.stop_reason) &&
    (message.usage === undefined || message.usage === null || isJsonObject(message.usage)) &&
    isOptional("string", line.requestId) && isOptional("string", line.error) &&
    isOptional("boolean", line.isApiErrorMessage) && isNullable("number", line.apiErrorStatus) &&
    isNullable("string", line.apiErrorType);
}

function isSystemLine(line: JsonObject): line is SystemEntry {
  return isOptional("string", line.subtype);
}

function isAttachmentLine(line: JsonObject): line is AttachmentEntry {
  return isBlock(line.attachment);
}

function isContent(value: unknown): value is readonly ContentBlock[] {
  return Array.isArray(value) && value.every(isBlock);
}

function isBlock(value: unknown): value is ContentBlock {
  return isJsonObject(value) && typeof value.type === "string";
}

function isOptional(type: "string" | "boolean", value: unknown): boolean {
  return value === undefined || typeof value === type;
}

function isNullable(type: "string" | "number", value: unknown): boolean {
  return value === undefined || value === null || typeof value === type;
}

/** Whether a line is a prompt of the session, not of a subagent. */
export function isPrompt(entry: Entry): entry is UserEntry {
  return entry.type === "user" && entry.meaning === "prompt" && entry.isSidechain !== true;
}

/** Whether a line marks a compaction of what is before it. */
export function isCompactionBoundary(entry: Entry): entry is SystemEntry {
  return entry.type === "system" && entry.subtype === "compact_boundary" &&
    entry.isSidechain !== true;
}

function meaningOf(line: UserLine): UserMeaning {
  const { content } = line.message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (blocks.some((block) => block.type === "tool_result")) return "tool-result";
  const starts = (pattern: RegExp) =>
    blocks.some((block) => typeof block.text === "string" && pattern.test(block.text));
  if (starts(/^\[Request interrupted by user[^\]]*\]$/u)) return "interrupt";
  if (isScheduledPrompt(line)) return "prompt";
  if (line.isMeta === true || line.isCompactSummary === true) return "remark";
  return starts(/^<local-command-std(out|err)>/) ? "local-command" : "prompt";
}

/** Whether a line is a prompt that the model scheduled: a wake-up or a recurring task (2.1.330). */
export function isScheduledPrompt({ wakeupSource }: JsonObject): boolean {
  return typeof wakeupSource === "string";
}

/** Returns the text that replaces the answer if a UserPromptSubmit hook has blocked the prompt. */
export function readBlockedPrompt(
  { subtype, preventContinuation, content }: SystemEntry,
): string | undefined {
  return subtype === "informational" && preventContinuation === true && typeof content === "string"
    ? content
    : undefined;
}

const RESUMPTION_REMARK = "Continue from where you left off.";
const RESUMPTION_ANSWER = "No response requested.";

/**
 * Whether a line is filler before the first prompt of a resumed session. If the session's last line is not an answer,
 * 2.1.197 writes a remark and an answer to it. `claude -p` writes them too, but does not print or count them.
 */
export function isResumptionFiller(entry: Entry): boolean {
  if (entry.type !== "user" && entry.type !== "assistant") return false;
  const { content } = entry.message;
  const [block, ...others] = typeof content === "string" ? [] : content;
  if (block === undefined || others.length > 0) return false;
  return entry.type === "user"
    ? entry.isMeta === true && block.text === RESUMPTION_REMARK
    : entry.message.model === "<synthetic>" && block.text === RESUMPTION_ANSWER;
}
