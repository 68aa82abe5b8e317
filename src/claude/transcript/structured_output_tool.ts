import type { ContentBlock, Entry, UserEntry } from "./entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** The tool by which the model hands over a structured answer, as `claude -p` names it. */
export const OUTPUT_TOOL = "StructuredOutput";

/** The MCP server whose only tool it is here. */
export const OUTPUT_SERVER = "claude-print";

/** The tool as the interactive Claude Code names it. */
export const BRIDGED_OUTPUT_TOOL = `mcp__${OUTPUT_SERVER}__${OUTPUT_TOOL}`;

/** What an accepted answer gives back to the model, in 2.1.330. */
export const OUTPUT_ACCEPTED = "Structured output provided successfully";

/** What the model is told when it ends its turn without such an answer, in 2.1.330. */
export const OUTPUT_REMINDER =
  "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. " +
  "Call this tool now.";

/** How Claude Code begins what a Stop hook says to the model (2.1.330). */
export const FEEDBACK = "Stop hook feedback:\n";

/** The ids of the calls of the tool on a line. */
export function outputCallsIn(entry: Entry): readonly string[] {
  if (entry.type !== "assistant") return [];
  return entry.message.content.flatMap(({ name, id }) =>
    name === BRIDGED_OUTPUT_TOOL && typeof id === "string" ? [id] : []
  );
}

/**
 * A line as `claude -p` would have it, whose tool is no server's.
 *
 * @param calls the ids of all calls of the tool so far
 */
export function asOutputLine(entry: Entry, calls: ReadonlySet<string>): Entry {
  switch (entry.type) {
    case "assistant": {
      const { message } = entry;
      if (message.content.every(({ name }) => name !== BRIDGED_OUTPUT_TOOL)) return entry;
      return { ...entry, message: { ...message, content: message.content.map(renamedBlock) } };
    }
    case "user":
      if (entry.meaning === "remark") return asReminder(entry);
      return isResultOf(entry, calls) ? asResult(entry) : entry;
    case "system":
    case "attachment":
    case "other":
      return entry;
  }
}

/** A block of an answer with the tool's own name. */
export function renamedBlock<Block extends JsonObject>(block: Block): Block {
  return block["name"] === BRIDGED_OUTPUT_TOOL ? { ...block, name: OUTPUT_TOOL } : block;
}

/** Hooks speak to the model as hooks; `claude -p` reminds it in its own name. */
function asReminder(entry: UserEntry): UserEntry {
  const { content } = entry.message;
  const text = typeof content === "string" ? content : content.map(textOf).join("");
  return text === `${FEEDBACK}${OUTPUT_REMINDER}`
    ? { ...entry, message: { ...entry.message, content: OUTPUT_REMINDER } }
    : entry;
}

function isResultOf({ message: { content } }: UserEntry, calls: ReadonlySet<string>): boolean {
  return typeof content !== "string" &&
    content.some(({ tool_use_id: id }) => typeof id === "string" && calls.has(id));
}

/** A result whose text is no list of a server's, and whose call no rule has had to allow. */
function asResult(entry: UserEntry): UserEntry {
  const { message, toolUseResult: given, permissionDecision: decision } = entry;
  const { reasonType: _, ...decided } = decision ?? {};
  return {
    ...entry,
    message: {
      ...message,
      content: typeof message.content === "string"
        ? message.content
        : message.content.map((block) => ({ ...block, content: plain(block["content"]) })),
    },
    toolUseResult: plain(given),
    ...(decision === undefined ? {} : { permissionDecision: decided }),
  };
}

function plain(content: unknown): unknown {
  return Array.isArray(content) && content.every(isJsonObject)
    ? content.map(textOf).join("")
    : content;
}

function textOf({ text }: JsonObject | ContentBlock): string {
  return typeof text === "string" ? text : "";
}

/** What the names of the tools of an MCP server begin with. */
export function toolPrefix(server: string): string {
  return `mcp__${inToolNames(server)}__`;
}

/**
 * A name as it stands in those that the model is given: for each UTF-16 unit that they may not have there is a `_`, so two
 * for an emoji (2.1.330).
 */
export function inToolNames(name: string): string {
  return name.split("").map((unit) => /[\w-]/u.test(unit) ? unit : "_").join("");
}
