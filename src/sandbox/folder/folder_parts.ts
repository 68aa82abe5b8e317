/** The parts of a run's private folder. */
export interface FolderParts {
  /** What no tool may read or write: what is executed, believed or secret. */
  readonly own: string;
  /**
   * The child's `CLAUDE_CONFIG_DIR`. Claude Code lets no tool write to a folder of this name but what is meant to be
   * written there, such as plans (2.1.197 and 2.1.330).
   */
  readonly configDir: string;
  /** The child's `CLAUDE_CODE_TMPDIR`, which Claude Code's Bash sandbox opens. */
  readonly tempDir: string;
}

/** Where the parts of a private folder are. */
export function partsOf(path: string): FolderParts {
  return { own: `${path}/own`, configDir: `${path}/.claude`, tempDir: `${path}/tmp` };
}
