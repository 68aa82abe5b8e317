import type { ContentBlock, Entry, UserEntry } from "./entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** The tool with which the model gives a structured answer, by its name in `claude -p`. */
export const OUTPUT_TOOL = "StructuredOutput";

/** Our MCP server that offers the tool to the interactive Claude Code. */
export const OUTPUT_SERVER = "claude-print";

/** The tool's name in the interactive Claude Code. */
export const BRIDGED_OUTPUT_TOOL = `mcp__${OUTPUT_SERVER}__${OUTPUT_TOOL}`;

/** The tool's result for an accepted answer (2.1.330). */
export const OUTPUT_ACCEPTED = "Structured output provided successfully";

/** The reminder for a turn that ends without a structured answer (2.1.330). */
export const OUTPUT_REMINDER =
  "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. " +
  "Call this tool now.";

/** The beginning of a Stop hook's text for the model (2.1.330). */
export const STOP_HOOK_FEEDBACK = "Stop hook feedback:\n";

/** Returns the ids of a line's calls of the tool. */
export function readOutputCalls(entry: Entry): readonly string[] {
  if (entry.type !== "assistant") return [];
  return entry.message.content.flatMap(({ name, id }) =>
    name === BRIDGED_OUTPUT_TOOL && typeof id === "string" ? [id] : []
  );
}

/**
 * Rewrites a line to what `claude -p` would have written, where the tool is built in.
 *
 * @param calls the ids of all calls of the tool so far
 */
export function toBuiltInOutput(entry: Entry, calls: ReadonlySet<string>): Entry {
  switch (entry.type) {
    case "assistant": {
      const { message } = entry;
      if (message.content.every(({ name }) => name !== BRIDGED_OUTPUT_TOOL)) return entry;
      return { ...entry, message: { ...message, content: message.content.map(renameOutputTool) } };
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

/** Gives the tool its built-in name in a block of an answer. */
export function renameOutputTool<Block extends JsonObject>(block: Block): Block {
  return block["name"] === BRIDGED_OUTPUT_TOOL ? { ...block, name: OUTPUT_TOOL } : block;
}

/** Removes the words that mark our reminder as a hook's. `claude -p` reminds without a hook. */
function asReminder(entry: UserEntry): UserEntry {
  const { content } = entry.message;
  const text = typeof content === "string" ? content : content.map(blockText).join("");
  return text === `${STOP_HOOK_FEEDBACK}${OUTPUT_REMINDER}`
    ? { ...entry, message: { ...entry.message, content: OUTPUT_REMINDER } }
    : entry;
}

function isResultOf({ message: { content } }: UserEntry, calls: ReadonlySet<string>): boolean {
  return typeof content !== "string" &&
    content.some(({ tool_use_id: id }) => typeof id === "string" && calls.has(id));
}

/** Removes what a result has only because the tool is a server's: the list around its text, and the permission. */
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
    ? content.map(blockText).join("")
    : content;
}

function blockText({ text }: JsonObject | ContentBlock): string {
  return typeof text === "string" ? text : "";
}

/** Returns the prefix of the tool names of an MCP server. */
export function toolPrefix(server: string): string {
  return `mcp__${encodeToolName(server)}__`;
}

/**
 * Returns a name as it is in tool names: each UTF-16 unit that is not allowed there becomes `_`, so an emoji becomes two
 * (2.1.330).
 */
export function encodeToolName(name: string): string {
  return name.split("").map((unit) => /[\w-]/u.test(unit) ? unit : "_").join("");
}
