import {
  blankBetween,
  blankCallInput,
  type BlankedParts,
  blankNotification,
  blankPrompt,
  blankText,
  isSubagentTool,
} from "./blank_text.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** The maximum depth of a JSON value that is visited. */
const MOST_DEPTH = 1000;

/**
 * Creates a function that blanks prompts or answers in JSON values: frames, transcript lines, inputs of a cast, bodies
 * of the API.
 *
 * It replaces letters and digits by `x`. Names of slash commands stay, and so do texts that Claude Code writes instead
 * of the user or the model, because programs recognise them. A value without changes is returned as the same object.
 */
export function createMessageBlanker(
  parts: BlankedParts,
  { subagents = createSubagentCalls(), varying }: MessageBlankerOptions = {},
): <Value>(value: Value) => Value {
  const synthetic = new Set<string>();
  return <Value>(value: Value) => {
    if (!parts.prompts && !parts.answers) return value;
    subagents.learn(value);
    return blankValue(value, { ...parts, synthetic, subagents, varying }, 0) as Value;
  };
}

export interface MessageBlankerOptions {
  /** The calls that are already known; the blanker adds others. A new registry by default. */
  readonly subagents?: SubagentCalls | undefined;
  /** A global pattern of parts of the system prompt that differ in each run. They are not blanked. */
  readonly varying?: RegExp | undefined;
}

/**
 * The parts to blank, and the facts that the blanker has learned so far. `synthetic` holds texts that Claude Code wrote
 * instead of the model.
 */
interface BlankingContext extends BlankedParts {
  readonly synthetic: Set<string>;
  readonly subagents: SubagentCalls;
  readonly varying: RegExp | undefined;
}

const MAX_SYNTHETIC = 1000;

function blankValue(value: unknown, parts: BlankingContext, depth: number): unknown {
  if (typeof value === "string") return blankNotification(value, parts);
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => blankValue(item, parts, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const fields = value as JsonObject;
  const inside = (item: unknown) => blankValue(item, parts, depth + 1);
  const changes = { ...messageChanges(fields, parts, inside), ...subagentChanges(fields, parts) };
  let isSame = true;
  const entries = Object.entries(fields).map(([name, item]) => {
    const other = Object.hasOwn(changes, name) ? changes[name] : inside(item);
    if (other !== item) isSame = false;
    return [name, other] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}

/**
 * Returns the changed fields of an object that is, or holds, a prompt or an answer.
 *
 * @param inside blanks a value that is neither, but may contain some
 */
function messageChanges(
  fields: JsonObject,
  parts: BlankingContext,
  inside: (value: unknown) => unknown,
): Changes {
  return {
    ...(parts.prompts ? promptChanges(fields, parts, inside) : {}),
    ...(parts.answers ? answerChanges(fields, parts, inside) : {}),
  };
}

function promptChanges(
  fields: JsonObject,
  { answers, varying }: BlankingContext,
  inside: (value: unknown) => unknown,
): Changes {
  const { type, role, content, message, first } = fields;
  const prompt = (value: unknown) =>
    typeof value === "string" ? blankPrompt(value, { answers }) : value;
  const isSubmitted = fields["hook_event_name"] === "UserPromptSubmit" || type === "deliver";
  return {
    ...(role === "user" ? { content: blankContent(content, prompt, inside) } : {}),
    ...(type === "message" && isJsonObject(message) && role === undefined
      ? { message: blankMessage(message, prompt, inside) }
      : {}),
    ...(isJsonObject(first) ? { first: blankMessage(first, prompt, inside) } : {}),
    ...(isSubmitted ? blankFields(fields, ["prompt"], prompt) : {}),
    ...(type === "queue-operation" ? blankFields(fields, ["content"], prompt) : {}),
    ...(type === "queued_command"
      ? { prompt: blankContent(fields["prompt"], prompt, inside) }
      : {}),
    ...(fields["prompt"] === true ? blankFields(fields, ["text"], prompt) : {}),
    ...blankFields(fields, ["lastPrompt", "aiTitle", "customTitle", "last_user_message"], prompt),
    ...(type === "summary" ? blankFields(fields, ["summary"], prompt) : {}),
    ...blankFields(fields, ["system", "systemPrompt"], (value) => blankSystem(value, varying)),
    ...blankFields(fields, ["appendSystemPrompt"], prompt),
    ...(fields["subtype"] === "initialize"
      ? blankFields(fields, ["agents"], (agents) => mapFields(agents, blankAgent))
      : {}),
  };
}

function answerChanges(
  fields: JsonObject,
  { synthetic }: BlankingContext,
  inside: (value: unknown) => unknown,
): Changes {
  const { type, role, content } = fields;
  if (role === "assistant" && fields["model"] === "<synthetic>") {
    for (const text of textsIn(content)) if (synthetic.size < MAX_SYNTHETIC) synthetic.add(text);
  }
  const answer = (value: unknown) =>
    typeof value !== "string" || synthetic.has(value) || API_ERROR.test(value)
      ? value
      : blankText(value);
  return {
    ...(role === "assistant" ? { content: blankContent(content, answer, inside) } : {}),
    ...(type === "result" ? blankFields(fields, ["result"], answer) : {}),
    ...(type === "content_block_delta" ? { delta: blankBlock(fields["delta"]) } : {}),
    ...(type === "content_block_start"
      ? { content_block: blankBlock(fields["content_block"]) }
      : {}),
    ...(fields["prompt"] === false ? blankFields(fields, ["text"], answer) : {}),
    ...blankFields(fields, ["last_assistant_message"], answer),
    ...(fields["hook_event_name"] === "MessageDisplay"
      ? blankFields(fields, ["delta"], answer)
      : {}),
  };
}

/** Blanks some fields of an object, if it has them. */
function blankFields(
  fields: JsonObject,
  names: readonly string[],
  blank: (value: unknown) => unknown,
): Changes {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, blank(fields[name])]),
  );
}

function blankMessage(
  message: JsonObject,
  prompt: (value: unknown) => unknown,
  inside: (value: unknown) => unknown,
): JsonObject {
  return {
    ...message,
    ...blankFields(message, ["text", "altered"], prompt),
    ...blankFields(message, ["content"], (content) => blankContent(content, prompt, inside)),
  };
}

/** Blanks the texts and thoughts of a message. Other blocks, such as tool calls, are visited like any value. */
function blankContent(
  content: unknown,
  blank: (value: unknown) => unknown,
  inside: (value: unknown) => unknown,
): unknown {
  if (!Array.isArray(content)) return blank(content);
  return content.map((block: unknown) =>
    isJsonObject(block) && (block["type"] === "text" || block["type"] === "thinking")
      ? {
        ...block,
        ...(Object.hasOwn(block, "text") ? { text: blank(block["text"]) } : {}),
        ...(Object.hasOwn(block, "thinking") ? { thinking: blank(block["thinking"]) } : {}),
      }
      : inside(block)
  );
}

/** Blanks the description of a subagent that the caller defines. */
function blankAgent(agent: unknown): unknown {
  return mapFields(
    agent,
    (value, name) =>
      typeof value === "string" && (name === "prompt" || name === "description")
        ? blankText(value)
        : value,
  );
}

function mapFields(value: unknown, change: (item: unknown, name: string) => unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item, name)]))
    : value;
}

/** Blanks a block of an answer, or a delta of such a block. */
function blankBlock(block: unknown): unknown {
  if (!isJsonObject(block)) return block;
  return {
    ...block,
    ...(typeof block["text"] === "string" ? { text: blankText(block["text"]) } : {}),
    ...(typeof block["thinking"] === "string" ? { thinking: blankText(block["thinking"]) } : {}),
  };
}

/** The text in which Claude Code reports an API error instead of an answer. */
const API_ERROR =
  /^(?:(?:Please run \/login · |Failed to authenticate\. )?API Error\b|Not logged in · )/u;

function textsIn(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return typeof content === "string" ? [content] : [];
  return content.flatMap((block: unknown) =>
    isJsonObject(block) && typeof block["text"] === "string" ? [block["text"]] : []
  );
}

/** The line of the system prompt in which Claude Code identifies itself to the API. */
const BILLING = /^x-anthropic-billing-header:/u;
const NOTHING = /(?!)/gu;

/**
 * Blanks a system prompt, which may be the user's: a text, a list of texts, or blocks.
 *
 * @param varying a global pattern of parts that differ in each run, and stay so that masks still find them
 */
function blankSystem(system: unknown, varying: RegExp = NOTHING): unknown {
  if (typeof system === "string") {
    return BILLING.test(system) ? system : blankBetween(system, varying);
  }
  if (Array.isArray(system)) return system.map((part) => blankSystem(part, varying));
  // A preset of the SDKs is an object; the user's part is in `append`.
  const named = isJsonObject(system) ? ["text", "append"].filter((name) => name in system) : [];
  return named.length === 0 ? system : {
    ...system as JsonObject,
    ...Object.fromEntries(
      named.map((name) => [name, blankSystem((system as JsonObject)[name], varying)]),
    ),
  };
}

type Changes = Readonly<Record<string, unknown>>;

/** Fields that may hold the label of a subagent: a few words about its task. */
const LABELS = ["description", "task_description", "summary"];

/**
 * Returns the changed fields of an object that holds a subagent's task or report: a call, its result, or a frame about
 * a task.
 */
function subagentChanges(
  fields: JsonObject,
  { prompts, answers, subagents }: BlankedParts & { readonly subagents: SubagentCalls },
): Changes {
  return {
    ...(prompts ? subagentPromptChanges(fields, subagents) : {}),
    ...(answers ? subagentReportChanges(fields, subagents) : {}),
  };
}

function subagentPromptChanges(fields: JsonObject, { labels }: SubagentCalls): Changes {
  const changes: Record<string, unknown> = {};
  const call = toolCallIn(fields);
  if (call !== undefined && isSubagentTool(call.tool)) {
    changes[call.field] = blankCallInput(call.tool, call.input);
  }
  const { updatedInput, agentId, task_type: kind, prompt, message } = fields;
  // `updatedInput` does not name its tool.
  if (
    isJsonObject(updatedInput) && typeof updatedInput["prompt"] === "string" &&
    "description" in updatedInput
  ) {
    changes["updatedInput"] = blankCallInput("Agent", updatedInput);
  }
  if (typeof prompt === "string" && (typeof agentId === "string" || kind === "local_agent")) {
    changes["prompt"] = blankPrompt(prompt, { answers: true });
  }
  for (const name of LABELS) {
    const label = fields[name];
    if (typeof label !== "string") continue;
    if (labels.has(label)) changes[name] = blankText(label);
    else if (fields["subtype"] === "task_notification") {
      changes[name] = label.replace(NAMED, blankText);
    }
  }
  if (typeof message === "string" && message.includes(' "')) {
    changes["message"] = [...labels].reduce(
      (text, label) =>
        text.replaceAll(`subagent "${label}"`, () => `subagent "${blankText(label)}"`),
      message,
    );
  }
  return changes;
}

/** The label in a sentence about how the subagent ended. */
const NAMED = /(?<=^Agent ")[^]*(?=" [\w ]+)/u;

function subagentReportChanges(fields: JsonObject, { tools, labels }: SubagentCalls): Changes {
  const { type, subtype, content, tool_use_id: id, agentId, summary } = fields;
  const tool = typeof id === "string" ? tools.get(id) : undefined;
  if (type === "tool_result" && tool !== undefined && fields["is_error"] !== true) {
    return { content: mapTexts(content, (text) => blankReport(text, tool)) };
  }
  if (subtype === "task_notification" && typeof summary === "string") {
    const isReport = fields["summary_is_report"] === true ||
      (tool !== undefined && tool !== "Skill" && !labels.has(summary) && !NAMED.test(summary));
    return isReport ? { summary: blankText(summary) } : {};
  }
  const changes: Record<string, unknown> = {};
  if (typeof agentId === "string" && Array.isArray(content)) {
    changes["content"] = mapTexts(content, (text) => blankReport(text, "Agent"));
  }
  const isOfSubagent = fields["task_type"] === "local_agent" || fields["status"] === "forked";
  for (const name of isOfSubagent ? ["result", "output"] : []) {
    const text = fields[name];
    if (typeof text === "string") changes[name] = blankText(text);
  }
  return changes;
}

/** Changes the texts of a tool result: a string, or text blocks. */
function mapTexts(content: unknown, blank: (text: string) => string): unknown {
  if (typeof content === "string") return blank(content);
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown) =>
    isJsonObject(block) && typeof block["text"] === "string"
      ? { ...block, text: blank(block["text"]) }
      : block
  );
}

/** The texts that Claude Code writes before and after the report of a subagent in the result of its call (2.1.330). */
const AROUND =
  /^\s*<tools-used-before-summary>[\w, -]*<\/tools-used-before-summary>|^\[Subagent hand-back\]$|^agentId: \w+ \((?:use SendMessage with to: '\w+'(?:, summary: '<5-10 word recap>')? to continue this agent|for resuming to continue this agent's work if needed)\)$|^<usage>(?:\n?\w+: \d+)*\n?<\/usage>$/gmu;
/** The result of a call whose subagent runs in the background. It holds no report yet. */
const LAUNCHED = /^Async agent launched successfully\b/u;
/** The introduction of a report by a skill that ran in a subagent. */
const FORKED = /^Skill "[^"\n]*" completed \(forked execution\)\.\s+Result:\n/u;
/** The output so far of a background subagent, in the result of `TaskOutput`. */
const OUTPUT = /(?<=<output>)[^]*(?=<\/output>)/u;

/** Blanks the report of a subagent in the result of a call. */
function blankReport(text: string, tool: string): string {
  switch (tool) {
    case "Agent":
    case "Task":
      return LAUNCHED.test(text) ? text : blankBetween(text, AROUND);
    case "Skill": {
      const [kept] = FORKED.exec(text) ?? [];
      return kept === undefined ? text : kept + blankText(text.slice(kept.length));
    }
    default:
      return text.includes("<task_type>local_agent</task_type>")
        ? text.replace(OUTPUT, blankText)
        : text;
  }
}

/** The calls of subagents in a recording. Frames that are far from a call are recognised by the call's id or label. */
export interface SubagentCalls {
  /** Adds the calls in a JSON value. */
  readonly learn: (value: unknown) => void;
  /** Tools whose results hold reports of subagents, by the ids of their calls. */
  readonly tools: ReadonlyMap<string, string>;
  /** The labels that the model gave to subagents. */
  readonly labels: ReadonlySet<string>;
}

/** Tools that start a subagent. */
const STARTING: ReadonlySet<unknown> = new Set(["Agent", "Task"]);
/** Tools whose results hold the report of a subagent. */
const REPORTING: ReadonlySet<unknown> = new Set([
  ...STARTING,
  ...["Skill", "TaskOutput", "AgentOutputTool"],
]);

const MAX_CALLS = 10_000;

export function createSubagentCalls(): SubagentCalls {
  const tools = new Map<string, string>();
  const labels = new Set<string>();
  const learn = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return;
    const fields = value as Readonly<Record<string, unknown>>;
    const call = Array.isArray(value) ? undefined : toolCallIn(fields);
    if (call !== undefined && REPORTING.has(call.tool)) {
      if (call.id !== undefined && tools.size < MAX_CALLS) tools.set(call.id, call.tool);
      const { description } = Object(call.input) as { readonly description?: unknown };
      if (STARTING.has(call.tool) && typeof description === "string" && description !== "") {
        if (labels.size < MAX_CALLS) labels.add(description);
      }
    }
    for (const item of Object.values(value)) learn(item, depth + 1);
  };
  return { learn: (value) => learn(value, 0), tools, labels };
}

/** A tool call in an answer, a hook payload or a permission request. */
interface ToolCall {
  readonly tool: string;
  readonly field: "input" | "tool_input";
  readonly input: unknown;
  readonly id?: string;
}

/** Returns an object as a tool call; undefined if it is none. */
function toolCallIn(fields: Readonly<Record<string, unknown>>): ToolCall | undefined {
  const { type, name, id, tool_name: named, tool_use_id: usedBy } = fields;
  const tool = type === "tool_use" ? name : named;
  if (typeof tool !== "string") return undefined;
  const field = Object.hasOwn(fields, "tool_input") ? "tool_input" : "input";
  const own = type === "tool_use" ? id : usedBy;
  return { tool, field, input: fields[field], ...(typeof own === "string" ? { id: own } : {}) };
}
