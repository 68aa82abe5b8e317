import {
  type ContentBlock,
  type Entry,
  isPrompt,
  isScheduledPrompt,
  readBlockedPrompt,
  type SystemEntry,
} from "../../claude/transcript/entry.ts";
import {
  readCommandOutput,
  readScheduledWakeup,
  STOPPED_BY_HOOK,
} from "../../claude/transcript/special_entries.ts";
import { asText, isJsonObject } from "../../json_object.ts";

/** The facts about a line of the transcript that control needs. */
export interface TranscriptSign {
  /** Whether the line is a prompt. */
  readonly prompt: boolean;
  /**
   * The text of a prompt, or of a message that joined the running turn. Absent if it is not a text, and for a
   * scheduled prompt.
   */
  readonly asked?: string;
  /** Whether the line is a message of Claude Code about the session. */
  readonly isSystem: boolean;
  /** The text of an answer; absent for none. */
  readonly text?: string;
  /** How the turn ended, if the line marks its end. */
  readonly end?: "completed" | "interrupted";
  /** When a Stop hook continued the turn, in milliseconds since the epoch, if the line reports that. */
  readonly continuedAt?: number;
  /** Whether the line is an API error instead of an answer. */
  readonly failed?: true;
  /** Whether the line is the output of a command that Claude Code has carried out itself. */
  readonly carriedOut?: true;
  /** Whether the line is a warning for the user, for example about an unknown command. */
  readonly warns?: true;
  /** Whether a hook has stopped the turn after a tool: no Stop hook follows. */
  readonly halted?: true;
  /** The text that replaces an answer, if a hook has blocked the prompt. */
  readonly blocked?: string;
  /**
   * The delay until the model is woken, in milliseconds, or that it will not be woken; absent if the line changes
   * neither.
   */
  readonly wakeup?: number | "never";
  /** The longest time that calls on the line give a background shell, in milliseconds; absent for none. */
  readonly shellLimitMs?: number;
  /** Names of the tools that the line calls, by the ids of the calls. */
  readonly called: ReadonlyMap<string, string>;
  /** Ids of the calls whose results are in the line. */
  readonly returned: readonly string[];
}

/** Lines that Claude Code 2.1.330 writes at the end of a turn. */
const ENDS = ["stop_hook_summary", "turn_duration"];

const NOTHING: TranscriptSign = { prompt: false, isSystem: false, called: new Map(), returned: [] };

/**
 * Whether a line reports that a Stop hook continued the turn. Since 2.1.330 it distinguishes hooks that only failed. If
 * another hook stopped the turn, it does not continue.
 */
function makesGoOn(
  { hookErrors, failedHookErrorIndexes: failed, preventedContinuation }: SystemEntry,
): boolean {
  const failures = Array.isArray(failed) ? failed.length : 0;
  return preventedContinuation !== true && Array.isArray(hookErrors) &&
    hookErrors.length > failures;
}

/** Sums up a transcript line. */
export function transcriptSign(entry: Entry): TranscriptSign {
  switch (entry.type) {
    case "user": {
      const prompt = isPrompt(entry);
      return {
        ...NOTHING,
        prompt,
        ...(prompt && !isScheduledPrompt(entry)
          ? { asked: promptText(entry.message.content) }
          : {}),
        ...wakeupOf(entry),
        ...(entry.meaning === "interrupt" ? { end: "interrupted" } : {}),
        ...(readCommandOutput(entry) === undefined ? {} : { carriedOut: true }),
        returned: blocksOf(entry.message.content).map(({ tool_use_id: id }) => id)
          .filter((id) => typeof id === "string"),
      };
    }
    case "assistant": {
      const { content } = entry.message;
      return {
        ...NOTHING,
        ...textOf(content),
        ...(entry.isApiErrorMessage === true ? { failed: true } : {}),
        ...shellLimitOf(content),
        called: new Map(
          content.flatMap(({ type, id, name }) =>
            type === "tool_use" && typeof id === "string" ? [[id, asText(name)]] : []
          ),
        ),
      };
    }
    case "system": {
      const goesOn = makesGoOn(entry);
      const ends = ENDS.some((end) => end === entry.subtype) && !goesOn;
      const blocked = readBlockedPrompt(entry);
      return {
        ...NOTHING,
        isSystem: true,
        ...(ends ? { end: "completed" } : {}),
        ...(goesOn ? { continuedAt: Date.parse(entry.timestamp ?? "") } : {}),
        ...(readCommandOutput(entry) === undefined ? {} : { carriedOut: true }),
        ...(blocked === undefined ? {} : { blocked }),
        ...(entry.subtype === "informational" && entry.level === "warning" ? { warns: true } : {}),
      };
    }
    case "attachment": {
      const { type, prompt } = entry.attachment;
      if (type === STOPPED_BY_HOOK) return { ...NOTHING, halted: true };
      return type === "queued_command" && typeof prompt === "string"
        ? { ...NOTHING, asked: prompt }
        : NOTHING;
    }
    case "other":
      return NOTHING;
    default:
      return entry satisfies never;
  }
}

function wakeupOf(entry: Entry): Pick<TranscriptSign, "wakeup"> {
  const wakeup = readScheduledWakeup(entry);
  if (typeof wakeup !== "number") return wakeup === undefined ? {} : { wakeup };
  return entry.type === "other" ? {} : { wakeup: wakeup - Date.parse(entry.timestamp ?? "") };
}

/** The text of a prompt. It is a block if Claude Code took several prompts together. */
function promptText(content: string | readonly ContentBlock[]): string {
  if (typeof content === "string") return content;
  return content.map(({ text }) => typeof text === "string" ? text : "").join("");
}

function blocksOf(content: string | readonly ContentBlock[]): readonly ContentBlock[] {
  return typeof content === "string" ? [] : content;
}

function textOf(content: readonly ContentBlock[]): { readonly text?: string } {
  const texts = content.map(({ text }) => text).filter((text) => typeof text === "string");
  return texts.length === 0 ? {} : { text: texts.join("") };
}

/** The longest `timeout` of calls that run a command in the background. */
function shellLimitOf(content: readonly ContentBlock[]): { readonly shellLimitMs?: number } {
  const limits = content.map(({ input }) =>
    isJsonObject(input) && input.run_in_background === true ? input.timeout : undefined
  ).filter((timeout) => typeof timeout === "number");
  return limits.length === 0 ? {} : { shellLimitMs: Math.max(...limits) };
}
