import { asText, isJsonObject } from "../../transcript/json_object.ts";
import type { ControlRequest } from "../../wire/control.ts";
import type { SettledMessage } from "../message.ts";
import type { Consulted } from "../input.ts";
import type { SessionState } from "../session_state.ts";
import { act, type Step } from "../step.ts";

/** What a headless Claude Code is asked for that is to carry out a slash command, and what that is known by. */
export const COMMAND = "slash_command";
const ID = "claude-print slash_command";

/** Has a headless Claude Code carry out a command; nothing is handed to the child until it has. */
export function askCommand(state: SessionState, message: SettledMessage): Step {
  const request = commandRequest(message, ID);
  return act({ ...state, consulted: new Map([...state.consulted, [ID, request]]) }, [
    { type: "consult", request },
  ]);
}

/** A command as a headless Claude Code is asked to carry it out. */
export function commandRequest({ text, settled }: SettledMessage, id: string): ControlRequest {
  const clears = settled.kind === "asked" && settled.clears === true;
  return { id, subtype: COMMAND, body: { prompt: text, ...(clears ? { clears } : {}) } };
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

/** A command with what a headless Claude Code has made of it, as its sender is told. */
export function commandAnswer(message: SettledMessage, said: Consulted): SettledMessage {
  if (message.settled.kind !== "asked") return message;
  const { version } = message.settled;
  if (!("response" in said)) {
    const reason = "failure" in said ? said.failure : said.error;
    return {
      ...message,
      settled: {
        kind: "refused",
        message: `Cannot carry out ${message.text.trim()}: ${reason}`,
        suggestion: "Try again, or run it with claude -p",
      },
    };
  }
  const { text, name, words, fields, begun } = said.response;
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
      },
    },
  };
}
