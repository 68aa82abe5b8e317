import { isJsonObject } from "../../json_object.ts";

/** Whose words are blanked. */
export interface BlankedParts {
  /** What the user, or the program in the user's place, wrote, and what subagents were asked. */
  readonly prompts: boolean;
  /** What the model wrote: texts and thoughts, and what subagents report, not the calls of other tools. */
  readonly answers: boolean;
}

/** Letters and digits, which a blanked text has others for. */
const WRITTEN = /[\p{L}\p{N}]/gu;
/** Letters that take two cells of a terminal. */
const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\uff01-\uff60]/u;

/**
 * A text that says nothing any more and takes as much room, in characters, UTF-16 units and cells of a terminal: letters
 * and digits are an x; blanks, punctuation and lines are where they were.
 *
 * It makes of each part of a text what it makes of it in the whole, however the text is cut.
 */
export function blankText(text: string): string {
  return text.replace(
    WRITTEN,
    (letter) => letter.length > 1 ? "xx" : WIDE.test(letter) ? "\uff58" : "x",
  );
}

/**
 * A text that says nothing any more but what a pattern finds in it.
 *
 * @param kept a global pattern
 * @param keep what becomes of what is found: nothing by default
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
 * What a program knows a prompt by: a slash command, a tag, the name of a command in one, that the
 * structured answer is missing, that it was interrupted, that something in the background has ended.
 */
const KEPT_IN_PROMPTS =
  /^\s*\/[\w:.-]+|^(?:Stop hook feedback:\n)?\[structured-output-enforce\][^]*|<command-name>[^<]*<\/command-name>|<task-notification>(?:[^]*<\/result>)?[^]*?<\/task-notification>|<\/?[a-z][\w-]*>|\[Request interrupted by user[\w ]*\]/gu;

/**
 * A prompt that says nothing any more, but for what a program knows it by; as long as it was.
 *
 * @param options.answers whether the report of a subagent in it, if there is one, says nothing either
 */
export function blankPrompt(text: string, { answers }: { readonly answers: boolean }): string {
  return blankBetween(
    text,
    KEPT_IN_PROMPTS,
    (kept) => blankNotification(kept, { prompts: true, answers }),
  );
}

const BEGIN = "<task-notification>";
/** What a subagent was for, as Claude Code tells the model how it ended. */
const LABEL = /(?<=<summary>Agent ")[^]*?(?=" [\w ]+[^<]*<\/summary>)/u;

/**
 * A text in which Claude Code tells the model that a subagent has ended: what that was for, and what it reports, say
 * nothing any more. Any other text stays.
 */
export function blankNotification(text: string, { prompts, answers }: BlankedParts): string {
  if (!text.includes(BEGIN)) return text;
  const labelled = prompts ? text.replace(LABEL, blankText) : text;
  if (!answers) return labelled;
  // The report may hold such tags itself.
  const begin = labelled.indexOf("<result>", labelled.indexOf(BEGIN)) + "<result>".length;
  const end = labelled.lastIndexOf("</result>");
  return begin < "<result>".length || end < begin
    ? labelled
    : labelled.slice(0, begin) + blankText(labelled.slice(begin, end)) + labelled.slice(end);
}

/** What a tool is given that somebody is told: prompts, and what it is about in a few words. */
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

/** Whether what a tool is given is said to a subagent. */
export function isSubagentTool(tool: string): boolean {
  return Object.hasOwn(SUBAGENT_FIELDS, tool);
}

/** What a tool is given, without what a subagent is told. */
export function blankCallInput(tool: string, input: unknown): unknown {
  if (!isJsonObject(input)) return input;
  const said = SUBAGENT_FIELDS[tool] ?? {};
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const blank = Object.hasOwn(said, name) ? said[name] : undefined;
      return [name, blank !== undefined && typeof value === "string" ? blank(value) : value];
    }),
  );
}

/** The same of what a tool is given as a text of JSON, or the beginning of one: it stays as long as it is. */
export function blankCallJson(tool: string, json: string): string {
  const said = SUBAGENT_FIELDS[tool] ?? {};
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
    const blank = name !== undefined && depth === 1 && Object.hasOwn(said, name)
      ? said[name]
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

/** An escape of JSON, or one that was cut short, or a unit that stands for itself. */
const UNIT = /\\u[\da-f]{4}|\\u[\da-f]{0,3}$|\\[^]?|[^]/gi;
const ESCAPED: Readonly<Record<string, string>> = {
  ...{ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" },
};

/** What the inside of a string in JSON says, and how each unit of it is written. */
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

/** The inside of a string with what a function of the same length makes of what it says. */
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
