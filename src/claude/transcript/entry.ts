import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** One block of a message: `text`, `thinking`, `tool_use`, `tool_result`, … */
export interface ContentBlock extends JsonObject {
  readonly type: string;
}

/** What lines of a conversation have in common. Claude Code writes all of these but relies on few. */
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
 * What a user line is: somebody's prompt, one that the child has sent to itself at its time among them, a tool's result, the mark of an interrupt, the trace of a
 * command that Claude Code carried out by itself, or a remark of Claude Code for the model.
 */
export type UserMeaning = "prompt" | "tool-result" | "interrupt" | "local-command" | "remark";

/** A line in the user's name, as it is in the file. */
export interface UserLine extends EntryFields {
  readonly type: "user";
  readonly message: JsonObject & { readonly content: string | readonly ContentBlock[] };
  /** True for what Claude Code itself wrote: nudges, hook feedback, skill texts. */
  readonly isMeta?: boolean | undefined;
  readonly promptId?: string | undefined;
  /** Who allowed or refused the call a result belongs to; not in every version. */
  readonly permissionDecision?: JsonObject | undefined;
}

/** A prompt, a tool result, or something Claude Code says to the model in the user's name. */
export interface UserEntry extends UserLine {
  /** Not in the file: what the rest of the line amounts to. */
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
  /** A class such as `rate_limit`, on messages that Claude Code made up from an API error. */
  readonly error?: string | undefined;
  readonly isApiErrorMessage?: boolean | undefined;
  /** The HTTP status of the error, absent when there was none. */
  readonly apiErrorStatus?: number | null | undefined;
  readonly apiErrorType?: string | null | undefined;
}

/** A remark of Claude Code, such as `turn_duration` at the end of a turn. */
export interface SystemEntry extends EntryFields {
  readonly type: "system";
  readonly subtype?: string | undefined;
}

/** Context that Claude Code attached to the conversation: listings of tools, skills, agents, … */
export interface AttachmentEntry extends EntryFields {
  readonly type: "attachment";
  readonly attachment: ContentBlock;
}

/** A line of another type, or one of a known type that does not look as expected. */
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
 * Unknown fields stay, unknown types and unexpected shapes become `other`. Returns undefined for
 * what is not a JSON object, such as a line that is still being written. Never throws.
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

/** Takes the object of a line for what it is; undefined for any other value. */
export function readEntry(value: unknown): Entry | undefined {
  if (!isJsonObject(value)) return undefined;
  const line = withoutStrangers(value);
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

/** A line without the fields that are not what is relied on, where the rest of the line is. */
function withoutStrangers(value: JsonObject): JsonObject {
  const { entrypoint, permissionDecision: decision } = value;
  const isFit = (entrypoint === undefined || typeof entrypoint === "string") &&
    (decision === undefined || isJsonObject(decision));
  return isFit ? value : {
    ...value,
    entrypoint: typeof entrypoint === "string" ? entrypoint : undefined,
    permissionDecision: isJsonObject(decision) ? decision : undefined,
  };
}

/** The object that an entry was read from. */
export function lineOf(entry: Entry): JsonObject {
  if (entry.type === "other") return entry.line;
  if (entry.type !== "user") return entry;
  const { meaning: _, ...line } = entry;
  if (line["subtype"] === undefined) return line;
  const { message: __, ...naming } = line;
  return { ...naming, type: "system" };
}

/** The command by which a session gets a title: its line is one of Claude Code's own, and a prompt all the same (2.1.330). */
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

/** Whether a line is a prompt of the session itself, and not a subagent's. */
export function isPrompt(entry: Entry): entry is UserEntry {
  return entry.type === "user" && entry.meaning === "prompt" && entry.isSidechain !== true;
}

/** Whether a line says that the conversation before it has been compacted. */
export function isBoundary(entry: Entry): entry is SystemEntry {
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
  if (isTimed(line)) return "prompt";
  if (line.isMeta === true || line.isCompactSummary === true) return "remark";
  return starts(/^<local-command-std(out|err)>/) ? "local-command" : "prompt";
}

/** Whether a line is a prompt that has waited for its time: the model has had itself woken, or has made a schedule (2.1.330). */
export function isTimed({ wakeupSource }: JsonObject): boolean {
  return typeof wakeupSource === "string";
}

/** What Claude Code says, in the place of an answer, of a prompt that a UserPromptSubmit hook has blocked. */
export function blockedPrompt(
  { subtype, preventContinuation, content }: SystemEntry,
): string | undefined {
  return subtype === "informational" && preventContinuation === true && typeof content === "string"
    ? content
    : undefined;
}

const RESUMPTION_REMARK = "Continue from where you left off.";
const RESUMPTION_ANSWER = "No response requested.";

/**
 * Whether a line only makes room for the next prompt: before that, 2.1.197 writes a remark of its own and an answer to it
 * when it resumes a session whose last line is no answer. `claude -p` writes them too, but neither prints nor counts
 * them.
 */
export function isResumption(entry: Entry): boolean {
  if (entry.type !== "user" && entry.type !== "assistant") return false;
  const { content } = entry.message;
  const [block, ...others] = typeof content === "string" ? [] : content;
  if (block === undefined || others.length > 0) return false;
  return entry.type === "user"
    ? entry.isMeta === true && block.text === RESUMPTION_REMARK
    : entry.message.model === "<synthetic>" && block.text === RESUMPTION_ANSWER;
}
