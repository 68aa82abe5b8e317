/** Words that alone, in this case, make the interactive Claude Code (2.1.168 to 2.1.330) quit. */
export const QUIT_WORDS: readonly string[] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];
