import { asString, asText, isJsonObject, type JsonObject, jsonObjects } from "../../json_object.ts";

/** A shortened transcript; that the message is not in it; or why it cannot be cut there, as a clause. */
export type CutTranscript =
  | { readonly kind: "cut"; readonly text: string }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly by: "message" | "turn"; readonly reason: string };

/** A line and its object. */
interface Line {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * Shortens a transcript to a message and all lines before it, as `claude -p` does with `--resume-session-at`.
 *
 * Lines about the session, such as its title, stay wherever they are. The message has to be in the conversation's last
 * branch and end an answer: the interactive Claude Code adds words to a conversation that ends with a prompt, a call or a
 * result, and `claude -p` does not.
 *
 * @param text the transcript
 * @param options.upTo the uuid of the last message that stays
 * @param options.dropsTurn the uuid of a prompt: no line outside its turn may be dropped
 */
export function cutTranscript(
  text: string,
  { upTo, dropsTurn }: { readonly upTo: string; readonly dropsTurn: string | undefined },
): CutTranscript {
  const lines = inOrder(text.split("\n").map(parseLine).filter((line) => line !== undefined), upTo);
  const chain = lastBranch(lines);
  const at = lines.findIndex(({ value }) => value["uuid"] === upTo);
  if (at < 0 || !chain.has(upTo)) return { kind: "absent" };
  const inChain = ({ value }: Line) => chain.has(asText(value["uuid"]));
  const kept = lines.slice(0, at + 1);
  const spoken = kept.filter(inChain).filter(({ value }) => isSpoken(value));
  if (!isEndOfAnswer(spoken)) {
    return refused(
      "message",
      `the message "${upTo}" is not the end of an answer, and the interactive Claude Code adds to what ends elsewhere`,
    );
  }
  const rest = lines.slice(at + 1);
  if (dropsTurn !== undefined) {
    const dropped = rest.filter(inChain).map(({ value }) => value);
    const stranger = findForeignLine(dropped, dropsTurn);
    if (stranger !== undefined) {
      return refused("turn", `more than the turn "${dropsTurn}" would be left out: ${stranger}`);
    }
  }
  const gone = new Set(rest.flatMap(({ value }) => uuidOf(value)));
  const stays = rest.filter(({ value }) =>
    uuidOf(value).length === 0 &&
    !Object.values(value).some((field) => typeof field === "string" && gone.has(field))
  );
  return { kind: "cut", text: [...kept, ...stays].map((line) => `${line.text}\n`).join("") };
}

/** Moves the ancestors of a message before it: 2.1.197 wrote some prompts after their answers. */
function inOrder(lines: readonly Line[], upTo: string): readonly Line[] {
  const at = lines.findIndex(({ value }) => value["uuid"] === upTo);
  const parents = new Map(
    lines.flatMap(({ value }) => uuidOf(value).map((uuid) => [uuid, value["parentUuid"]] as const)),
  );
  const ancestors = new Set<unknown>();
  for (let uuid = parents.get(upTo); typeof uuid === "string" && !ancestors.has(uuid);) {
    ancestors.add(uuid);
    uuid = parents.get(uuid);
  }
  const isLate = ({ value }: Line) => ancestors.has(value["uuid"]);
  const rest = lines.slice(at);
  return at < 0
    ? lines
    : [...lines.slice(0, at), ...rest.filter(isLate), ...rest.filter((line) => !isLate(line))];
}

function refused(by: "message" | "turn", reason: string): CutTranscript {
  return { kind: "refused", by, reason };
}

function parseLine(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { text, value } : undefined;
  } catch {
    return undefined;
  }
}

function uuidOf({ uuid }: JsonObject): readonly string[] {
  return typeof uuid === "string" ? [uuid] : [];
}

/** The uuids from the last message back to the beginning or the last compaction, and those of all results of its calls. */
function lastBranch(lines: readonly Line[]): ReadonlySet<string> {
  const byUuid = new Map(
    lines.flatMap(({ value }) => uuidOf(value).map((uuid) => [uuid, value] as const)),
  );
  const chain = new Set<string>();
  const leaf = lines.findLast(({ value }) => isSpoken(value));
  for (let at = leaf?.value["uuid"]; typeof at === "string" && !chain.has(at);) {
    chain.add(at);
    at = byUuid.get(at)?.["parentUuid"];
  }
  const answers = new Set([...chain].flatMap((uuid) => messageId(byUuid.get(uuid) ?? {}) ?? []));
  // Of parallel calls only one is an ancestor of the last message. The others are added here, and what follows the last message.
  for (const { value } of lines) {
    const { parentUuid, type } = value;
    if (typeof parentUuid !== "string" || !chain.has(parentUuid)) continue;
    const belongs = isToolResultLine(value) || type === "attachment" || type === "system" ||
      answers.has(messageId(value) ?? "");
    if (belongs) { for (const uuid of uuidOf(value)) chain.add(uuid); }
  }
  return chain;
}

function isSpoken({ type, isSidechain }: JsonObject): boolean {
  return (type === "user" || type === "assistant") && isSidechain !== true;
}

function isEndOfAnswer(spoken: readonly Line[]): boolean {
  const last = spoken.at(-1)?.value;
  if (last === undefined || last["type"] !== "assistant") return false;
  const id = messageId(last);
  const parts = spoken.filter(({ value }) => id !== undefined && messageId(value) === id);
  return !parts.some(({ value }) => blocksOf(value).some(({ type }) => type === "tool_use"));
}

function messageId({ message }: JsonObject): string | undefined {
  return isJsonObject(message) ? asString(message["id"]) : undefined;
}

function isToolResultLine(value: JsonObject): boolean {
  return value["type"] === "user" && blocksOf(value).some(({ type }) => type === "tool_result");
}

function blocksOf({ message }: JsonObject): readonly JsonObject[] {
  return isJsonObject(message) ? jsonObjects(message["content"]) : [];
}

/**
 * Attachments that Claude Code adds to any turn. `claude -p` 2.1.330 knows more of them; a turn with one that is not named
 * here cannot be dropped.
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
 * Describes the first line after a cut that is not part of one turn, as `claude -p` 2.1.330 does for
 * `--resume-drops-turn`; undefined if all lines are part of it.
 *
 * @param lines the objects of the conversation's lines after the cut, in order
 * @param turn the uuid of the prompt that began the turn
 */
export function findForeignLine(lines: readonly JsonObject[], turn: string): string | undefined {
  const start = lines.findIndex((line) => !isFurniture(line) && !isEndOfTurn(line));
  const rest = start < 0 ? [] : lines.slice(start);
  const [first, ...others] = rest;
  if (first === undefined) return undefined;
  if (first["type"] !== "user" || first["uuid"] !== turn) {
    return `the first of it is ${lineLabel(first)}`;
  }
  if (first["isMeta"] === true || first["isCompactSummary"] === true || !isOfPerson(first)) {
    return `${lineLabel(first)} is no prompt of the user's`;
  }
  const stranger = others.find((line) => !isOfTurn(line));
  return stranger === undefined ? undefined : `${lineLabel(stranger)} is among it`;
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
      return isToolResult(line) || INTERRUPT.test(messageText(line));
    default:
      return false;
  }
}

function isFurniture({ type, attachment }: JsonObject): boolean {
  return type === "attachment" && isJsonObject(attachment) && OF_ANY_TURN.has(attachment["type"]);
}

/** Whether a line is one that the interactive Claude Code writes at the end of a turn, and `claude -p` does not. */
function isEndOfTurn({ type, subtype }: JsonObject): boolean {
  return type === "system" && (subtype === "stop_hook_summary" || subtype === "turn_duration");
}

function isOfPerson({ origin }: JsonObject): boolean {
  return origin === undefined || (isJsonObject(origin) && origin["kind"] === "human");
}

function isToolResult({ message }: JsonObject): boolean {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) &&
    content.some((block) => isJsonObject(block) && block["type"] === "tool_result");
}

function messageText({ message }: JsonObject): string {
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return content;
  const [block, ...more] = Array.isArray(content) ? content : [];
  return more.length === 0 && isJsonObject(block) && typeof block["text"] === "string"
    ? block["text"]
    : "";
}

function lineLabel({ type, uuid }: JsonObject): string {
  return `the ${asText(type)} line ${asText(uuid)}`;
}
