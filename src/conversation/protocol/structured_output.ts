import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  OUTPUT_ACCEPTED,
  OUTPUT_REMINDER,
  OUTPUT_SERVER,
  OUTPUT_TOOL,
} from "../../claude/transcript/structured_output_tool.ts";
import type { ControlStep } from "../control/control_step.ts";
import type { HookPayload, Input, OutputProblem } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";

/** The description of the tool for the model, from 2.1.330. */
const DESCRIPTION =
  "Use this tool to return your final response in the requested structured format. You MUST call " +
  "this tool exactly once at the end of your response to provide the structured output.";

/** The answer to a Stop hook that continues the turn, because the model has given no structured answer. */
export const REMINDER: HookPayload = { decision: "block", reason: OUTPUT_REMINDER };

/** The code of JSON-RPC. */
const METHOD_NOT_FOUND = -32601;

type ServerInput = Extract<Input, { readonly type: "mcp-message" }>;

/** Whether the turn must not end yet, because the model has given no structured answer and was not reminded of it. */
export function owesOutput({ options, output, phase, sent, taken }: SessionState): boolean {
  return options.output !== undefined && output.accepted === undefined && !output.reminded &&
    (phase === "working" || phase === "entered" || phase === "starting") &&
    sent.length + taken.length > 0;
}

/** Whether the model has used all attempts at a structured answer. */
export function isOutOfTries({ options, output }: SessionState): boolean {
  return options.output !== undefined && output.accepted === undefined &&
    output.tries >= options.output.maxTries;
}

/** Whether the transcript holds the structured answer, if there is one. */
export function isOutputWritten({ output: { accepted } }: SessionState): boolean {
  return accepted === undefined || accepted.written;
}

/** Records that the transcript holds the structured answer, if its call is among those whose results a line holds. */
export function recordOutputWritten(step: ControlStep, returned: readonly string[]): void {
  const { output } = step.state;
  const { accepted } = output;
  if (accepted === undefined || accepted.written || !returned.includes(accepted.callId)) return;
  step.update({ output: { ...output, accepted: { ...accepted, written: true } } });
}

/** Answers a message of the child to the MCP server that has the tool for structured answers. */
export function onOutputMessage(
  step: ControlStep,
  { message, problems }: Pick<ServerInput, "message" | "problems">,
): void {
  const { id, method } = message;
  const { output } = step.state.options;
  if (id === undefined || output === undefined) return;
  const params = isJsonObject(message["params"]) ? message["params"] : {};
  switch (method) {
    case "initialize":
      return emitResult(step, id, {
        protocolVersion: params["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: OUTPUT_SERVER, version: "1" },
      });
    case "tools/list": {
      const tool = {
        name: OUTPUT_TOOL,
        description: DESCRIPTION,
        // MCP requires a type, and the model always calls a tool with an object.
        inputSchema: { ...output.schema, type: "object" },
        annotations: { readOnlyHint: true },
      };
      return emitResult(step, id, { tools: [tool] });
    }
    case "tools/call":
      return onOutputCall(step, { id, params, problems: problems ?? [] });
    case "ping":
      return emitResult(step, id, {});
    default:
      emitMessage(step, {
        jsonrpc: "2.0",
        id,
        error: { code: METHOD_NOT_FOUND, message: "Method not found" },
      });
  }
}

/** Receives a structured answer of the model. Accepts it if it fits the schema, which ends the turn. */
function onOutputCall(
  step: ControlStep,
  { id, params, problems }: {
    readonly id: unknown;
    readonly params: JsonObject;
    readonly problems: readonly OutputProblem[];
  },
): void {
  const { output } = step.state;
  const tries = output.tries + 1;
  if (problems.length > 0) {
    step.update({ output: { ...output, tries } });
    const list = problems.map(({ text, found }) => `${text}${found ?? ""}`).join(", ");
    const text = `Output does not match required schema: ${list}`;
    emitResult(step, id, { content: [{ type: "text", text }], isError: true });
    return;
  }
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const accepted = { callId: asText(meta["claudecode/toolUseId"]), written: false };
  step.update({ output: { ...output, tries, accepted } });
  emitResult(step, id, {
    content: [{ type: "text", text: OUTPUT_ACCEPTED }],
    _meta: { "claude/endTurn": true },
  });
}

function emitResult(step: ControlStep, id: unknown, result: JsonObject): void {
  emitMessage(step, { jsonrpc: "2.0", id, result });
}

function emitMessage(step: ControlStep, message: JsonObject): void {
  step.emit({ type: "mcp-message", server: OUTPUT_SERVER, message });
}
