/** The type of the attachment by which Claude Code notes that a hook has stopped a turn. */
export const HALTED = "hook_stopped_continuation";

/** What a hook of ours says that stops a turn which has made as many requests as it may. */
export const AT_LIMIT = "The limit of turns is reached";
