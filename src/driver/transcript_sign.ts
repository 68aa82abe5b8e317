import type { TranscriptSign } from "../session/input.ts";

/**
 * What the session machine needs of a transcript line, and the line's id, empty for lines that have none;
 * `undefined` when the line is no JSON object.
 */
export function readTranscriptSign(
  line: string,
): { readonly entry: TranscriptSign; readonly uuid: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { type, subtype, message, uuid } = value as Readonly<Record<string, unknown>>;
  if (typeof type !== "string") return undefined;
  const content = typeof message === "object" && message !== null
    ? (message as { readonly content?: unknown }).content
    : undefined;
  return {
    entry: {
      type,
      ...(typeof subtype === "string" ? { subtype } : {}),
      prompt: type === "user" && isPrompt(content),
    },
    uuid: typeof uuid === "string" ? uuid : "",
  };
}

/** A prompt is text, alone or in blocks; a tool's result comes in blocks of its own type. */
function isPrompt(content: unknown): boolean {
  if (typeof content === "string") return true;
  return Array.isArray(content) &&
    content.some((block) => (block as { readonly type?: unknown } | null)?.type === "text");
}
