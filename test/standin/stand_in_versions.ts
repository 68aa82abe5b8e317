/** The releases of Claude Code that the stand-in mimics with a difference. */
export const STAND_IN_VERSIONS: readonly string[] = ["2.1.168", "2.1.197", "2.1.330"];
