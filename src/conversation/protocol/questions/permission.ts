import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion } from "../../../claude/wire/control.ts";
import type { CallDecision } from "../../model/shared_facts.ts";
import type { HookPayload } from "../../control/input.ts";
import type { ToolCall } from "./question.ts";

/** Tools that ask the user a question. The permission is the answer to this question. */
const INTERACTIVE = ["AskUserQuestion", "ExitPlanMode"];

/** Builds the question to the caller for a tool that needs a permission. */
export function buildPermissionQuestion(
  payload: HookPayload,
  { call }: { readonly call: ToolCall | undefined },
): CallerQuestion {
  const name = asText(payload["tool_name"]);
  const input = payload["tool_input"];
  const { permission_suggestions: suggestions, agent_id: agentId } = payload;
  const { mcp_server: server } = payload;
  const described = isServerTool(name) ? undefined : describeCall(input, payload["cwd"]);
  return {
    subtype: "can_use_tool",
    tool_name: name,
    ...(server === undefined ? {} : { mcp_server: server }),
    display_name: displayName(name),
    input,
    ...(described === undefined ? {} : { description: described }),
    ...(Array.isArray(suggestions) ? { permission_suggestions: suggestions } : {}),
    tool_use_id: call?.id ?? "",
    ...(typeof agentId === "string" ? { agent_id: agentId } : {}),
    ...(INTERACTIVE.includes(name) ? { requires_user_interaction: true } : {}),
  };
}

/**
 * Describes a call by the model's own description, by the file (relative to the working directory), or by the beginning
 * of the command, the URL or the query.
 */
function describeCall(input: unknown, cwd: unknown): string | undefined {
  if (!isJsonObject(input)) return undefined;
  const { description, notebook_path, file_path, command, url, query } = input;
  const path = notebook_path ?? file_path;
  if (typeof description === "string" && description !== "") return description;
  if (typeof path !== "string") return truncateText(command ?? url ?? query);
  return path.startsWith(`${asText(cwd)}/`) ? path.slice(`${asText(cwd)}/`.length) : path;
}

/** Cuts a text as `claude -p` does. */
function truncateText(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const letters = [...text];
  return letters.length > 50 ? `${letters.slice(0, 49).join("")}…` : text;
}

/** A tool's name for a person. For a tool of an MCP server, the part after the last two underscores, in words. */
function displayName(name: string): string {
  if (!isServerTool(name)) return name;
  const [words = ""] = name.split("__").slice(-1);
  return words.replaceAll("_", " ").replaceAll(/\b[a-z]/gu, (letter) => letter.toUpperCase());
}

function isServerTool(name: string): boolean {
  return name.startsWith("mcp__");
}

/** The caller's decision on a permission. */
export interface Decision {
  readonly reply: HookPayload;
  readonly outcome: Exclude<CallDecision, "withdrawn">;
  /** Whether the decision ends the turn. */
  readonly interrupt: boolean;
  /** The input that is allowed, if the caller has changed it. */
  readonly otherInput?: JsonObject;
  /** The new permission mode; absent if it does not change. */
  readonly mode?: string;
}

/**
 * Reads the caller's answer and builds the hook's reply.
 *
 * An approval always names the input. Without it, 2.1.330 leaves the dialog of ExitPlanMode on the screen.
 *
 * @param options.tool the tool's name
 * @param options.input the input of the call
 */
export function readDecision(
  answer: unknown,
  { tool, input }: { readonly tool: unknown; readonly input: unknown },
): Decision {
  const { behavior, updatedInput, updatedPermissions, message, interrupt } = isJsonObject(answer)
    ? answer
    : {};
  if (behavior === "allow" && (updatedInput === undefined || isJsonObject(updatedInput))) {
    const updates: readonly unknown[] = Array.isArray(updatedPermissions) ? updatedPermissions : [];
    const mode = updates.filter(isJsonObject).findLast(({ type }) =>
      type === "setMode"
    )?.["mode"] ??
      (tool === "ExitPlanMode" ? "default" : undefined);
    return {
      outcome: "accepted",
      interrupt: false,
      ...(updatedInput === undefined || isSame(updatedInput, input)
        ? {}
        : { otherInput: updatedInput }),
      ...(typeof mode === "string" ? { mode } : {}),
      reply: permissionReply({
        behavior,
        updatedInput: updatedInput ?? input,
        ...(updates.length === 0 ? {} : { updatedPermissions: updates }),
      }),
    };
  }
  if (behavior === "deny" && typeof message === "string") {
    return {
      outcome: "rejected",
      interrupt: interrupt === true,
      reply: permissionReply({
        behavior,
        message,
        ...(interrupt === true ? { interrupt } : {}),
      }),
    };
  }
  return invalidResult("canUseTool callback");
}

/** A reply that allows a call and changes the permission mode of the session. */
export function addMode(reply: HookPayload, mode: string): HookPayload {
  const output = reply["hookSpecificOutput"];
  const decision = isJsonObject(output) ? output["decision"] : undefined;
  if (!isJsonObject(decision)) return reply;
  const { updatedPermissions: updates } = decision;
  return permissionReply({
    ...decision,
    updatedPermissions: [
      ...Array.isArray(updates) ? updates : [],
      { type: "setMode", mode, destination: "session" },
    ],
  });
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Denies a tool call, because the caller's answer to the permission question is no valid permission result. */
export function invalidResult(asked: string): Decision {
  return failedDecision(
    `The ${asked} returned an invalid permission result. Expected ` +
      "{behavior: 'allow', updatedInput?: object} or {behavior: 'deny', message: string}. " +
      "updatedPermissions may hold at most 4096 updates, rules and directories in all.",
  );
}

/** Denies a call because the caller could not be asked, in the words of `claude -p`. */
export function failedRequest(why: string): Decision {
  return failedDecision(`Tool permission request failed: ${why}`);
}

/** Denies a call because the prompt tool has failed. */
export function toolFailure(tool: unknown, why: string): Decision {
  const message = `<tool_use_error>Error calling tool (${asText(tool)}): ${why}</tool_use_error>`;
  return { ...failedDecision(message), outcome: "late" };
}

/** Denies a call without a decision. */
function failedDecision(message: string): Decision {
  return {
    outcome: "failed",
    interrupt: false,
    reply: permissionReply({ behavior: "deny", message }),
  };
}

function permissionReply(decision: JsonObject): HookPayload {
  return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
}
