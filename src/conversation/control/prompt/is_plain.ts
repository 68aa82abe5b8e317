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
