import type { CallbackHook, CallerOptions } from "../../src/session/control/caller_options.ts";
import type { Consulted, Input, Untimed } from "../../src/session/input.ts";
import type { Message } from "../../src/session/message.ts";
import type { Screen } from "../../src/session/terminal/screen.ts";
import type { JsonObject } from "../../src/json_object.ts";
import { answer, line } from "../transcript/lines.ts";

export {
  answer,
  called,
  COMPLETED,
  INTERRUPTED,
  line,
  PROMPT,
  returned,
} from "../transcript/lines.ts";

/** An input without its time. */
export type Given = Untimed<Input>;

/** The newest version that the fixtures know. */
export const VERSION = "2.1.332";

export const CLOSED = { type: "closed" } as const;
export const REACHABLE = { type: "reachable" } as const;
export const READ = { type: "read" } as const;
export const IDLE = status("idle");
export const BUSY = status("busy");
export const COST = cost(1);
export const EXIT = exit(143);

export function exit(code: number) {
  return { type: "exit", exit: { kind: "exited", code } } as const;
}

export function status(name: string, waitingFor?: string) {
  const waiting = waitingFor === undefined ? {} : { waitingFor };
  return { type: "status", status: name, ...waiting } as const;
}

export function cost(totalUsd: number, apiDurationMs = 1) {
  return { type: "cost", totalUsd, apiDurationMs } as const;
}

export function signal(name: "SIGINT" | "SIGTERM" | "SIGHUP") {
  return { type: "signal", signal: name } as const;
}

/** A hook of ours. One with an id waits for an answer. */
export function hook(event: string, payload: JsonObject = {}, id = "") {
  return { type: "hook", event, payload, ...(id === "" ? {} : { id }) } as const;
}

/** A hook of the caller's, by its place among them. */
export function callbackHook(event: string, payload: JsonObject = {}, id = "5", callback = 0) {
  return { ...hook(event, payload, id), callback };
}

/** The hook of a prompt that the child has taken. */
export function submit(prompt: string) {
  return hook("UserPromptSubmit", { prompt });
}

/** The hook of the end of a turn, with the assistant's last words. */
export function stop(text?: string, payload: JsonObject = {}, id = "") {
  const words = text === undefined ? {} : { last_assistant_message: text };
  return hook("Stop", { ...words, ...payload }, id);
}

/** A message of the caller's by the rendezvous socket, unless it says otherwise. */
export function message(text: string, more: Partial<Message> = {}) {
  return { type: "message", message: { text, way: "rendezvous", ...more } as Message } as const;
}

/** A message that needs no child. */
export function settledMessage(text: string, settled: JsonObject, more: object = {}) {
  return { type: "message", message: { text, settled, ...more } as unknown as Message } as const;
}

/** A control request of the caller's, by default with its subtype as id. */
export function request(subtype: string, body: JsonObject = {}, id = subtype) {
  return { type: "control", request: { id, subtype, body } } as const;
}

/** What a headless helper says to a request. */
export function consulted(id: string, said: Consulted = { response: {} }) {
  return { type: "consulted", id, said } as const;
}

/** The caller's answer to a question. */
export function reply(response: unknown, id = "q-1") {
  return { type: "answer", answer: { id, response } } as const;
}

/** The caller's error in answer to a question. */
export function failure(error: string, id = "q-1") {
  return { type: "answer", answer: { id, error } } as const;
}

export function fromServer(server: string, message: JsonObject) {
  return { type: "mcp-message", server, message } as const;
}

/** A line with the user's words. */
export function userLine(content: unknown, more: JsonObject = {}) {
  return line({ type: "user", message: { content }, ...more });
}

/** A line with one call of a tool. */
export function call(id: string, input: unknown, name = "Bash") {
  return answer([{ type: "tool_use", id, name, input }]);
}

/** All of a turn from its prompt to its Stop hook; the assistant answers with the text and an exclamation mark. */
export function turn(text: string, id = ""): readonly Given[] {
  return [submit(text), BUSY, userLine(text), answer(`${text}!`), stop(`${text}!`, {}, id)];
}

/** A caller that answers the questions `q-1`, `q-2` and so on. */
export function caller(more: Partial<CallerOptions> = {}): CallerOptions {
  return { idPrefix: "q", callbacks: [], ...more };
}

export function callback(event: string, more: Partial<CallbackHook> = {}): CallbackHook {
  return { event, id: "hook_0", ...more };
}

/** A screen with the cursor on its last caret, where Claude Code leaves it in a dialog. */
export function screen(lines: readonly string[], cursor?: Screen["cursor"]): Screen {
  const row = Math.max(0, lines.findLastIndex((line) => line.includes("❯")));
  const col = Math.max(0, (lines[row] ?? "").indexOf("❯"));
  return { lines, cursor: cursor ?? { row: row + 1, col: col + 1 } };
}
