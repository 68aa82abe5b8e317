import { blankCallInput, speaksToSubagent } from "./blank_call_input.ts";
import { blankPrompt } from "./blank_prompt.ts";
import { blankReport } from "./blank_report.ts";
import { blankText } from "./blank_text.ts";
import { isJsonObject, type JsonObject } from "../../../../json_object.ts";
import type { SaidParts } from "./said_parts.ts";
import { type SubagentCalls, toolCall } from "./subagent_calls.ts";

/** What is made of fields of an object. */
export type Changes = Readonly<Record<string, unknown>>;

/** JsonObject in which there may be what a subagent is for, in a few words. */
const LABELS = ["description", "task_description", "summary"];

/**
 * What becomes of an object where it tells what a subagent is asked or reports: in calls, in their results, and in what
 * Claude Code says of tasks.
 */
export function subagentChanges(
  fields: JsonObject,
  { prompts, answers, subagents }: SaidParts & { readonly subagents: SubagentCalls },
): Changes {
  return {
    ...(prompts ? askedChanges(fields, subagents) : {}),
    ...(answers ? reportChanges(fields, subagents) : {}),
  };
}

function askedChanges(fields: JsonObject, { labels }: SubagentCalls): Changes {
  const changes: Record<string, unknown> = {};
  const call = toolCall(fields);
  if (call !== undefined && speaksToSubagent(call.tool)) {
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
    return { content: reported(content, (text) => blankReport(text, tool)) };
  }
  if (subtype === "task_notification" && typeof summary === "string") {
    const isReport = fields["summary_is_report"] === true ||
      (tool !== undefined && tool !== "Skill" && !labels.has(summary) && !NAMED.test(summary));
    return isReport ? { summary: blankText(summary) } : {};
  }
  const changes: Record<string, unknown> = {};
  if (typeof agentId === "string" && Array.isArray(content)) {
    changes["content"] = reported(content, (text) => blankReport(text, "Agent"));
  }
  const isOfSubagent = fields["task_type"] === "local_agent" || fields["status"] === "forked";
  for (const name of isOfSubagent ? ["result", "output"] : []) {
    const text = fields[name];
    if (typeof text === "string") changes[name] = blankText(text);
  }
  return changes;
}

/** The texts of a result, in blocks or alone. */
function reported(content: unknown, blank: (text: string) => string): unknown {
  if (typeof content === "string") return blank(content);
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown) =>
    isJsonObject(block) && typeof block["text"] === "string"
      ? { ...block, text: blank(block["text"]) }
      : block
  );
}
