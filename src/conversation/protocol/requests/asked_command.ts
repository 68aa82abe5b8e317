import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { ChildChanges } from "../../control/effect.ts";
import type { NotedChanges, SettledMessage } from "../../control/message.ts";
import type { Consulted } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";

/** What a headless Claude Code is asked for that is to carry out a slash command, and what that is known by. */
export const COMMAND = "slash_command";
const ID = "claude-print slash_command";

/**
 * Has a headless Claude Code carry out a command; nothing is handed to the child until it has. It knows what has been
 * asked for before the command, of which a child is told with the next message: several commands in a row need none.
 */
export function askCommand(state: SessionState, message: SettledMessage): Step {
  const { changes } = state;
  const request = commandRequest(message, ID);
  return act({ ...state, consulted: new Map([...state.consulted, [ID, request]]) }, [
    { type: "consult", request, ...(changes === undefined ? {} : { changes }) },
  ]);
}

/** Whether a headless Claude Code cannot be told what has been asked for: MCP servers are in files of a child's start. */
export function needsNewChild({ setServers, switched }: ChildChanges): boolean {
  return setServers !== undefined || switched !== undefined;
}

/** A command as a headless Claude Code is asked to carry it out. */
export function commandRequest({ text, settled }: SettledMessage, id: string): ControlRequest {
  const { alone, clears, notes } = settled.kind === "asked" ? settled : {};
  return {
    id,
    subtype: COMMAND,
    body: {
      prompt: text,
      ...(clears ? { clears } : {}),
      ...(alone ? { needsCost: true } : {}),
    },
    ...(notes ? { notes } : {}),
  };
}

/** Notes what a headless Claude Code has made of the command that waits, unless its sender has taken it back. */
export function withCommand(state: SessionState, said: Consulted): SessionState {
  const place = state.queue.findIndex((message) =>
    message.way === undefined && message.settled.kind === "asked"
  );
  const message = state.queue[place];
  return message === undefined || message.way !== undefined
    ? state
    : { ...state, queue: state.queue.with(place, commandAnswer(message, said)) };
}

/**
 * What commands say that are about a process, where any other would say it, too: nothing of costs, and nothing of a mode
 * that they have set (2.1.330).
 */
const OF_ANY_PROCESS =
  /^(?:You are currently using your subscription|Fast mode unavailable|Unknown argument)/u;

/** What tells of costs, which a headless Claude Code may have been told. */
const OF_COSTS = /^Estimated cost:/u;

/** A command with what a headless Claude Code has made of it, as its sender is told. */
export function commandAnswer(message: SettledMessage, said: Consulted): SettledMessage {
  if (message.settled.kind !== "asked") return message;
  const { version, notes, alone, unavailable } = message.settled;
  const refused = (reason: string, suggestion: string): SettledMessage => ({
    ...message,
    settled: {
      kind: "refused",
      message: `Cannot carry out ${message.text.trim()}: ${reason}`,
      suggestion,
    },
  });
  if (!("response" in said)) {
    const reason = "failure" in said ? said.failure : said.error;
    return refused(reason, "Try again, or run it with claude -p");
  }
  const { text, name, words, fields, begun, title, commands, hasCost } = said.response;
  const isKnown = OF_ANY_PROCESS.test(asText(text)) || (hasCost && OF_COSTS.test(asText(text)));
  if (alone && !isKnown) {
    return refused(
      "what it tells of a conversation is in the frames and results of that",
      "Read fast_mode_state, total_cost_usd and modelUsage there, or run it with claude -p",
    );
  }
  if (unavailable) return { ...message, settled: { kind: "local", text: asText(text), version } };
  return {
    ...message,
    settled: {
      kind: "local",
      text: asText(text),
      version,
      carried: {
        ...(typeof name === "string" ? { name } : {}),
        ...(typeof words === "string" ? { words } : {}),
        ...(isJsonObject(fields) ? { fields } : {}),
        ...(typeof begun === "string" ? { begun } : {}),
        ...(typeof title === "string" ? { title } : {}),
        ...(Array.isArray(commands) ? { commands } : {}),
        ...(notes ? { changes: changesOf(said.response) } : {}),
      },
    },
  };
}

/** An alias of two models, of which either may be in use before. */
const EITHER = /^opusplan\b/iu;

/**
 * How the session goes on because of a command that says so, by what is in force before it and after it. Of one that says
 * nothing of that, or was not understood, only the model hears.
 */
function changesOf({ fields, before, after }: JsonObject): NotedChanges {
  const run = isJsonObject(fields) ? fields["local_command_run"] : undefined;
  if (!isJsonObject(run) || !isJsonObject(before) || !isJsonObject(after)) return {};
  const { command: name } = run;
  const differs = (field: string) => before[field] !== after[field];
  const said = asText(run["args"]).trim();
  if (name === "model") {
    const { model } = after;
    return differs("model") || EITHER.test(said)
      ? { model: said, ...(typeof model === "string" ? { chosenModel: model } : {}) }
      : {};
  }
  if (name !== "effort") return {};
  const { effort, ultracode } = after;
  const isAuto = said.toLowerCase() === "auto";
  return {
    ...(differs("effort") && typeof effort === "string" ? { effort: isAuto ? null : effort } : {}),
    ...(differs("ultracode") ? { flagSettings: { ultracode } } : {}),
  };
}
