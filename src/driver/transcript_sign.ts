import type { TranscriptSign } from "../session/input.ts";

/** A transcript line as far as it matters while the run goes on. */
export interface SignedLine {
  /** What the session machine needs of it. */
  readonly entry: TranscriptSign;
  /** The line's id, empty for lines that have none. */
  readonly uuid: string;
  /** What kind of Claude Code wrote it; absent from lines that do not say. */
  readonly entrypoint?: string;
}

/** Reads a transcript line; `undefined` when it is no JSON object. */
export function readTranscriptSign(line: string): SignedLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { type, subtype, message, uuid, version, entrypoint } = value as Readonly<
    Record<string, unknown>
  >;
  if (typeof type !== "string") return undefined;
  const content = typeof message === "object" && message !== null
    ? (message as { readonly content?: unknown }).content
    : undefined;
  return {
    entry: {
      type,
      ...(typeof subtype === "string" ? { subtype } : {}),
      prompt: type === "user" && isPrompt(content),
      ...endOf({ type, subtype, content, version }),
      ...(type === "assistant" ? textOf(content) : {}),
      ...(type === "assistant" ? shellLimitOf(content) : {}),
      ...(type === "assistant" ? present("called", idsIn(content, "id")) : {}),
      ...(type === "user" ? present("returned", idsIn(content, "tool_use_id")) : {}),
    },
    uuid: typeof uuid === "string" ? uuid : "",
    ...(typeof entrypoint === "string" ? { entrypoint } : {}),
  };
}

/** A prompt is text, alone or in blocks; a tool's result comes in blocks of its own type. */
function isPrompt(content: unknown): boolean {
  if (typeof content === "string") return true;
  return blocksOf(content).some(({ type }) => type === "text");
}

function textOf(content: unknown): { readonly text?: string } {
  const texts = blocksOf(content).map(({ text }) => text).filter((text) =>
    typeof text === "string"
  );
  return texts.length === 0 ? {} : { text: texts.join("") };
}

/** What Claude Code 2.1.168 to 2.1.330 write at the end of a turn, and in the place of one that was stopped. */
function endOf(
  line: {
    readonly type: string;
    readonly subtype: unknown;
    readonly content: unknown;
    readonly version: unknown;
  },
): { readonly end?: "completed" | "interrupted"; readonly version?: string } {
  if (line.type === "system") {
    if (!ENDS.some((end) => end === line.subtype)) return {};
    return {
      end: "completed",
      ...(typeof line.version === "string" ? { version: line.version } : {}),
    };
  }
  if (line.type !== "user") return {};
  const texts = typeof line.content === "string"
    ? [line.content]
    : blocksOf(line.content).map(({ text }) => text);
  const interrupted = texts.some((text) =>
    typeof text === "string" && /^\[Request interrupted by user[^\]]*\]$/u.test(text)
  );
  return interrupted ? { end: "interrupted" } : {};
}

const ENDS = ["stop_hook_summary", "turn_duration"];

/** The longest `timeout` of calls that run something in the background. */
function shellLimitOf(content: unknown): { readonly shellLimitMs?: number } {
  const limits = blocksOf(content).flatMap(({ input }) => {
    if (typeof input !== "object" || input === null) return [];
    const { run_in_background: background, timeout } = input as Readonly<Record<string, unknown>>;
    return background === true && typeof timeout === "number" ? [timeout] : [];
  });
  return limits.length === 0 ? {} : { shellLimitMs: Math.max(...limits) };
}

function present<Name extends string>(
  name: Name,
  ids: readonly string[],
): { readonly [key in Name]?: readonly string[] } {
  return ids.length === 0 ? {} : { [name]: ids } as { readonly [key in Name]: readonly string[] };
}

/** The ids of tool blocks: `id` of calls, `tool_use_id` of results. */
function idsIn(content: unknown, key: "id" | "tool_use_id"): readonly string[] {
  return blocksOf(content).map((block) => block[key]).filter((id) => typeof id === "string");
}

function blocksOf(content: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(content)
    ? content.filter((block) => typeof block === "object" && block !== null)
    : [];
}
