import { isJsonObject } from "../../json_object.ts";
import type { RelayedRequest } from "./relay_server.ts";

/** Fixed values that replace the values that differ in each run. */
const DATE = "2026-01-01";
const MONTH = "January 2026";
const DEVICE = "0".repeat(64);
const SESSION = "00000000-0000-4000-8000-000000000000";

/** Dates as Claude Code 2.1.330 writes them. */
const TODAY = /(?<=\bToday's date is (?:now )?|\bThe UTC date is now )\d{4}-\d\d-\d\d/gu;
const THIS_MONTH = /(?<=\bThe current month is )[A-Z][a-z]+ \d{4}/gu;

/** The beginning of texts that Claude Code adds to a message of the user. */
const CONTEXT =
  /^<system-reminder>\n(?:As you answer the user's questions, you can use the following context:|The date has changed\.)/u;

/**
 * Makes requests of two runs equal: replaces today's date, the month, the device and the session, which Claude Code
 * cannot be configured to omit. Texts of the user and the model are kept.
 */
export function stabilizeRequest(request: RelayedRequest): RelayedRequest {
  if (request.method !== "POST") return request;
  const text = new TextDecoder().decode(request.body);
  let steady: string;
  try {
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) return request;
    steady = JSON.stringify(changeFields(body, {
      system: stabilizeTexts,
      messages: (messages) => mapList(messages, stabilizeMessage),
      tools: (tools) =>
        mapList(tools, (tool) => changeFields(tool, { description: stabilizeText })),
      metadata: (metadata) => changeFields(metadata, { user_id: stabilizeUser }),
    }));
  } catch {
    // The body is not JSON, or nested more deeply than any request of Claude Code.
    return request;
  }
  return steady === text ? request : { ...request, body: new TextEncoder().encode(steady) };
}

/** Changes Claude Code's texts in a message: those of the system, and those next to a prompt. */
function stabilizeMessage(message: unknown): unknown {
  if (!isJsonObject(message)) return message;
  if (message["role"] === "system") return changeFields(message, { content: stabilizeTexts });
  return message["role"] !== "user" ? message : changeFields(message, {
    content: (content) =>
      mapList(content, (block) => {
        const isContext = isJsonObject(block) && block["type"] === "text" &&
          typeof block["text"] === "string" && CONTEXT.test(block["text"]);
        return isContext ? changeFields(block, { text: stabilizeText }) : block;
      }),
  });
}

/** Changes a text, or text blocks. */
function stabilizeTexts(text: unknown): unknown {
  return Array.isArray(text)
    ? text.map((block) => changeFields(block, { text: stabilizeText }))
    : stabilizeText(text);
}

function stabilizeText(text: unknown): unknown {
  return typeof text === "string" ? text.replace(TODAY, DATE).replace(THIS_MONTH, MONTH) : text;
}

/** Changes the JSON text in which Claude Code identifies the device and the session. */
function stabilizeUser(user: unknown): unknown {
  if (typeof user !== "string") return user;
  const value: unknown = JSON.parse(user);
  return JSON.stringify(
    changeFields(value, { device_id: () => DEVICE, session_id: () => SESSION }),
  );
}

/** Changes some fields of an object, if it has them. */
function changeFields(
  value: unknown,
  changes: Readonly<Record<string, (value: unknown) => unknown>>,
) {
  if (!isJsonObject(value)) return value;
  const changed = { ...value };
  for (const [key, change] of Object.entries(changes)) {
    if (Object.hasOwn(changed, key)) changed[key] = change(changed[key]);
  }
  return changed;
}

function mapList(value: unknown, change: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value;
}
