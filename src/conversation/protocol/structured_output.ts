import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  OUTPUT_ACCEPTED,
  OUTPUT_REMINDER,
  OUTPUT_SERVER,
  OUTPUT_TOOL,
} from "../../claude/transcript/structured_output_tool.ts";
import type { ControlStep } from "../control/control_step.ts";
import type { Effect } from "../control/effect.ts";
import type { HookPayload, Input, OutputProblem } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";
import { act, stay, type Step } from "../control/step.ts";

/** How the tool describes itself to the model, in 2.1.330. */
const DESCRIPTION =
  "Use this tool to return your final response in the requested structured format. You MUST call " +
  "this tool exactly once at the end of your response to provide the structured output.";

/** The answer to a Stop hook by which the turn goes on until there is a structured answer. */
export const REMINDER: HookPayload = { decision: "block", reason: OUTPUT_REMINDER };

/** As JSON-RPC numbers it. */
const METHOD_NOT_FOUND = -32601;

type ServerInput = Extract<Input, { readonly type: "mcp-message" }>;

/** Whether the turn may not end yet: the model has given no structured answer, and was not reminded. */
export function owesOutput({ options, output, phase, sent, taken }: SessionState): boolean {
  return options.output !== undefined && output.accepted === undefined && !output.reminded &&
    (phase === "working" || phase === "entered" || phase === "starting") &&
    sent.length + taken.length > 0;
}

/** Whether the model has tried as often as it may to give a structured answer. */
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

/** The child says something to the server that has the tool for structured answers. */
export function onOutputMessage(
  state: SessionState,
  { message, problems }: Pick<ServerInput, "message" | "problems">,
): Step {
  const { id, method } = message;
  if (id === undefined || state.options.output === undefined) return stay(state);
  const params = isJsonObject(message["params"]) ? message["params"] : {};
  switch (method) {
    case "initialize":
      return act(state, [
        reply(id, {
          protocolVersion: params["protocolVersion"],
          capabilities: { tools: {} },
          serverInfo: { name: OUTPUT_SERVER, version: "1" },
        }),
      ]);
    case "tools/list": {
      const { schema } = state.options.output;
      const tool = {
        name: OUTPUT_TOOL,
        description: DESCRIPTION,
        // MCP asks for it, and what the model gives to a tool is always an object.
        inputSchema: { ...schema, type: "object" },
        annotations: { readOnlyHint: true },
      };
      return act(state, [reply(id, { tools: [tool] })]);
    }
    case "tools/call":
      return onCall(state, { id, params, problems: problems ?? [] });
    case "ping":
      return act(state, [reply(id, {})]);
    default: {
      const error = { code: METHOD_NOT_FOUND, message: "Method not found" };
      return act(state, [say({ jsonrpc: "2.0", id, error })]);
    }
  }
}

/** The model tries to give its answer: it is taken if it fits the schema, and then the turn ends with it. */
function onCall(
  before: SessionState,
  { id, params, problems }: {
    readonly id: unknown;
    readonly params: JsonObject;
    readonly problems: readonly OutputProblem[];
  },
): Step {
  const tries = before.output.tries + 1;
  if (problems.length > 0) {
    const text = `Output does not match required schema: ${inWords(problems)}`;
    return act({ ...before, output: { ...before.output, tries } }, [
      reply(id, { content: [{ type: "text", text }], isError: true }),
    ]);
  }
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const accepted = { callId: asText(meta["claudecode/toolUseId"]), written: false };
  return act({ ...before, output: { ...before.output, tries, accepted } }, [
    reply(id, {
      content: [{ type: "text", text: OUTPUT_ACCEPTED }],
      _meta: { "claude/endTurn": true },
    }),
  ]);
}

function inWords(problems: readonly OutputProblem[]): string {
  return problems.map(({ text, found }) => `${text}${found ?? ""}`).join(", ");
}

function reply(id: unknown, result: JsonObject): Effect {
  return say({ jsonrpc: "2.0", id, result });
}

function say(message: JsonObject): Effect {
  return { type: "mcp-message", server: OUTPUT_SERVER, message };
}
