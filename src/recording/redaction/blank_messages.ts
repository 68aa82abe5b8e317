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

/** Levels of a JSON value that are gone through. */
const MOST_DEPTH = 1000;

/**
 * Creates what makes prompts or answers in JSON values say nothing any more, such as frames, lines of a transcript, inputs
 * of a cast and bodies of the API: letters and digits are an x. Slash commands keep their names, and what Claude Code
 * says in the user's or the model's place stays, by which a program knows it. Where nothing changes, it is the same value.
 */
export function createMessageBlanker(
  parts: BlankedParts,
  { subagents = createSubagentCalls(), varying }: MessageBlankerOptions = {},
): <Value>(value: Value) => Value {
  const own = new Set<string>();
  return <Value>(value: Value) => {
    if (!parts.prompts && !parts.answers) return value;
    subagents.learn(value);
    return blankValue(value, { ...parts, synthetic: own, subagents, varying }, 0) as Value;
  };
}

/** What is known of what is blanked. */
export interface MessageBlankerOptions {
  /** The calls of subagents that are known before; others are learned. */
  readonly subagents?: SubagentCalls | undefined;
  /** What is another in each run of what the model is told of itself, and stays; a global pattern. */
  readonly varying?: RegExp | undefined;
}

/** Whose words are blanked, what Claude Code has said in the model's place so far, and whom the model has asked. */
interface BlankingContext extends BlankedParts {
  readonly synthetic: Set<string>;
  readonly subagents: SubagentCalls;
  readonly varying: RegExp | undefined;
}

/** More is not remembered. */
const MAX_SYNTHETIC = 1000;

function blankValue(value: unknown, parts: BlankingContext, depth: number): unknown {
  if (typeof value === "string") return blankNotification(value, parts);
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => blankValue(item, parts, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const fields = value as JsonObject;
  const inside = (held: unknown) => blankValue(held, parts, depth + 1);
  const changes = { ...messageChanges(fields, parts, inside), ...subagentChanges(fields, parts) };
  let isSame = true;
  const entries = Object.entries(fields).map(([name, item]) => {
    const other = Object.hasOwn(changes, name) ? changes[name] : inside(item);
    if (other !== item) isSame = false;
    return [name, other] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** @param inside blanks what stands in it and is nobody's words by itself */
function messageChanges(
  fields: JsonObject,
  { prompts, answers, synthetic: own, varying }: BlankingContext,
  inside: (held: unknown) => unknown,
): Changes {
  const { type, role, content } = fields;
  const changes: Record<string, unknown> = {};
  const change = (blank: (value: unknown) => unknown, names: readonly string[]) => {
    for (const name of names) {
      if (Object.hasOwn(fields, name)) changes[name] = blank(fields[name]);
    }
  };
  const prompt = (value: unknown) =>
    typeof value === "string" ? blankPrompt(value, { answers }) : value;
  const contentOf = (content: unknown, blank: (value: unknown) => unknown) =>
    blankContent(content, blank, inside);
  if (prompts) {
    if (role === "user") changes["content"] = contentOf(content, prompt);
    if (type === "message" && isJsonObject(fields["message"]) && role === undefined) {
      changes["message"] = blankMessage(fields["message"], prompt, inside);
    }
    if (isJsonObject(fields["first"])) {
      changes["first"] = blankMessage(fields["first"], prompt, inside);
    }
    if (fields["hook_event_name"] === "UserPromptSubmit" || type === "deliver") {
      change(prompt, ["prompt"]);
    }
    if (type === "queue-operation") change(prompt, ["content"]);
    if (type === "queued_command") {
      changes["prompt"] = contentOf(fields["prompt"], prompt);
    }
    if (fields["prompt"] === true) change(prompt, ["text"]);
    change(prompt, ["lastPrompt", "aiTitle", "customTitle", "last_user_message"]);
    if (type === "summary") change(prompt, ["summary"]);
    change((value) => blankSystem(value, varying), ["system", "systemPrompt"]);
    change(prompt, ["appendSystemPrompt"]);
    if (fields["subtype"] === "initialize") {
      change((agents) => mapFields(agents, blankAgent), ["agents"]);
    }
  }
  if (answers) {
    const blankAnswer = (value: unknown) =>
      typeof value !== "string" || own.has(value) || API_ERROR.test(value)
        ? value
        : blankText(value);
    if (role === "assistant" && fields["model"] === "<synthetic>") {
      for (const text of textsIn(content)) if (own.size < MAX_SYNTHETIC) own.add(text);
    }
    if (role === "assistant") changes["content"] = contentOf(content, blankAnswer);
    if (type === "result") change(blankAnswer, ["result"]);
    if (type === "content_block_delta") changes["delta"] = blankBlock(fields["delta"]);
    if (type === "content_block_start") {
      changes["content_block"] = blankBlock(fields["content_block"]);
    }
    if (fields["prompt"] === false) change(blankAnswer, ["text"]);
    change(blankAnswer, ["last_assistant_message"]);
    if (fields["hook_event_name"] === "MessageDisplay") change(blankAnswer, ["delta"]);
  }
  return changes;
}

function blankMessage(
  message: JsonObject,
  prompt: (value: unknown) => unknown,
  inside: (held: unknown) => unknown,
): JsonObject {
  const blankOf = (name: string, blank: (value: unknown) => unknown) =>
    Object.hasOwn(message, name) ? { [name]: blank(message[name]) } : {};
  return {
    ...message,
    ...blankOf("text", prompt),
    ...blankOf("altered", prompt),
    ...blankOf("content", (content) => blankContent(content, prompt, inside)),
  };
}

/** Of the content of a message its texts, in blocks or alone; of what tools were given and gave, what subagents say. */
function blankContent(
  content: unknown,
  blank: (value: unknown) => unknown,
  inside: (held: unknown) => unknown,
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

/** A kind of subagent that the caller describes. */
function blankAgent(agent: unknown): unknown {
  return mapFields(
    agent,
    (value, name) =>
      typeof value === "string" && (name === "prompt" || name === "description")
        ? blankText(value)
        : value,
  );
}

function mapFields(value: unknown, change: (held: unknown, name: string) => unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, held]) => [name, change(held, name)]))
    : value;
}

/** A block of an answer, or a piece of one. */
function blankBlock(block: unknown): unknown {
  if (!isJsonObject(block)) return block;
  return {
    ...block,
    ...(typeof block["text"] === "string" ? { text: blankText(block["text"]) } : {}),
    ...(typeof block["thinking"] === "string" ? { thinking: blankText(block["thinking"]) } : {}),
  };
}

/** What Claude Code says of a failure in the model's place. */
const API_ERROR =
  /^(?:(?:Please run \/login · |Failed to authenticate\. )?API Error\b|Not logged in · )/u;

function textsIn(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return typeof content === "string" ? [content] : [];
  return content.flatMap((block: unknown) =>
    isJsonObject(block) && typeof block["text"] === "string" ? [block["text"]] : []
  );
}

/** The line with which Claude Code says to the API what it is. */
const BILLING = /^x-anthropic-billing-header:/u;
const NOTHING = /(?!)/gu;

/**
 * What the model is told of itself, which may be the user's words: a text, texts, or blocks of them.
 *
 * @param varying what is another in each run, and stays so that it can be known for that
 */
function blankSystem(system: unknown, varying: RegExp = NOTHING): unknown {
  if (typeof system === "string") {
    return BILLING.test(system) ? system : blankBetween(system, varying);
  }
  if (Array.isArray(system)) return system.map((part) => blankSystem(part, varying));
  // Of a preset of the SDKs, what is appended to it.
  const named = isJsonObject(system) ? ["text", "append"].filter((name) => name in system) : [];
  return named.length === 0 ? system : {
    ...system as JsonObject,
    ...Object.fromEntries(
      named.map((name) => [name, blankSystem((system as JsonObject)[name], varying)]),
    ),
  };
}

/** What is made of fields of an object. */
type Changes = Readonly<Record<string, unknown>>;

/** JsonObject in which there may be what a subagent is for, in a few words. */
const LABELS = ["description", "task_description", "summary"];

/**
 * What becomes of an object where it tells what a subagent is asked or reports: in calls, in their results, and in what
 * Claude Code says of tasks.
 */
function subagentChanges(
  fields: JsonObject,
  { prompts, answers, subagents }: BlankedParts & { readonly subagents: SubagentCalls },
): Changes {
  return {
    ...(prompts ? promptChanges(fields, subagents) : {}),
    ...(answers ? reportChanges(fields, subagents) : {}),
  };
}

function promptChanges(fields: JsonObject, { labels }: SubagentCalls): Changes {
  const changes: Record<string, unknown> = {};
  const call = toolCallIn(fields);
  if (call !== undefined && isSubagentTool(call.tool)) {
    changes[call.field] = blankCallInput(call.tool, call.input);
  }
  const { updatedInput: given, agentId, task_type: kind, prompt, message } = fields;
  // What the caller wants a tool to be given does not say which tool it is.
  if (isJsonObject(given) && typeof given["prompt"] === "string" && "description" in given) {
    changes["updatedInput"] = blankCallInput("Agent", given);
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

/** The same label where Claude Code says what became of the subagent. */
const NAMED = /(?<=^Agent ")[^]*(?=" [\w ]+)/u;

function reportChanges(fields: JsonObject, { tools, labels }: SubagentCalls): Changes {
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

/** The texts of a result, in blocks or alone. */
function mapTexts(content: unknown, blank: (text: string) => string): unknown {
  if (typeof content === "string") return blank(content);
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown) =>
    isJsonObject(block) && typeof block["text"] === "string"
      ? { ...block, text: blank(block["text"]) }
      : block
  );
}

/** What Claude Code itself says around the report of a subagent in the result of its call (2.1.330). */
const AROUND =
  /^\s*<tools-used-before-summary>[\w, -]*<\/tools-used-before-summary>|^\[Subagent hand-back\]$|^agentId: \w+ \((?:use SendMessage with to: '\w+'(?:, summary: '<5-10 word recap>')? to continue this agent|for resuming to continue this agent's work if needed)\)$|^<usage>(?:\n?\w+: \d+)*\n?<\/usage>$/gmu;
/** It goes on in the background, and nothing is reported yet. */
const LAUNCHED = /^Async agent launched successfully\b/u;
/** A skill that a subagent has carried out, and what it says. */
const FORKED = /^Skill "[^"\n]*" completed \(forked execution\)\.\s+Result:\n/u;
/** What a subagent in the background has written so far, as the tool tells it that looks. */
const OUTPUT = /(?<=<output>)[^]*(?=<\/output>)/u;

/** The result of a call, in which the report of a subagent says nothing any more. */
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

/** The calls of subagents in a recording, and what each is called: by these their words are known where no call is near. */
export interface SubagentCalls {
  /** Takes a JSON value in which there may be some. */
  readonly learn: (value: unknown) => void;
  /** The tools that were called, by the ids of the calls: those whose results hold what subagents say. */
  readonly tools: ReadonlyMap<string, string>;
  /** What subagents are for in a few words, as the model has said when it called them. */
  readonly labels: ReadonlySet<string>;
}

/** Tools that begin a subagent. */
const STARTING: ReadonlySet<unknown> = new Set(["Agent", "Task"]);
/** Tools whose results hold what a subagent says. */
const REPORTING: ReadonlySet<unknown> = new Set([
  ...STARTING,
  ...["Skill", "TaskOutput", "AgentOutputTool"],
]);

/** More of a kind is not remembered. */
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
    for (const held of Object.values(value)) learn(held, depth + 1);
  };
  return { learn: (value) => learn(value, 0), tools, labels };
}

/** A call of a tool, as an answer, a hook or a question to the caller has it. */
interface ToolCall {
  readonly tool: string;
  /** The field with what the tool is given. */
  readonly field: "input" | "tool_input";
  readonly input: unknown;
  readonly id?: string;
}

/** The call that an object is, if it is one. */
function toolCallIn(fields: Readonly<Record<string, unknown>>): ToolCall | undefined {
  const { type, name, id, tool_name: named, tool_use_id: usedBy } = fields;
  const tool = type === "tool_use" ? name : named;
  if (typeof tool !== "string") return undefined;
  const field = Object.hasOwn(fields, "tool_input") ? "tool_input" : "input";
  const own = type === "tool_use" ? id : usedBy;
  return { tool, field, input: fields[field], ...(typeof own === "string" ? { id: own } : {}) };
}
