/** Prompts that make the interactive Claude Code (2.1.330) quit. Case matters. */
export const QUIT_WORDS: readonly string[] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/**
 * Whether a prompt is text in every version. It begins with a visible character that does not start a command, is no
 * word that quits, and holds no tag of Claude Code's own.
 */
export function isPlain(prompt: string): boolean {
  return /^\s*(?![/!])[\x21-\x7e]/u.test(prompt) && !QUIT_WORDS.includes(prompt.trim()) &&
    !prompt.includes("<pasted_content");
}

/** The beginning of a prompt that begins with a slash. */
export interface SlashWord {
  /** The text between the slash and the next white space; may be empty. */
  readonly name: string;
  /** The text after the name, trimmed. */
  readonly rest: string;
  /** Whether white space precedes the slash. */
  readonly indented: boolean;
}

/**
 * Splits a prompt as Claude Code does (2.1.330). White space is JavaScript's: it includes the byte order mark, but not the
 * zero width space.
 *
 * @returns undefined if the first character after white space is not a slash
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
