import { z } from "zod/mini";
import { definedFields } from "../../defined_fields.ts";

/** The stop reason of a reply, as in the Messages API. */
export type StopReason =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "stop_sequence"
  | "pause_turn"
  | "refusal";

/** The kind of an HTTP error, besides its status. */
type ErrorFlavour = "plain" | "unified" | "no-retry" | "too-long" | "credit";

/**
 * One step of a reply. Steps before the first content happen before the response's first byte, later ones within the
 * stream.
 *
 * `times` limits a failure to that many attempts at the same reply.
 */
export type ReplyStep =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | {
    readonly kind: "tool";
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
  }
  | { readonly kind: "wait"; readonly milliseconds: number }
  | { readonly kind: "until"; readonly path: string }
  | { readonly kind: "pace"; readonly milliseconds: number }
  | { readonly kind: "chunk"; readonly size: number }
  | { readonly kind: "stop"; readonly reason: StopReason }
  | { readonly kind: "hang"; readonly times?: number }
  | { readonly kind: "reset"; readonly times?: number }
  | {
    readonly kind: "error";
    readonly status: number;
    readonly flavour: ErrorFlavour;
    readonly message?: string;
    /** Seconds in the `retry-after` header. */
    readonly retryAfter?: number;
    readonly times?: number;
  };

/** The reply to one request: its steps in order. Without content steps the answer is empty. */
export type Reply = readonly ReplyStep[];

/** An invalid directive: a mistake in the test that wrote it. */
export class ReplyScriptError extends Error {
  override readonly name = "ReplyScriptError";
}

/**
 * Reads the directives in a prompt as the replies they ask for, one a request.
 *
 * A directive is `[[name rest]]`; everything outside of directives is ignored. The JSON of a tool
 * call may hold any brackets; elsewhere `[[` and `]]` must balance, as they do in shell tests.
 * `say` and `think` understand `\n`, `\t` and `\\`; `bash` and `tool` take their rest as it stands.
 *
 * | directive | does |
 * |---|---|
 * | `[[say TEXT]]` | a text block |
 * | `[[think TEXT]]` | a thinking block |
 * | `[[echo]]` | a text block: the prompt without its directives, trimmed |
 * | `[[lines N]]` | a text block of N lines, `line 1` to `line N` |
 * | `[[kilobytes N]]` | a text block of exactly N × 1024 bytes, in lines of 64 |
 * | `[[bash COMMAND]]` | a `Bash` tool call; ends the reply |
 * | `[[tool NAME JSON]]` | any tool call with that input (`{}` if left out); ends the reply |
 * | `[[also bash …]]`, `[[also tool …]]` | a further call in the reply that just ended |
 * | `[[next]]` | ends the reply without a tool call |
 * | `[[stop REASON]]` | the reply's stop reason; alone: an empty answer |
 * | `[[wait MS]]` | a pause at this place |
 * | `[[until PATH]]` | a pause at this place, until there is a file at the path |
 * | `[[pace MS]]` | a pause between all later pieces of this reply |
 * | `[[chunk N]]` | later text of this reply comes in pieces of N characters |
 * | `[[error STATUS [xN] [unified\|no-retry\|too-long\|credit] [after=S] [MESSAGE]]]` | first: an HTTP error, with `after` one that says when to ask again; after content: an error event in the stream |
 * | `[[reset [xN]]]` | the connection is cut here |
 * | `[[hang [xN]]]` | nothing more comes, the connection stays open |
 *
 * Replies left empty by `[[next]]` at the end do not count. A prompt without directives has none.
 *
 * @throws {ReplyScriptError} on an unknown directive or a rest that does not fit it
 */
export function readReplyScript(prompt: string): readonly Reply[] {
  const replies: ReplyStep[][] = [];
  let current: ReplyStep[] = [];
  const endReply = () => {
    if (current.length > 0) replies.push(current);
    current = [];
  };
  const { directives, remainder } = splitDirectives(prompt);
  for (const { name, rest } of directives) {
    if (name === "next") {
      endReply();
    } else if (name === "bash" || name === "tool") {
      current.push(toolStep(name, rest));
      endReply();
    } else if (name === "also") {
      const call = /^(bash|tool)\s+([\s\S]*)$/.exec(rest);
      const last = current.length === 0 ? replies.at(-1) : undefined;
      if (call === null || last?.at(-1)?.kind !== "tool") {
        throw new ReplyScriptError(`[[also ${rest}]] does not follow a tool call with a tool call`);
      }
      last.push(toolStep(call[1] === "bash" ? "bash" : "tool", call[2] ?? ""));
    } else if (name === "echo") {
      current.push({ kind: "text", text: remainder.trim() });
    } else {
      current.push(plainStep(name, rest));
    }
  }
  endReply();
  return replies;
}

interface Directive {
  readonly name: string;
  readonly rest: string;
}

function splitDirectives(
  prompt: string,
): { readonly directives: readonly Directive[]; readonly remainder: string } {
  const directives: Directive[] = [];
  let remainder = "";
  let position = 0;
  while (position < prompt.length) {
    const open = /\[\[[a-z]/.exec(prompt.slice(position));
    const start = position + (open?.index ?? 0) + 2;
    const end = endOfToolCall(prompt, start) ?? closingBrackets(prompt, start);
    if (open === null || end === undefined) break;
    remainder += prompt.slice(position, position + open.index);
    const inner = prompt.slice(start, end);
    const [, name = "", rest = ""] = /^(\S+)(?:\s([\s\S]*))?$/.exec(inner) ?? [];
    directives.push({ name, rest });
    position = end + 2;
  }
  return { directives, remainder: remainder + prompt.slice(position) };
}

/** The position of the first closing brackets after complete JSON. */
function endOfToolCall(prompt: string, start: number): number | undefined {
  const head = /^(?:also\s+)?tool\s+[^\s\]]+\s*(?=\{)/.exec(prompt.slice(start))?.[0];
  if (head === undefined) return undefined;
  const json = start + head.length;
  for (let end = prompt.indexOf("]]", json); end >= 0; end = prompt.indexOf("]]", end + 1)) {
    if (isJson(prompt.slice(json, end))) return end;
  }
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function closingBrackets(prompt: string, start: number): number | undefined {
  let depth = 1;
  for (let index = start; index < prompt.length - 1; index++) {
    const pair = prompt.slice(index, index + 2);
    if (pair === "[[") {
      depth++;
      index++;
    } else if (pair === "]]") {
      // In "a[0]]]" the outer pair closes the directive, the first bracket belongs to its rest.
      if (depth === 1 && prompt[index + 2] === "]") continue;
      depth--;
      if (depth === 0) return index;
      index++;
    }
  }
  return undefined;
}

function toolStep(name: "bash" | "tool", rest: string): ReplyStep {
  if (name === "bash") {
    return { kind: "tool", name: "Bash", input: { command: rest, description: "Run a command" } };
  }
  const [, tool, json = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? [];
  if (tool === undefined) throw new ReplyScriptError("[[tool]] names no tool");
  return { kind: "tool", name: tool, input: readInput(json) };
}

function readInput(json: string): Readonly<Record<string, unknown>> {
  if (json.trim() === "") return {};
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch (cause) {
    throw new ReplyScriptError(`[[tool]] has an input that is not JSON: ${json}`, { cause });
  }
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw new ReplyScriptError(`[[tool]] has an input that is not an object: ${json}`);
  }
  return { ...input };
}

function plainStep(name: string, rest: string): ReplyStep {
  switch (name) {
    case "say":
      return { kind: "text", text: unescape(rest) };
    case "think":
      return { kind: "thinking", text: unescape(rest) };
    case "lines": {
      const count = wholeNumber(name, rest);
      return {
        kind: "text",
        text: Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n"),
      };
    }
    case "kilobytes":
      return {
        kind: "text",
        text: `${"0123456789abcdef".repeat(4).slice(1)}\n`.repeat(16 * wholeNumber(name, rest)),
      };
    case "wait":
    case "pace":
      return { kind: name, milliseconds: wholeNumber(name, rest) };
    case "until":
      if (rest.trim() === "") throw new ReplyScriptError("[[until]] needs a path");
      return { kind: "until", path: rest.trim() };
    case "chunk":
      return { kind: "chunk", size: Math.max(1, wholeNumber(name, rest)) };
    case "stop":
      return { kind: "stop", reason: stopReason(rest.trim()) };
    case "hang":
    case "reset":
      return { kind: name, ...attempts(name, rest.trim()) };
    case "error":
      return errorStep(rest);
    default:
      throw new ReplyScriptError(`[[${name}]] is no directive`);
  }
}

function unescape(text: string): string {
  return text.replace(
    /\\([nt\\])/g,
    (_, letter: string) => letter === "n" ? "\n" : letter === "t" ? "\t" : "\\",
  );
}

function wholeNumber(name: string, rest: string): number {
  if (!/^\d+$/.test(rest.trim())) throw new ReplyScriptError(`[[${name} ${rest}]] needs a number`);
  return Number(rest);
}

function stopReason(reason: string): StopReason {
  switch (reason) {
    case "end_turn":
    case "tool_use":
    case "max_tokens":
    case "stop_sequence":
    case "pause_turn":
    case "refusal":
      return reason;
    default:
      throw new ReplyScriptError(`[[stop ${reason}]] is no stop reason`);
  }
}

function attempts(name: string, rest: string): { readonly times?: number } {
  if (rest === "") return {};
  const times = /^x(\d+)$/.exec(rest)?.[1];
  if (times === undefined) throw new ReplyScriptError(`[[${name} ${rest}]] needs xN or nothing`);
  return { times: Number(times) };
}

function errorStep(rest: string): ReplyStep {
  const [, status, options = "", message = ""] =
    /^(\d{3})((?:\s+(?:x\d+|after=\d+|unified|no-retry|too-long|credit)(?=\s|$))*)\s*([\s\S]*)$/
      .exec(rest) ??
      [];
  if (status === undefined) throw new ReplyScriptError(`[[error ${rest}]] needs an HTTP status`);
  let flavour: ErrorFlavour = "plain";
  let times: number | undefined;
  let retryAfter: number | undefined;
  for (const option of options.split(/\s+/)) {
    switch (option) {
      case "":
        break;
      case "unified":
      case "no-retry":
      case "too-long":
      case "credit":
        flavour = option;
        break;
      default:
        if (option.startsWith("x")) times = Number(option.slice(1));
        else retryAfter = Number(option.slice("after=".length));
    }
  }
  return {
    kind: "error",
    status: Number(status),
    flavour,
    ...(message === "" ? {} : { message: unescape(message) }),
    ...definedFields({ retryAfter, times }),
  };
}

/** The state of a conversation: the user's prompt and the number of answers so far. */
export interface ScriptPosition {
  /** The user's text, without Claude Code's additions. */
  readonly prompt: string;
  /** Answers since the prompt: one for each tool round or continuation. */
  readonly round: number;
}

/**
 * Finds the prompt that a request answers, and its round.
 *
 * The prompt is the last text of the user: no tool result, no system reminder, and no sentence with which Claude Code
 * continues a turn by itself. Such a sentence counts as a round if the answer before it is missing, because Claude
 * Code leaves out empty answers.
 */
export function scriptPosition(messages: MessagesRequest["messages"]): ScriptPosition {
  const marks = messages.flatMap(messageMarks);
  const end = marks.findLastIndex(({ kind }) => kind === "own");
  const start = marks.findLastIndex(({ kind }, index) => index < end && kind !== "own") + 1;
  const answers = marks.slice(end + 1).filter(({ kind }, index, rest) =>
    kind === "answer" || (kind === "continuation" && rest[index - 1]?.kind !== "answer")
  );
  return {
    prompt: marks.slice(start, end + 1).flatMap((mark) => mark.kind === "own" ? mark.text : [])
      .join("\n"),
    round: answers.length,
  };
}

type Mark =
  | { readonly kind: "own"; readonly text: string }
  | { readonly kind: "answer" | "continuation" | "interruption" };

function messageMarks({ role, content }: MessagesRequest["messages"][number]): readonly Mark[] {
  if (role === "assistant") return [{ kind: "answer" }];
  if (role !== "user") return [];
  if (typeof content === "string") return textMarks(content);
  return content.flatMap(({ type, text }) => type === "text" ? textMarks(text ?? "") : []);
}

/**
 * Starts of texts with which Claude Code continues a turn in the user's name. 2.1.332 puts some of them into
 * reminders.
 */
const CONTINUATIONS: readonly string[] = [
  "Output token limit hit.",
  "Your response above was cut off mid-stream",
  "Your response above was stopped by a safety classifier",
  "Your response was cut off because it exceeded the output token limit.",
  "[Your previous response",
  "Stop hook feedback",
  "[structured-output-enforce]",
  "[SYSTEM NOTIFICATION",
  "<task-notification>",
];

function textMarks(text: string): readonly Mark[] {
  const [whole = "", reminder = ""] =
    /^\s*<system-reminder>\s*([\s\S]*?)<\/system-reminder>\s*/.exec(text) ?? [];
  const own = text.slice(whole.length);
  if (own.trim() === "") return isContinuation(reminder) ? [{ kind: "continuation" }] : [];
  const start = own.trimStart();
  if (start.startsWith("[Request interrupted by user")) return [{ kind: "interruption" }];
  return isContinuation(start) ? [{ kind: "continuation" }] : [{ kind: "own", text: own }];
}

function isContinuation(text: string): boolean {
  return CONTINUATIONS.some((sentence) => text.startsWith(sentence));
}

const contentBlock = z.looseObject({ type: z.string(), text: z.optional(z.string()) });

const requestSchema = z.looseObject({
  model: z.string(),
  max_tokens: z.optional(z.number()),
  stream: z.optional(z.boolean()),
  system: z.optional(z.union([z.string(), z.array(contentBlock)])),
  output_config: z.optional(z.looseObject({
    format: z.optional(z.looseObject({
      schema: z.optional(z.looseObject({
        properties: z.optional(z.record(z.string(), z.unknown())),
      })),
    })),
  })),
  tools: z.optional(z.array(z.unknown())),
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(contentBlock)]) }),
  ),
});

/** The fields of a `POST /v1/messages` body that the scripted API reads. */
export type MessagesRequest = z.infer<typeof requestSchema>;

/** Parses the body of a Messages API request; undefined if it is none. */
export function messagesRequest(body: unknown): MessagesRequest | undefined {
  const parsed = requestSchema.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}
