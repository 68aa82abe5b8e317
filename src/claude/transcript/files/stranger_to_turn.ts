import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";

/**
 * Attachments that Claude Code itself adds to any turn, and that carry nobody's words. `claude -p` 2.1.330 knows more
 * of them; one that is not named here keeps a turn from being dropped.
 */
const OF_ANY_TURN: ReadonlySet<unknown> = new Set([
  "agent_listing_delta",
  "command_permissions",
  "credential_org",
  "date",
  "date_change",
  "deferred_tools_delta",
  "edited_text_file",
  "environment",
  "file",
  "hook_additional_context",
  "hook_blocking_error",
  "hook_non_blocking_error",
  "hook_permission_decision",
  "hook_success",
  "mcp_instructions_delta",
  "model",
  "nested_memory",
  "plan_mode",
  "prompt_snapshot",
  "remote_session_change",
  "session_context",
  "skill_listing",
  "task_reminder",
  "todo_reminder",
]);

const INTERRUPT = /^\[Request interrupted by user(?: for tool use)?\]$/u;

/**
 * What among the lines after a cut is not of one turn, in words, as `claude -p` 2.1.330 guards `--resume-drops-turn`;
 * undefined when all of them are.
 *
 * @param lines the objects of a conversation's lines, in their order
 * @param turn the uuid of the prompt that began the turn
 */
export function strangerToTurn(lines: readonly JsonObject[], turn: string): string | undefined {
  const start = lines.findIndex((line) => !isFurniture(line) && !isEndOfTurn(line));
  const rest = start < 0 ? [] : lines.slice(start);
  const [first, ...others] = rest;
  if (first === undefined) return undefined;
  if (first["type"] !== "user" || first["uuid"] !== turn) {
    return `the first of it is ${nameOf(first)}`;
  }
  if (first["isMeta"] === true || first["isCompactSummary"] === true || !isOfPerson(first)) {
    return `${nameOf(first)} is no prompt of the user's`;
  }
  const stranger = others.find((line) => !isOfTurn(line));
  return stranger === undefined ? undefined : `${nameOf(stranger)} is among it`;
}

function isOfTurn(line: JsonObject): boolean {
  switch (line["type"]) {
    case "assistant":
    case "system":
    case "progress":
      return true;
    case "attachment":
      return isFurniture(line);
    case "user":
      if (line["isCompactSummary"] === true || !isOfPerson(line)) return false;
      if (line["isMeta"] === true) return line["promptSource"] === undefined;
      return isResult(line) || INTERRUPT.test(textOf(line));
    default:
      return false;
  }
}

function isFurniture({ type, attachment }: JsonObject): boolean {
  return type === "attachment" && isJsonObject(attachment) && OF_ANY_TURN.has(attachment["type"]);
}

/** What the interactive Claude Code notes when a turn is over, and `claude -p` does not. */
function isEndOfTurn({ type, subtype }: JsonObject): boolean {
  return type === "system" && (subtype === "stop_hook_summary" || subtype === "turn_duration");
}

function isOfPerson({ origin }: JsonObject): boolean {
  return origin === undefined || (isJsonObject(origin) && origin["kind"] === "human");
}

function isResult({ message }: JsonObject): boolean {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) &&
    content.some((block) => isJsonObject(block) && block["type"] === "tool_result");
}

function textOf({ message }: JsonObject): string {
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return content;
  const [block, ...more] = Array.isArray(content) ? content : [];
  return more.length === 0 && isJsonObject(block) && typeof block["text"] === "string"
    ? block["text"]
    : "";
}

function nameOf({ type, uuid }: JsonObject): string {
  return `the ${asText(type)} line ${asText(uuid)}`;
}
