import { blankText } from "./blank_text.ts";

/** Whose words are blanked. */
export interface SaidParts {
  /** What the user, or the program in the user's place, wrote. */
  readonly prompts: boolean;
  /** What the model wrote: texts and thoughts, not the calls of tools. */
  readonly answers: boolean;
}

type Fields = Readonly<Record<string, unknown>>;
/** What is made of fields of an object. */
type Changes = Record<string, unknown>;

/** Levels of a JSON value that are gone through. */
const MOST_DEPTH = 1000;

/**
 * Creates what makes prompts or answers in JSON values say nothing any more, such as frames, lines of a transcript, inputs
 * of a cast and bodies of the API: letters and digits are an x. Slash commands keep their names, and what Claude Code
 * says in the user's or the model's place stays, by which a program knows it. Where nothing changes, it is the same value.
 */
export function createSaidBlanker(parts: SaidParts): <Value>(value: Value) => Value {
  const own = new Set<string>();
  return <Value>(value: Value) =>
    parts.prompts || parts.answers ? blanked(value, { ...parts, own }, 0) as Value : value;
}

/** Whose words are blanked, and what Claude Code has said in the model's place so far. */
interface Blanking extends SaidParts {
  readonly own: Set<string>;
}

/** More is not remembered. */
const MOST_OWN = 1000;

function blanked(value: unknown, parts: Blanking, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => blanked(item, parts, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const fields = value as Fields;
  const changes = changesOf(fields, parts);
  let isSame = true;
  const entries = Object.entries(fields).map(([name, item]) => {
    const other = Object.hasOwn(changes, name) ? changes[name] : blanked(item, parts, depth + 1);
    if (other !== item) isSame = false;
    return [name, other] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}

function changesOf(fields: Fields, { prompts, answers, own }: Blanking): Changes {
  const { type, role, content } = fields;
  const changes: Changes = {};
  const change = (blank: (value: unknown) => unknown, names: readonly string[]) => {
    for (const name of names) {
      if (Object.hasOwn(fields, name)) changes[name] = blank(fields[name]);
    }
  };
  if (prompts) {
    if (role === "user") changes["content"] = blankContent(content, blankPrompt);
    if (type === "message" && isFields(fields["message"]) && role === undefined) {
      changes["message"] = blankMessage(fields["message"]);
    }
    if (isFields(fields["first"])) changes["first"] = blankMessage(fields["first"]);
    if (fields["hook_event_name"] === "UserPromptSubmit" || type === "deliver") {
      change(blankPrompt, ["prompt"]);
    }
    if (type === "queue-operation") change(blankPrompt, ["content"]);
    if (type === "queued_command") {
      changes["prompt"] = blankContent(fields["prompt"], blankPrompt);
    }
    if (fields["prompt"] === true) change(blankPrompt, ["text"]);
    change(blankPrompt, ["lastPrompt", "aiTitle", "customTitle", "last_user_message"]);
    if (type === "summary") change(blankPrompt, ["summary"]);
    if (fields["subtype"] === "initialize") {
      change(blankPrompt, ["systemPrompt", "appendSystemPrompt"]);
    }
  }
  if (answers) {
    const blankAnswer = (value: unknown) =>
      typeof value !== "string" || own.has(value) || OWN.test(value) ? value : blankText(value);
    if (role === "assistant" && fields["model"] === "<synthetic>") {
      for (const text of textsIn(content)) if (own.size < MOST_OWN) own.add(text);
    }
    if (role === "assistant") changes["content"] = blankContent(content, blankAnswer);
    if (type === "result") change(blankAnswer, ["result"]);
    if (type === "content_block_delta") changes["delta"] = blankBlock(fields["delta"]);
    if (type === "content_block_start") {
      changes["content_block"] = blankBlock(fields["content_block"]);
    }
    if (fields["prompt"] === false) change(blankAnswer, ["text"]);
    change(blankAnswer, ["last_assistant_message"]);
    if (fields["hook_event_name"] === "MessageDisplay") change(blankAnswer, ["delta"]);
  }
  return changes;
}

function blankMessage(message: Fields): Fields {
  const blankOf = (name: string, blank: (value: unknown) => unknown) =>
    Object.hasOwn(message, name) ? { [name]: blank(message[name]) } : {};
  return {
    ...message,
    ...blankOf("text", blankPrompt),
    ...blankOf("altered", blankPrompt),
    ...blankOf("content", (content) => blankContent(content, blankPrompt)),
  };
}

/** Of the content of a message its texts, in blocks or alone; what tools were given and gave stays. */
function blankContent(content: unknown, blank: (value: unknown) => unknown): unknown {
  if (!Array.isArray(content)) return blank(content);
  return content.map((block: unknown) =>
    isFields(block) && (block["type"] === "text" || block["type"] === "thinking")
      ? {
        ...block,
        ...(Object.hasOwn(block, "text") ? { text: blank(block["text"]) } : {}),
        ...(Object.hasOwn(block, "thinking") ? { thinking: blank(block["thinking"]) } : {}),
      }
      : block
  );
}

/** A block of an answer, or a piece of one. */
function blankBlock(block: unknown): unknown {
  if (!isFields(block)) return block;
  return {
    ...block,
    ...(typeof block["text"] === "string" ? { text: blankText(block["text"]) } : {}),
    ...(typeof block["thinking"] === "string" ? { thinking: blankText(block["thinking"]) } : {}),
  };
}

/**
 * What a program knows a prompt by: a slash command, a tag, the name of a command in one, that the
 * structured answer is missing, that it was interrupted.
 */
const KEPT =
  /^\s*\/[\w:.-]+|^(?:Stop hook feedback:\n)?\[structured-output-enforce\][^]*|<command-name>[^<]*<\/command-name>|<task-notification>[^]*?<\/task-notification>|<\/?[a-z][\w-]*>|\[Request interrupted by user[\w ]*\]/gu;

function blankPrompt(value: unknown): unknown {
  if (typeof value !== "string") return value;
  let text = "";
  let from = 0;
  for (const { 0: kept, index } of value.matchAll(KEPT)) {
    text += blankText(value.slice(from, index)) + kept;
    from = index + kept.length;
  }
  return text + blankText(value.slice(from));
}

/** What Claude Code says of a failure in the model's place. */
const OWN =
  /^(?:(?:Please run \/login · |Failed to authenticate\. )?API Error\b|Not logged in · )/u;

function textsIn(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return typeof content === "string" ? [content] : [];
  return content.flatMap((block: unknown) =>
    isFields(block) && typeof block["text"] === "string" ? [block["text"]] : []
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
