import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion } from "../../../claude/wire/control.ts";
import type { CallDecision } from "../../control/effect.ts";
import type { HookPayload } from "../../control/input.ts";
import type { ToolCall } from "./question.ts";

/** Tools whose permission is a person's answer, and not a yes or no. */
const INTERACTIVE = ["AskUserQuestion", "ExitPlanMode"];

/** The question to the caller when a tool needs a permission. */
export function permissionQuestion(
  payload: HookPayload,
  { call }: { readonly call: ToolCall | undefined },
): CallerQuestion {
  const name = asText(payload["tool_name"]);
  const input = payload["tool_input"];
  const { permission_suggestions: suggestions, agent_id: agentId } = payload;
  const { mcp_server: server } = payload;
  const described = isOfServer(name) ? undefined : descriptionOf(input, payload["cwd"]);
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
 * What a call is about, in a few words: the model's own, the file, as it is called in the working directory, or how the
 * command, the address or the search begins.
 */
function descriptionOf(input: unknown, cwd: unknown): string | undefined {
  if (!isJsonObject(input)) return undefined;
  const { description, notebook_path, file_path, command, url, query } = input;
  const path = notebook_path ?? file_path;
  if (typeof description === "string" && description !== "") return description;
  if (typeof path !== "string") return beginningOf(command ?? url ?? query);
  return path.startsWith(`${asText(cwd)}/`) ? path.slice(`${asText(cwd)}/`.length) : path;
}

/** The beginning of a text, as long as `claude -p` gives it. */
function beginningOf(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const letters = [...text];
  return letters.length > 50 ? `${letters.slice(0, 49).join("")}…` : text;
}

/** A tool as a person knows it: of one of an MCP server what stands behind the last two underscores, in words. */
function displayName(name: string): string {
  if (!isOfServer(name)) return name;
  const [words = ""] = name.split("__").slice(-1);
  return words.replaceAll("_", " ").replaceAll(/\b[a-z]/gu, (letter) => letter.toUpperCase());
}

function isOfServer(name: string): boolean {
  return name.startsWith("mcp__");
}

/** What a caller has decided. */
export interface Decision {
  readonly reply: HookPayload;
  readonly outcome: Exclude<CallDecision, "withdrawn">;
  /** Whether the turn is to end with it. */
  readonly interrupt: boolean;
  /** The input that is allowed, if it is another one than was asked about. */
  readonly otherInput?: JsonObject;
  /** The permission mode in which the session is then; absent where it stays as it is. */
  readonly mode?: string;
}

/**
 * What the hook says to Claude Code, given a caller's answer.
 *
 * A yes always names the input: 2.1.330 leaves the dialog of ExitPlanMode on the screen otherwise.
 *
 * @param options.tool the tool's name
 * @param options.input what it was to be called with
 */
export function decisionOf(
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
export function withMode(reply: HookPayload, mode: string): HookPayload {
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

/** The refusal of a call because the answer of whoever was asked is none. */
export function invalidResult(asked: string): Decision {
  return failedDecision(
    `The ${asked} returned an invalid permission result. Expected ` +
      "{behavior: 'allow', updatedInput?: object} or {behavior: 'deny', message: string}. " +
      "updatedPermissions may hold at most 4096 updates, rules and directories in all.",
  );
}

/** The refusal of what could not be asked of a caller, as `claude -p` words it. */
export function failedRequest(why: string): Decision {
  return failedDecision(`Tool permission request failed: ${why}`);
}

/** The refusal of a call because the tool that was asked for its permission has failed: then nobody has decided. */
export function toolFailure(tool: unknown, why: string): Decision {
  const message = `<tool_use_error>Error calling tool (${asText(tool)}): ${why}</tool_use_error>`;
  return { ...failedDecision(message), outcome: "late" };
}

/** The refusal of a call on which nobody could decide. */
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
