import type { JsonObject } from "../../../src/json_object.ts";
import type {
  CallbackHook,
  CallerOptions,
} from "../../../src/conversation/protocol/caller_options.ts";
import type { HelperReply } from "../../../src/conversation/control/input.ts";
import type { Message } from "../../../src/conversation/control/message.ts";
import { hook } from "./inputs.ts";

/** The caller sends no more messages. */
export const CLOSED = { type: "closed" } as const;

/** A hook of the caller's, by its place among them. */
export function callbackHook(event: string, payload: JsonObject = {}, id = "5", callback = 0) {
  return { ...hook(event, payload, id), callback };
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
export function consulted(id: string, said: HelperReply = { response: {} }) {
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

/** A caller that answers the questions `q-1`, `q-2` and so on. */
export function caller(more: Partial<CallerOptions> = {}): CallerOptions {
  return { idPrefix: "q", callbacks: [], ...more };
}

export function callback(event: string, more: Partial<CallbackHook> = {}): CallbackHook {
  return { event, id: "hook_0", ...more };
}
