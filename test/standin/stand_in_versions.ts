/**
 * The releases of Claude Code between which all is found that the stand-in mimics with a difference: as 2.1.197 it draws
 * like the one before, and names prompts like the one after.
 */
export const STAND_IN_VERSIONS: readonly string[] = ["2.1.168", "2.1.330"];
