import * as z from "zod/mini";
import { isJsonObject, type JsonObject } from "./json_object.ts";

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
 * What a user line is: somebody's prompt, a tool's result, the mark of an interrupt, the trace of a
 * command that Claude Code carried out by itself, or a remark of Claude Code for the model.
 */
export type UserMeaning = "prompt" | "tool-result" | "interrupt" | "local-command" | "remark";

/** A prompt, a tool result, or something Claude Code says to the model in the user's name. */
export interface UserEntry extends EntryFields {
  readonly type: "user";
  /** Not in the file: what the rest of the line amounts to. */
  readonly meaning: UserMeaning;
  readonly message: JsonObject & { readonly content: string | readonly ContentBlock[] };
  /** True for what Claude Code itself wrote: nudges, hook feedback, skill texts. */
  readonly isMeta?: boolean | undefined;
  readonly promptId?: string | undefined;
  /** Who allowed or refused the call a result belongs to; since 2.1.330. */
  readonly permissionDecision?: JsonObject | undefined;
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

const block = z.looseObject({ type: z.string() });

const fields = {
  uuid: z.optional(z.string()),
  parentUuid: z.nullish(z.string()),
  logicalParentUuid: z.nullish(z.string()),
  isSidechain: z.optional(z.boolean()),
  timestamp: z.optional(z.string()),
  sessionId: z.optional(z.string()),
  version: z.optional(z.string()),
  cwd: z.optional(z.string()),
  entrypoint: z.catch(z.optional(z.string()), undefined),
};

const known = z.discriminatedUnion("type", [
  z.looseObject({
    ...fields,
    type: z.literal("user"),
    message: z.looseObject({ content: z.union([z.string(), z.array(block)]) }),
    isMeta: z.optional(z.boolean()),
    isCompactSummary: z.optional(z.boolean()),
    promptId: z.optional(z.string()),
    permissionDecision: z.catch(z.optional(z.looseObject({})), undefined),
  }),
  z.looseObject({
    ...fields,
    type: z.literal("assistant"),
    message: z.looseObject({
      id: z.string(),
      model: z.string(),
      content: z.array(block),
      stop_reason: z.nullish(z.string()),
      usage: z.nullish(z.looseObject({})),
    }),
    requestId: z.optional(z.string()),
    error: z.optional(z.string()),
    isApiErrorMessage: z.optional(z.boolean()),
    apiErrorStatus: z.nullish(z.number()),
    apiErrorType: z.nullish(z.string()),
  }),
  z.looseObject({ ...fields, type: z.literal("system"), subtype: z.optional(z.string()) }),
  z.looseObject({ ...fields, type: z.literal("attachment"), attachment: block }),
]);

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
  if (!isJsonObject(value)) return undefined;
  const parsed = known.safeParse(value);
  if (!parsed.success) return { type: "other", line: value };
  const entry = parsed.data;
  return entry.type === "user" ? { ...entry, meaning: meaningOf(entry) } : entry;
}

type UserLine = Extract<z.infer<typeof known>, { readonly type: "user" }>;

function meaningOf(line: UserLine): UserMeaning {
  const { content } = line.message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (blocks.some((block) => block.type === "tool_result")) return "tool-result";
  const starts = (pattern: RegExp) =>
    blocks.some((block) => typeof block.text === "string" && pattern.test(block.text));
  if (starts(/^\[Request interrupted by user/)) return "interrupt";
  if (line.isMeta === true || line.isCompactSummary === true) return "remark";
  return starts(/^<local-command-std(out|err)>/) ? "local-command" : "prompt";
}
