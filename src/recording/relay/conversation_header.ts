/** The header in which Claude Code says which session asks. */
export const SESSION_HEADER = "x-claude-code-session-id";
