import { isJsonObject } from "../../json_object.ts";

/** The texts to blank. */
export interface BlankedParts {
  /** Texts of the user or the calling program, and the tasks of subagents. */
  readonly prompts: boolean;
  /** Texts and thoughts of the model, and the reports of subagents, but not the calls of other tools. */
  readonly answers: boolean;
}

const WRITTEN = /[\p{L}\p{N}]/gu;
/** Letters that are two cells wide on a terminal. */
const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\uff01-\uff60]/u;

/**
 * Replaces letters and digits by `x`. Blanks, punctuation and line ends stay.
 *
 * The result has as many characters, UTF-16 units and terminal cells, so that screens and offsets stay valid. The
 * pieces of a text can be blanked one by one.
 */
export function blankText(text: string): string {
  return text.replace(
    WRITTEN,
    (letter) => letter.length > 1 ? "xx" : WIDE.test(letter) ? "\uff58" : "x",
  );
}

/**
 * Blanks a text except for the matches of a pattern.
 *
 * @param kept a global pattern
 * @param keep changes each match; by default, the match is kept
 */
export function blankBetween(
  text: string,
  kept: RegExp,
  keep: (found: string) => string = (found) => found,
): string {
  let blanked = "";
  let from = 0;
  for (const { 0: found, index } of text.matchAll(kept)) {
    blanked += blankText(text.slice(from, index)) + keep(found);
    from = index + found.length;
  }
  return blanked + blankText(text.slice(from));
}

/**
 * Parts of a prompt that programs recognise: a slash command, tags and command names, the reminder that the
 * structured answer is missing, the note of an interruption, and the notification that a background task has ended.
 */
const KEPT_IN_PROMPTS =
  /^\s*\/[\w:.-]+|^(?:Stop hook feedback:\n)?\[structured-output-enforce\][^]*|<command-name>[^<]*<\/command-name>|<task-notification>(?:[^]*<\/result>)?[^]*?<\/task-notification>|<\/?[a-z][\w-]*>|\[Request interrupted by user[\w ]*\]/gu;

/**
 * Blanks a prompt except for the parts that programs recognise. Its length stays the same.
 *
 * @param options.answers whether to blank also the report of a subagent in the prompt
 */
export function blankPrompt(text: string, { answers }: { readonly answers: boolean }): string {
  return blankBetween(
    text,
    KEPT_IN_PROMPTS,
    (kept) => blankNotification(kept, { prompts: true, answers }),
  );
}

const BEGIN = "<task-notification>";
/** The label of a subagent in the notification of its end. */
const LABEL = /(?<=<summary>Agent ")[^]*?(?=" [\w ]+[^<]*<\/summary>)/u;

/** Blanks the label and the report in a notification that a subagent has ended. Any other text is kept. */
export function blankNotification(text: string, { prompts, answers }: BlankedParts): string {
  if (!text.includes(BEGIN)) return text;
  const labelled = prompts ? text.replace(LABEL, blankText) : text;
  if (!answers) return labelled;
  // The report may contain result tags itself, so the last one counts.
  const begin = labelled.indexOf("<result>", labelled.indexOf(BEGIN)) + "<result>".length;
  const end = labelled.lastIndexOf("</result>");
  return begin < "<result>".length || end < begin
    ? labelled
    : labelled.slice(0, begin) + blankText(labelled.slice(begin, end)) + labelled.slice(end);
}

/** Fields of tool inputs that are addressed to a subagent: its task, and a label of a few words. */
const SUBAGENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, (text: string) => string>>>
> = {
  Agent: { prompt: blankSubagentPrompt, description: blankText },
  Task: { prompt: blankSubagentPrompt, description: blankText },
  SendMessage: { message: blankSubagentPrompt, content: blankSubagentPrompt, summary: blankText },
};

function blankSubagentPrompt(text: string): string {
  return blankPrompt(text, { answers: true });
}

/** True if the input of a tool is addressed to a subagent. */
export function isSubagentTool(tool: string): boolean {
  return Object.hasOwn(SUBAGENT_FIELDS, tool);
}

/** Blanks the texts to a subagent in the input of a tool. */
export function blankCallInput(tool: string, input: unknown): unknown {
  if (!isJsonObject(input)) return input;
  const fields = SUBAGENT_FIELDS[tool] ?? {};
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const blank = Object.hasOwn(fields, name) ? fields[name] : undefined;
      return [name, blank !== undefined && typeof value === "string" ? blank(value) : value];
    }),
  );
}

/** Blanks the texts to a subagent in an input that is JSON text, complete or cut off. Its length stays the same. */
export function blankCallJson(tool: string, json: string): string {
  const fields = SUBAGENT_FIELDS[tool] ?? {};
  let depth = 0;
  let name: string | undefined;
  let blanked = "";
  let from = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json.charAt(at);
    if (character === "{" || character === "[") depth++;
    if (character === "}" || character === "]") depth--;
    if (character === "," && depth === 1) name = undefined;
    if (character !== '"') continue;
    const end = endOfString(json, at + 1);
    const isName = depth === 1 && name === undefined;
    const blank = name !== undefined && depth === 1 && Object.hasOwn(fields, name)
      ? fields[name]
      : undefined;
    if (isName) name = decodeJsonString(json.slice(at + 1, end)).text;
    if (blank !== undefined) {
      blanked += json.slice(from, at + 1) + refillJsonString(json.slice(at + 1, end), blank);
      from = end;
    }
    at = end;
  }
  return blanked + json.slice(from);
}

function endOfString(json: string, start: number): number {
  let at = start;
  while (at < json.length && json.charAt(at) !== '"') at += json.charAt(at) === "\\" ? 2 : 1;
  return Math.min(at, json.length);
}

/** One unit of a JSON string: an escape, an escape that is cut off, or a plain UTF-16 unit. */
const UNIT = /\\u[\da-f]{4}|\\u[\da-f]{0,3}$|\\[^]?|[^]/gi;
const ESCAPED: Readonly<Record<string, string>> = {
  ...{ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" },
};

/** Decodes the inside of a JSON string. Also returns the written form of each unit of the text. */
function decodeJsonString(
  inside: string,
): { readonly text: string; readonly units: readonly string[] } {
  const units = inside.match(UNIT) ?? [];
  const text = units.map((unit) => {
    if (!unit.startsWith("\\")) return unit;
    if (/^\\u[\da-f]{4}$/iu.test(unit)) return String.fromCharCode(parseInt(unit.slice(2), 16));
    const escaped = unit.charAt(1);
    return ESCAPED[escaped] ?? (escaped === "u" || escaped === "" ? "\\" : escaped);
  }).join("");
  return { text, units };
}

/** Changes the text of a JSON string by a function that keeps its length. */
function refillJsonString(inside: string, blank: (text: string) => string): string {
  const { text, units } = decodeJsonString(inside);
  const filled = blank(text);
  return units.map((unit, at) => {
    const other = filled.charAt(at);
    if (other === text.charAt(at)) return unit;
    return unit.length === 6
      ? `\\u${other.charCodeAt(0).toString(16).padStart(4, "0")}`
      : other.repeat(unit.length);
  }).join("");
}
