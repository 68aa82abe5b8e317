/** The versions of Claude Code that the stand-in says it is in tests of every version. */
export const STAND_IN_VERSIONS: readonly string[] = ["2.1.332"];
