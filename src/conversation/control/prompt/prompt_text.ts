/** Words that alone, in this case, make the interactive Claude Code (2.1.330) quit. */
export const QUIT_WORDS: readonly string[] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/**
 * Whether a prompt is text for every version: it begins with a character that can be seen and is no sign of a command, is
 * no word to quit by, and holds no tag of Claude Code's own.
 */
export function isPlain(prompt: string): boolean {
  return /^\s*(?![/!])[\x21-\x7e]/u.test(prompt) && !QUIT_WORDS.includes(prompt.trim()) &&
    !prompt.includes("<pasted_content");
}

/** The beginning of a prompt that begins with a slash. */
export interface SlashWord {
  /** What stands between the slash and the next white space; "" where that follows at once. */
  readonly name: string;
  /** What comes after, without white space around it. */
  readonly rest: string;
  /** Whether white space stands before the slash. */
  readonly indented: boolean;
}

/**
 * Takes a prompt apart as Claude Code does (2.1.330), whose white space is that of JavaScript: a byte order
 * mark is some, a zero width space is none.
 *
 * @returns undefined for a prompt whose first character other than white space is no slash
 */
export function slashWord(prompt: string): SlashWord | undefined {
  const trimmed = prompt.trim();
  if (!trimmed.startsWith("/")) return undefined;
  const end = trimmed.search(/\s/u);
  return {
    name: trimmed.slice(1, end === -1 ? undefined : end),
    rest: end === -1 ? "" : trimmed.slice(end).trim(),
    indented: !prompt.startsWith("/"),
  };
}
