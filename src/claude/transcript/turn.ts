import { summedUsage } from "./cost.ts";
import { AT_LIMIT, DEFERRED, HALTED, isOfGoal } from "./special_entries.ts";
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
import { FEEDBACK, OUTPUT_REMINDER } from "./structured_output_tool.ts";
import { parseTaskNotification } from "./task_notification.ts";

/** A tool that the model called. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The subagent that has made it; absent for the session itself. */
  readonly agentId?: string;
}

/** What the model got back for a call. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly isError: boolean;
  /** The text of the result; empty for images. */
  readonly text: string;
  readonly entry: UserEntry;
}

/** An API error that Claude Code turned into an answer of its own. */
interface TurnError {
  /** `rate_limit`, `authentication_failed`, …; `unknown` where Claude Code says nothing. */
  readonly kind: string;
  readonly status: number | null;
  /** The API's own name of the error, since 2.1.330. */
  readonly type: string | undefined;
  /** Claude Code's own name, such as `usage_limit_reached`, for some errors; printed since 2.1.330. */
  readonly apiError: string | undefined;
  /** When a usage limit resets, in seconds since the epoch, since 2.1.330. */
  readonly resetsAt: number | undefined;
}

/** From one prompt to the end of the answer to it. */
export interface Turn {
  /** Undefined while the prompt's own line has not been seen. */
  readonly prompt: UserEntry | undefined;
  /** All that belong to it, the prompt's own among them. */
  readonly lines: readonly Entry[];
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
  readonly cwd: string | undefined;
  /** The model of the last real answer, as the API names it. */
  readonly model: string | undefined;
  /** How many answers the API gave: distinct ids of real messages. */
  readonly answers: number;
  /** How many of them the API stopped as a refusal. */
  readonly refusals: number;
  /** What `claude -p` prints: the last text block, "" if the last answer ended on another block. */
  readonly text: string;
  /** The last text of the turn, whatever came after it: what a turn that was cut short has to say. */
  readonly textSoFar: string;
  /** Whether the last message is a call of a tool, or its result, to which the answer is missing. */
  readonly unanswered: boolean;
  readonly stopReason: string | null;
  /** Whether one more has left no line, because there is nothing in it. */
  readonly unseen?: true;
  /** The sum over all answers but one that broke off; an empty object when there was none. */
  readonly usage: JsonObject;
  /** That of the first answer; an empty object when there was none. */
  readonly firstUsage: JsonObject;
  /** The sum over all answers but the last. */
  readonly usageBefore: JsonObject;
  /** 1 + the user lines after the prompt, as `claude -p` counts. */
  readonly numTurns: number;
  readonly error: TurnError | undefined;
  /** The end as the transcript tells it; undefined while there is no mark. An API error may leave none. */
  readonly end: "completed" | "interrupted" | "interrupted-tool" | undefined;
  /** Which hook has stopped it: one of the end of the turn, or another one. */
  readonly halted?: "stop" | "other";
  /** Whether a hook of the end of the turn wants it to go on, which it may not any more. */
  readonly atLimit?: true;
  /** The id of the call that a hook of the caller's has put off, with which the turn ends. */
  readonly deferred?: string;
  /** Milliseconds from the prompt to the last message. */
  readonly durationMs: number | undefined;
  readonly toolUses: readonly ToolUse[];
  readonly toolResults: readonly ToolResult[];
}

/** Which lines belong to an earlier run. */
interface TurnOptions {
  /**
   * The ids of lines that were there before the run. A resumed session starts with them; a forked
   * one has them somewhere in the file, not always in front.
   */
  readonly known?: ReadonlySet<string>;
  /** The ids of prompts that begin a turn, though nothing was said since the one before. */
  readonly begins?: ReadonlySet<string>;
}

const SYNTHETIC_MODEL = "<synthetic>";

/**
 * Folds the lines of a session into its turns, oldest first. Subagents' lines are left out.
 *
 * A line belongs to the prompt it descends from, whatever the order in the file: Claude Code 2.1.168
 * and 2.1.197 now and then write the prompt after the answer. Lines without a traceable ancestor
 * count to the prompt before them. What another kind of Claude Code than the first one wrote is left
 * out: a hook or a tool may resume the session with `claude -p`, which knows nothing of that.
 */
export function turnsOf(entries: readonly Entry[], options: TurnOptions = {}): readonly Turn[] {
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
      // Who comes by again goes round in a circle.
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
 * Takes prompts that were asked together for one: what waits when a turn ends makes up the next one, a line each. The
 * ends of tasks are prompts of their own.
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

/** Whether a turn is the end of a task of which the model is told together with the next one's: nothing answers it. */
export function isJoinedEnd({ prompt, answers, error, end }: Turn): boolean {
  return prompt !== undefined && answers === 0 && error === undefined && end === undefined &&
    parseTaskNotification(prompt.message.content) !== undefined;
}

/** Whether a line is the prompt of somebody who asks. */
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
  // What ends the turn by a hook of others' does so at the limit, too, whatever further ones want.
  const isRefused = isFeedback(lastMessage);
  const atLimit = halted !== "stop" && isRefused && entries.some(isAtLimit);
  const deferred = halted !== undefined
    ? followers.filter(isDeferral).flatMap(toolResultsOf)[0]
    : undefined;
  const all = [...answers.values()];
  const lastAnswer = all.at(-1);
  const { refusals, unseen, nudge } = toldAnswers(all, { followers, last });
  const broken = brokenOff(messages);
  const usageBefore = summedUsage(all.slice(0, -1).map(usageOf));
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
    // What a hook wants that does not have its way is the last that is said: no answer.
    text: halted === "stop" && isRefused ? "" : textIn(lastBlock) ?? "",
    textSoFar: lastTextIn(assistants) ?? "",
    unanswered: lastMessage?.type === "assistant"
      ? lastMessage.message.content.at(-1)?.type === "tool_use"
      : lastMessage === followers.at(-1) && followers.at(-1)?.meaning === "tool-result",
    stopReason: nudge !== undefined && (last === undefined || isBefore(last, nudge))
      ? "end_turn"
      : last?.message.stop_reason ?? null,
    usage: broken === undefined
      ? summedUsage([usageBefore, ...all.slice(-1).map(usageOf)])
      : summedUsage(all.filter((entry) => entry !== broken).map(usageOf)),
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
    toolUses: assistants.flatMap((entry) => callsOf(entry.message)),
    toolResults: followers.flatMap(toolResultsOf),
  };
}

/** The latest of some answers: of those that are dated alike, or not at all, the last. */
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

/** Whether a line says that a hook has stopped the turn, and not one of ours at the end. */
function isHalt(entry: Entry): entry is AttachmentEntry {
  return entry.type === "attachment" && entry.attachment.type === HALTED && !isAtLimit(entry);
}

function isOfStop({ attachment: { hookEvent } }: AttachmentEntry): boolean {
  return hookEvent === "Stop";
}

function isAtLimit(entry: Entry): boolean {
  return entry.type === "attachment" && entry.attachment.type === HALTED && isOfStop(entry) &&
    entry.attachment["message"] === AT_LIMIT;
}

function isFeedback(entry: Entry | undefined): boolean {
  if (entry?.type !== "user" || entry.meaning !== "remark") return false;
  const { content } = entry.message;
  const text = typeof content === "string" ? content : textIn(content[0]) ?? "";
  return text.startsWith(FEEDBACK) || text === OUTPUT_REMINDER;
}

/** Whether a line is what a call has come to that was put off, of which `claude -p` says and counts nothing. */
export function isDeferral(entry: UserEntry): boolean {
  const { content } = entry.message;
  return typeof content !== "string" &&
    content.some((block) =>
      block.type === "tool_result" && typeof block.tool_use_id === "string" &&
      block.is_error === true && resultText(block.content).endsWith(DEFERRED)
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

/** The calls that a line of an answer holds. */
export function callsOf({ content }: AssistantEntry["message"]): readonly ToolUse[] {
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
 * Whether a line is what Claude Code adds to a prompt for the model: the text that a slash command made out of it, a
 * skill that it brings along, or where its images were. In `claude -p` that is neither a frame nor a turn of its own (2.1.330).
 */
export function isAddedToPrompt(entry: Entry, prompt: UserEntry | undefined): boolean {
  if (entry.type !== "user") return false;
  if (isOfGoal(entry, prompt)) return true;
  if (entry.meaning !== "remark") return false;
  if (isImageSource(entry) || isBroughtSkill(entry)) return true;
  return prompt?.uuid !== undefined && entry.parentUuid === prompt.uuid &&
    prompt.meaning === "prompt" && typeof prompt.message.content === "string" &&
    prompt.message.content.startsWith("<command-");
}

/** Whether a line is of a skill that Claude Code brings along with a prompt by itself, as ultracode does (2.1.330). */
function isBroughtSkill({ message: { content }, ...line }: UserEntry): boolean {
  return line["turnCompanion"] === true && line["sourceToolUseID"] === undefined &&
    (typeof content !== "string" || content.startsWith("<command-message>"));
}

function isImageSource({ message: { content } }: UserEntry): boolean {
  return typeof content !== "string" && content.length > 0 &&
    content.every(({ text }) => typeof text === "string" && text.startsWith("[Image: source: "));
}

/** What lines of a turn say of its answers beside those. */
interface ToldAnswers {
  /** How many were refused, with those that have left no line. */
  readonly refusals: number;
  /** Whether one has left no line. */
  readonly unseen: boolean;
  /** The last line by which the model is told that it has said nothing. */
  readonly nudge: UserEntry | undefined;
}

/** What Claude Code says to the model of the answer before: that it was refused, said nothing, or was too long. */
const REFUSED = "Your response above was stopped by a safety classifier";
const NOTHING_SAID = "[Your previous response had no visible output.";
const TOO_LONG = "Output token limit hit.";

/**
 * @param answers those that have lines
 * @param options.followers what the model was told in the turn
 * @param options.last the last answer, or what stands in the place of one
 */
function toldAnswers(
  answers: readonly AssistantEntry[],
  { followers, last }: {
    readonly followers: readonly UserEntry[];
    readonly last: AssistantEntry | undefined;
  },
): ToldAnswers {
  const remarks = followers.filter(({ meaning }) => meaning === "remark");
  const said = (beginning: string) => remarks.filter((entry) => isSaid(entry, beginning));
  const stoppedBy = (reason: string) =>
    answers.filter(({ message }) => message.stop_reason === reason).length;
  const nudge = said(NOTHING_SAID).at(-1);
  // The model is told of a refusal and goes on, once; the last one has words of Claude Code's in its place.
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
