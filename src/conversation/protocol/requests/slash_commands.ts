import type { ControlRequest } from "../../../claude/wire/control.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ControlStep } from "../../control/control_step.ts";
import type { ChildChanges } from "../../control/effect.ts";
import type { HelperReply } from "../../control/input.ts";
import type {
  AskedCommand,
  CarriedOut,
  NotedChanges,
  SettledMessage,
} from "../../control/message.ts";

/** The request that makes the headless helper carry out a slash command. */
export const SLASH_COMMAND = "slash_command";

/** The id of the `slash_command` request. It is fixed, because only one command is carried out at a time. */
const ID = "claude-print slash_command";

/**
 * Makes the headless helper carry out a command. The child gets no message until the helper has done so.
 *
 * The helper also gets the changes with which the next child has to start, so several such commands in a row need no
 * other child.
 */
export function askCommand(step: ControlStep, message: SettledMessage): void {
  const { changes, consultedRequests } = step.state;
  const request = commandRequest(message, ID);
  step.update({ consultedRequests: new Map([...consultedRequests, [ID, request]]) });
  step.emit({ type: "consult", request, ...(changes === undefined ? {} : { changes }) });
}

/**
 * Whether changes need a new child, because a helper cannot be started with them: MCP servers are in files that are
 * written for a child's start.
 */
export function needsNewChild({ setServers, switched }: ChildChanges): boolean {
  return setServers !== undefined || switched !== undefined;
}

/** The request that makes a helper carry out a command. */
export function commandRequest({ text, settled }: SettledMessage, id: string): ControlRequest {
  const { alone, clears, notes } = settled.kind === "asked" ? settled : {};
  return {
    id,
    subtype: SLASH_COMMAND,
    body: {
      prompt: text,
      ...(clears ? { clears } : {}),
      ...(alone ? { needsCost: true } : {}),
    },
    ...(notes ? { notes } : {}),
  };
}

/** Records the helper's answer to the command that waits for it, unless the caller has cancelled the command. */
export function recordCommandAnswer(step: ControlStep, answer: HelperReply): void {
  const { queue } = step.state;
  const place = queue.findIndex((message) =>
    message.way === undefined && message.settled.kind === "asked"
  );
  const message = queue[place];
  if (message === undefined || message.way !== undefined) return;
  step.update({ queue: queue.with(place, commandAnswer(message, answer)) });
}

/**
 * Outputs of commands about their process that every other process also prints. All their other outputs report costs,
 * or a mode that the command has set (2.1.330).
 */
const OF_ANY_PROCESS =
  /^(?:You are currently using your subscription|Fast mode unavailable|Unknown argument)/u;

/** The output that reports costs. The helper may have received the conversation's cost. */
const OF_COSTS = /^Estimated cost:/u;

/** A command, settled by the helper's answer. */
export function commandAnswer(message: SettledMessage, answer: HelperReply): SettledMessage {
  if (message.settled.kind !== "asked") return message;
  const { version, alone, unavailable } = message.settled;
  if (!("response" in answer)) {
    const reason = "failure" in answer ? answer.failure : answer.error;
    return refused(message, reason, "Try again, or run it with claude -p");
  }
  const { hasCost } = answer.response;
  const text = asText(answer.response["text"]);
  const isKnown = OF_ANY_PROCESS.test(text) || (hasCost && OF_COSTS.test(text));
  if (alone && !isKnown) {
    return refused(
      message,
      "what it tells of a conversation is in the frames and results of that",
      "Read fast_mode_state, total_cost_usd and modelUsage there, or run it with claude -p",
    );
  }
  const carried = unavailable ? {} : { carried: carriedOut(message.settled, answer.response) };
  return { ...message, settled: { kind: "local", text, version, ...carried } };
}

function refused(message: SettledMessage, reason: string, suggestion: string): SettledMessage {
  const text = `Cannot carry out ${message.text.trim()}: ${reason}`;
  return { ...message, settled: { kind: "refused", message: text, suggestion } };
}

/** Reads the command's outcome and the session after it from the helper's answer. */
function carriedOut({ notes }: AskedCommand, response: JsonObject): CarriedOut {
  const { name, words, fields, begun, title, commands } = response;
  return {
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof words === "string" ? { words } : {}),
    ...(isJsonObject(fields) ? { fields } : {}),
    ...(typeof begun === "string" ? { begun } : {}),
    ...(typeof title === "string" ? { title } : {}),
    ...(Array.isArray(commands) ? { commands } : {}),
    ...(notes ? { changes: changesOf(response) } : {}),
  };
}

/** An alias of two models, either of which may have been in use before. */
const TWO_MODELS = /^opusplan\b/iu;

/**
 * The changes of a command for the next child, by the settings in force before and after it. Empty for a command that
 * has changed nothing, or was not understood.
 */
function changesOf({ fields, before, after }: JsonObject): NotedChanges {
  const run = isJsonObject(fields) ? fields["local_command_run"] : undefined;
  if (!isJsonObject(run) || !isJsonObject(before) || !isJsonObject(after)) return {};
  const { command: name } = run;
  const differs = (field: string) => before[field] !== after[field];
  const argument = asText(run["args"]).trim();
  if (name === "model") {
    const { model } = after;
    return differs("model") || TWO_MODELS.test(argument)
      ? { model: argument, ...(typeof model === "string" ? { chosenModel: model } : {}) }
      : {};
  }
  if (name !== "effort") return {};
  const { effort, ultracode } = after;
  const isAuto = argument.toLowerCase() === "auto";
  return {
    ...(differs("effort") && typeof effort === "string" ? { effort: isAuto ? null : effort } : {}),
    ...(differs("ultracode") ? { flagSettings: { ultracode } } : {}),
  };
}
