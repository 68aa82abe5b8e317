import { sumUsage } from "./cost.ts";
import {
  DEFERRED_RESULT,
  isGoalReport,
  STOPPED_BY_HOOK,
  TURN_LIMIT_REASON,
} from "./special_entries.ts";
import {
  type AssistantEntry,
  type AttachmentEntry,
  type ContentBlock,
  type Entry,
  isPrompt,
  type UserEntry,
} from "./entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { resultText } from "./kept_entry.ts";
import { OUTPUT_REMINDER, STOP_HOOK_FEEDBACK } from "./structured_output_tool.ts";
import { parseTaskNotification } from "./task_notification.ts";

/** A tool call of the model. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The subagent that made the call; absent for the session itself. */
  readonly agentId?: string;
}

/** The result of a call. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly isError: boolean;
  /** The text of the result; empty for images. */
  readonly text: string;
  readonly entry: UserEntry;
}

/** An API error. Claude Code writes an answer with its text. */
interface TurnError {
  /** `rate_limit`, `authentication_failed`, …; `unknown` if the line does not say. */
  readonly kind: string;
  readonly status: number | null;
  /** The API's name of the error, since 2.1.330. */
  readonly type: string | undefined;
  /** Claude Code's name, such as `usage_limit_reached`, for some errors since 2.1.330. */
  readonly apiError: string | undefined;
  /** When a usage limit resets, in seconds since the epoch, since 2.1.330. */
  readonly resetsAt: number | undefined;
}

/** From one prompt to the end of the answer to it. */
export interface Turn {
  /** Undefined until the prompt's line has been read. */
  readonly prompt: UserEntry | undefined;
  /** All lines of the turn, the prompt's included. */
  readonly lines: readonly Entry[];
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
  readonly cwd: string | undefined;
  /** The model of the last answer by the API. */
  readonly model: string | undefined;
  /** The number of answers that the API gave. */
  readonly answers: number;
  /** The number of answers that the API stopped as a refusal. */
  readonly refusals: number;
  /** The result's text: the last text block, or "" if the last answer ends with another block. */
  readonly text: string;
  /** The last text of the turn, even if other blocks follow: the result of a turn that was cut off. */
  readonly textSoFar: string;
  /** Whether the last message is a tool call or a tool result, so that an answer is missing. */
  readonly unanswered: boolean;
  readonly stopReason: string | null;
  /** Set if another answer left no line because it was empty. */
  readonly unseen?: true;
  /** The sum of all answers without one that broke off; empty if there was none. */
  readonly usage: JsonObject;
  /** The usage of the first answer; empty if there was none. */
  readonly firstUsage: JsonObject;
  /** The sum of all answers but the last. */
  readonly usageBefore: JsonObject;
  /** 1 + the number of user lines after the prompt, as in `claude -p`. */
  readonly numTurns: number;
  readonly error: TurnError | undefined;
  /** The end that the transcript marks; undefined if it marks none, as after some API errors. */
  readonly end: "completed" | "interrupted" | "interrupted-tool" | undefined;
  /** Which hook stopped the turn: a Stop hook or another one. */
  readonly halted?: "stop" | "other";
  /** Set if a Stop hook wanted the turn to continue at its limit. */
  readonly atLimit?: true;
  /** The id of the call that the caller's hook deferred, which ends the turn. */
  readonly deferred?: string;
  /** Milliseconds from the prompt to the last message. */
  readonly durationMs: number | undefined;
  readonly toolUses: readonly ToolUse[];
  readonly toolResults: readonly ToolResult[];
}

/** What tells the turns of this run apart. */
interface TurnOptions {
  /**
   * The ids of lines that were there before the run. A resumed session starts with them; a forked
   * one can have them anywhere in the file.
   */
  readonly known?: ReadonlySet<string>;
  /** The ids of prompts that begin a turn although the prompt before them has no answer. */
  readonly begins?: ReadonlySet<string>;
}

const SYNTHETIC_MODEL = "<synthetic>";

/**
 * Groups the lines of a session into its turns, oldest first, without subagents' lines.
 *
 * A line belongs to the prompt that it descends from, whatever their order in the file: Claude Code 2.1.168 and 2.1.197
 * wrote some prompts after their answers. A line without a known ancestor belongs to the prompt before it. Lines of
 * another kind of Claude Code than the first line's are left out: a hook or a tool may have resumed the session with
 * `claude -p`.
 */
export function splitTurns(entries: readonly Entry[], options: TurnOptions = {}): readonly Turn[] {
  const parents = new Map<string, string | null | undefined>();
  const prompts = new Map<string, UserEntry>();
  const fresh: Exclude<Entry, { type: "other" }>[] = [];
  let entrypoint: string | undefined;
  for (const entry of entries) {
    if (entry.type === "other") continue;
    if (entry.uuid !== undefined) {
      parents.set(entry.uuid, entry.parentUuid ?? entry.logicalParentUuid);
    }
    if (entry.isSidechain === true) continue;
    if (entry.uuid !== undefined && options.known?.has(entry.uuid) === true) continue;
    entrypoint ??= entry.entrypoint;
    if ((entry.entrypoint ?? entrypoint) !== entrypoint) continue;
    fresh.push(entry);
    if (entry.uuid !== undefined && isPrompt(entry)) {
      prompts.set(entry.uuid, entry);
    }
  }

  const found = new Map<string, UserEntry | undefined>(prompts);
  const promptOf = (uuid: string | undefined): UserEntry | undefined => {
    const path: string[] = [];
    let at: string | null | undefined = uuid;
    while (at && !found.has(at)) {
      // A line that is met again is its own ancestor.
      found.set(at, undefined);
      path.push(at);
      at = parents.get(at);
    }
    const prompt = at ? found.get(at) : undefined;
    for (const passed of path) found.set(passed, prompt);
    return prompt;
  };

  const groups = new Map<UserEntry | undefined, typeof fresh>();
  for (const prompt of prompts.values()) groups.set(prompt, []);
  let latest = prompts.values().next().value;
  for (const entry of fresh) {
    const prompt = promptOf(entry.uuid) ?? latest;
    latest = prompt;
    const group = groups.get(prompt);
    if (group === undefined) groups.set(prompt, [entry]);
    else group.push(entry);
  }
  const turns: Turn[] = [];
  for (const [prompt, group] of withJoined(groups, options.begins)) {
    if (prompt !== undefined || group.some(isMessage)) turns.push(turnOf(prompt, group));
  }
  return turns;
}

type Group<Line> = readonly [UserEntry | undefined, readonly Line[]];

/**
 * Joins prompts that make one turn: messages that wait when a turn ends are the next turn together, each with its own
 * line. The end of a task is always a turn of its own.
 */
function withJoined<Line extends Entry>(
  groups: Iterable<Group<Line>>,
  begins: ReadonlySet<string> = new Set(),
): readonly Group<Line>[] {
  const joined: Group<Line>[] = [];
  for (const [prompt, lines] of groups) {
    const [first, before = []] = joined.at(-1) ?? [];
    const isJoined = !begins.has(prompt?.uuid ?? "") && isAsked(first) && isAsked(prompt) &&
      before.every((entry) => !isMessage(entry) || isAsked(entry)) &&
      !before.some((entry) => entry.type === "system");
    if (isJoined) joined.splice(-1, 1, [first, [...before, ...lines]]);
    else joined.push([prompt, lines]);
  }
  return joined;
}

/** Whether a turn is the end of a task without an answer: the model gets it together with the next turn's prompt. */
export function isJoinedEnd({ prompt, answers, error, end }: Turn): boolean {
  return prompt !== undefined && answers === 0 && error === undefined && end === undefined &&
    parseTaskNotification(prompt.message.content) !== undefined;
}

/** Whether a line is a prompt that is not the end of a task. */
function isAsked(entry: Entry | undefined): boolean {
  return entry !== undefined && isPrompt(entry) &&
    parseTaskNotification(entry.message.content) === undefined;
}

function turnOf(prompt: UserEntry | undefined, entries: readonly Entry[]): Turn {
  const assistants = entries.filter((entry) => entry.type === "assistant");
  const followers = entries.filter((entry) => entry.type === "user").filter((entry) =>
    entry.meaning !== "prompt" && !isAddedToPrompt(entry, prompt) &&
    // Claude Code 2.1.330 writes remarks for the next prompt before that prompt.
    (entry.promptId === undefined || entry.meaning === "interrupt" ||
      prompt?.promptId === undefined ||
      entry.promptId === prompt.promptId)
  );
  const last = latestOf(assistants);
  const answers = new Map<string, AssistantEntry>();
  for (const entry of assistants) {
    if (entry.message.model !== SYNTHETIC_MODEL) answers.set(entry.message.id, entry);
  }
  const lastBlock = last?.message.content.at(-1);
  const halt = entries.find(isHalt);
  const halted = halt === undefined ? undefined : isOfStop(halt) ? "stop" : "other";
  const messages = entries.filter(isMessage);
  const lastMessage = messages.at(-1);
  // A Stop hook of the user's that stops the turn wins over one that wants to continue at the limit.
  const isRefused = isFeedback(lastMessage);
  const atLimit = halted !== "stop" && isRefused && entries.some(isAtLimit);
  const deferred = halted !== undefined
    ? followers.filter(isDeferral).flatMap(toolResultsOf)[0]
    : undefined;
  const all = [...answers.values()];
  const lastAnswer = all.at(-1);
  const { refusals, unseen, nudge } = readRemarks(all, { followers, last });
  const broken = brokenOff(messages);
  const usageBefore = sumUsage(all.slice(0, -1).map(usageOf));
  const context = prompt ?? entries.find((entry) => entry.type !== "other");

  return {
    prompt,
    lines: entries,
    sessionId: context?.sessionId,
    version: context?.version,
    cwd: context?.cwd,
    model: lastAnswer?.message.model,
    answers: all.length,
    refusals,
    ...(unseen ? { unseen } : {}),
    // The last line is the wish of a hook that was overruled, which is no answer.
    text: halted === "stop" && isRefused ? "" : textIn(lastBlock) ?? "",
    textSoFar: lastTextIn(assistants) ?? "",
    unanswered: lastMessage?.type === "assistant"
      ? lastMessage.message.content.at(-1)?.type === "tool_use"
      : lastMessage === followers.at(-1) && followers.at(-1)?.meaning === "tool-result",
    stopReason: nudge !== undefined && (last === undefined || isBefore(last, nudge))
      ? "end_turn"
      : last?.message.stop_reason ?? null,
    usage: broken === undefined
      ? sumUsage([usageBefore, ...all.slice(-1).map(usageOf)])
      : sumUsage(all.filter((entry) => entry !== broken).map(usageOf)),
    firstUsage: all[0] === undefined ? {} : usageOf(all[0]),
    usageBefore,
    numTurns: 1 + followers.filter((entry) => !isDeferral(entry)).length,
    error: last?.isApiErrorMessage === true
      ? {
        kind: last.error ?? "unknown",
        status: last.apiErrorStatus ?? null,
        type: last.apiErrorType ?? undefined,
        apiError: typeof last.apiError === "string" ? last.apiError : undefined,
        resetsAt: resetOf(last.apiErrorParams),
      }
      : undefined,
    end: endOf(entries),
    ...(halted === undefined ? {} : { halted }),
    ...(atLimit ? { atLimit } : {}),
    ...(deferred === undefined ? {} : { deferred: deferred.toolUseId }),
    durationMs: durationOf(prompt, [...assistants, ...followers]),
    toolUses: assistants.flatMap((entry) => readToolCalls(entry.message)),
    toolResults: followers.flatMap(toolResultsOf),
  };
}

/** Returns the answer with the latest timestamp; the last one if timestamps are equal or missing. */
function latestOf(answers: readonly AssistantEntry[]): AssistantEntry | undefined {
  let latest: AssistantEntry | undefined;
  let latestTime: number | undefined;
  for (const answer of answers) {
    const time = millisecondsOf(answer.timestamp);
    if (time !== undefined && latestTime !== undefined && time < latestTime) continue;
    latest = answer;
    latestTime = time;
  }
  return latest;
}

function usageOf({ message }: AssistantEntry): JsonObject {
  return message.usage ?? {};
}

function resetOf(params: unknown): number | undefined {
  const limit = isJsonObject(params) ? params.rate_limit_info : undefined;
  return isJsonObject(limit) && typeof limit.resetsAt === "number" ? limit.resetsAt : undefined;
}

function textIn(block: ContentBlock | undefined): string | undefined {
  return block?.type === "text" && typeof block.text === "string" ? block.text : undefined;
}

function lastTextIn(answers: readonly AssistantEntry[]): string | undefined {
  const texts = (answer: AssistantEntry | undefined) =>
    answer?.message.content.map(textIn).filter((text) => text !== undefined) ?? [];
  return texts(answers.findLast((answer) => texts(answer).length > 0)).at(-1);
}

function isMessage(entry: Entry): entry is AssistantEntry | UserEntry {
  return entry.type === "user" || entry.type === "assistant";
}

/** Whether a line says that a hook has stopped the turn, other than our hook at the limit. */
function isHalt(entry: Entry): entry is AttachmentEntry {
  return entry.type === "attachment" && entry.attachment.type === STOPPED_BY_HOOK &&
    !isAtLimit(entry);
}

function isOfStop({ attachment: { hookEvent } }: AttachmentEntry): boolean {
  return hookEvent === "Stop";
}

function isAtLimit(entry: Entry): boolean {
  return entry.type === "attachment" && entry.attachment.type === STOPPED_BY_HOOK &&
    isOfStop(entry) &&
    entry.attachment["message"] === TURN_LIMIT_REASON;
}

function isFeedback(entry: Entry | undefined): boolean {
  if (entry?.type !== "user" || entry.meaning !== "remark") return false;
  const { content } = entry.message;
  const text = typeof content === "string" ? content : textIn(content[0]) ?? "";
  return text.startsWith(STOP_HOOK_FEEDBACK) || text === OUTPUT_REMINDER;
}

/** Whether a line is the result of a deferred call, which `claude -p` does not print or count. */
export function isDeferral(entry: UserEntry): boolean {
  const { content } = entry.message;
  return typeof content !== "string" &&
    content.some((block) =>
      block.type === "tool_result" && typeof block.tool_use_id === "string" &&
      block.is_error === true && resultText(block.content).endsWith(DEFERRED_RESULT)
    );
}

function endOf(entries: readonly Entry[]): Turn["end"] {
  const interrupt = entries.find((entry) => entry.type === "user" && entry.meaning === "interrupt");
  if (interrupt !== undefined) {
    return JSON.stringify(interrupt).includes("by user for tool use]")
      ? "interrupted-tool"
      : "interrupted";
  }
  return entries.some((entry) => entry.type === "system" && entry.subtype === "turn_duration")
    ? "completed"
    : undefined;
}

function isBefore(entry: AssistantEntry, other: AssistantEntry | UserEntry): boolean {
  const [time, otherTime] = [millisecondsOf(entry.timestamp), millisecondsOf(other.timestamp)];
  return time !== undefined && otherTime !== undefined && time < otherTime;
}

function durationOf(
  prompt: UserEntry | undefined,
  messages: readonly (AssistantEntry | UserEntry)[],
): number | undefined {
  const start = millisecondsOf(prompt?.timestamp);
  let end = -Infinity;
  for (const entry of messages) end = Math.max(end, millisecondsOf(entry.timestamp) ?? end);
  return start === undefined || end === -Infinity ? undefined : Math.max(0, end - start);
}

function millisecondsOf(timestamp: string | undefined): number | undefined {
  const time = timestamp === undefined ? NaN : Date.parse(timestamp);
  return Number.isNaN(time) ? undefined : time;
}

/** Returns the tool calls of an answer's line. */
export function readToolCalls({ content }: AssistantEntry["message"]): readonly ToolUse[] {
  const calls: ToolUse[] = [];
  for (const { type, id, name, input } of content) {
    if (type !== "tool_use" || typeof id !== "string" || typeof name !== "string") continue;
    calls.push({ id, name, input });
  }
  return calls;
}

function toolResultsOf(entry: UserEntry): readonly ToolResult[] {
  const { content } = entry.message;
  if (typeof content === "string") return [];
  return content.flatMap((block) =>
    block.type === "tool_result" && typeof block.tool_use_id === "string"
      ? [{
        toolUseId: block.tool_use_id,
        isError: block.is_error === true,
        text: resultText(block.content),
        entry,
      }]
      : []
  );
}

/**
 * Whether Claude Code added a line to a prompt: the text that a slash command expands to, a skill, or the paths of its
 * images. `claude -p` does not print or count such lines (2.1.330).
 */
export function isAddedToPrompt(entry: Entry, prompt: UserEntry | undefined): boolean {
  if (entry.type !== "user") return false;
  if (isGoalReport(entry, prompt)) return true;
  if (entry.meaning !== "remark") return false;
  if (isImageSource(entry) || isBroughtSkill(entry)) return true;
  return prompt?.uuid !== undefined && entry.parentUuid === prompt.uuid &&
    prompt.meaning === "prompt" && typeof prompt.message.content === "string" &&
    prompt.message.content.startsWith("<command-");
}

/** Whether a line is a skill that Claude Code adds by itself, as for ultracode (2.1.330). */
function isBroughtSkill({ message: { content }, ...line }: UserEntry): boolean {
  return line["turnCompanion"] === true && line["sourceToolUseID"] === undefined &&
    (typeof content !== "string" || content.startsWith("<command-message>"));
}

function isImageSource({ message: { content } }: UserEntry): boolean {
  return typeof content !== "string" && content.length > 0 &&
    content.every(({ text }) => typeof text === "string" && text.startsWith("[Image: source: "));
}

/** What Claude Code's remarks tell of a turn's answers. */
interface RemarkedAnswers {
  /** The number of refused answers, including those without a line. */
  readonly refusals: number;
  /** Whether an answer has no line. */
  readonly unseen: boolean;
  /** The last remark that an answer was empty. */
  readonly nudge: UserEntry | undefined;
}

/** Remarks to the model about its last answer: it was refused, empty or too long. */
const REFUSED = "Your response above was stopped by a safety classifier";
const NOTHING_SAID = "[Your previous response had no visible output.";
const TOO_LONG = "Output token limit hit.";

/**
 * @param answers the answers that have lines
 * @param options.followers the user lines after the prompt
 * @param options.last the last answer, or Claude Code's line in its place
 */
function readRemarks(
  answers: readonly AssistantEntry[],
  { followers, last }: {
    readonly followers: readonly UserEntry[];
    readonly last: AssistantEntry | undefined;
  },
): RemarkedAnswers {
  const remarks = followers.filter(({ meaning }) => meaning === "remark");
  const said = (beginning: string) => remarks.filter((entry) => isSaid(entry, beginning));
  const stoppedBy = (reason: string) =>
    answers.filter(({ message }) => message.stop_reason === reason).length;
  const nudge = said(NOTHING_SAID).at(-1);
  // After a refusal the model gets a remark and one more try. The last refusal has a line of Claude Code in its place.
  const isLast = last?.isApiErrorMessage === true && last.message.stop_reason === "refusal";
  const [refused, toldRefused] = [stoppedBy("refusal"), said(REFUSED).length + (isLast ? 1 : 0)];
  return {
    refusals: Math.max(refused, toldRefused),
    unseen: nudge !== undefined || toldRefused > refused ||
      said(TOO_LONG).length > stoppedBy("max_tokens"),
    nudge,
  };
}

function isSaid({ message: { content } }: UserEntry, beginning: string): boolean {
  return typeof content === "string" && content.startsWith(beginning);
}

/** What an answer says of its end that is whole, though an error follows it at once. */
const WHOLE: readonly unknown[] = ["max_tokens", "refusal", "model_context_window_exceeded"];

/** The answer at the end of which the API failed: the last but one of the messages, if so. */
function brokenOff(messages: readonly Entry[]): AssistantEntry | undefined {
  const [answer, error] = messages.slice(-2);
  return answer?.type === "assistant" && error?.type === "assistant" &&
      error.isApiErrorMessage === true && !WHOLE.includes(answer.message.stop_reason)
    ? answer
    : undefined;
}
