/** The parts of a run's private folder. */
export interface FolderParts {
  /** What no tool may read or write: what is executed, believed or secret. */
  readonly own: string;
  /**
   * The child's `CLAUDE_CONFIG_DIR`. Claude Code lets no tool write to a folder of this name but what is meant to be
   * written there, such as plans (2.1.330).
   */
  readonly configDir: string;
  /** Where Claude Code looks for the user's agents, in the config dir. */
  readonly agentsDir: string;
  /** The child's `CLAUDE_CODE_TMPDIR`, which Claude Code's Bash sandbox opens. */
  readonly tempDir: string;
  /** Holds the images that the caller sends, which are pasted by their paths. */
  readonly imagesDir: string;
  /** The file given to the child as `--settings`. */
  readonly settingsPath: string;
  /** The script behind every hook. */
  readonly hookPath: string;
  /** The plugin that has our hooks where Claude Code is to run those of no other source. */
  readonly hooksPluginDir: string;
  /** The FIFO on which hooks announce themselves. */
  readonly fifoPath: string;
  /** Holds a file for each announced hook: its payload. */
  readonly payloadDir: string;
  /** Where the shells of the tool Bash open their stderr, if it is to be told from their stdout. */
  readonly streamsDir: string;
  /** Where what stands in the place of the user's shell is then; the Bash sandbox lets it be read. */
  readonly shellDir: string;
  /** Where the child is to listen if the prompt goes in by its rendezvous socket. */
  readonly rendezvousPath: string;
  /** Is there once a long prompt is about to go in there. */
  readonly longPromptsPath: string;
  /** The prompt, when it goes in on fd 0. */
  readonly promptPath: string;
  /** The system prompt, and what is added to one, where the caller has given texts. */
  readonly systemPromptPath: string;
  readonly appendSystemPromptPath: string;
  /** The script in the place of the caller's MCP servers, their configuration, and their FIFOs' folder. */
  readonly bridgePath: string;
  readonly bridgeConfigPath: string;
  readonly bridgeDir: string;
  /** The configuration of the MCP servers that a caller has set, and what those of the command line begin with. */
  readonly setServersPath: string;
  readonly mcpConfigPath: string;
  /** The config dir of a headless Claude Code that is asked about the session, and its settings. */
  readonly helperDir: string;
  readonly helperSettingsPath: string;
  /** The child's debug log, when it is this program that wants one. */
  readonly logPath: string;
}

/** Where the parts of a private folder are. */
export function folderParts(path: string): FolderParts {
  const own = `${path}/own`;
  return {
    own,
    configDir: `${path}/.claude`,
    agentsDir: `${path}/.claude/agents`,
    tempDir: `${path}/tmp`,
    imagesDir: `${path}/tmp/images`,
    settingsPath: `${own}/settings.json`,
    hookPath: `${own}/hook`,
    hooksPluginDir: `${own}/hooks-plugin`,
    fifoPath: `${own}/hooks.fifo`,
    payloadDir: `${own}/payloads`,
    streamsDir: `${own}/streams`,
    shellDir: `${path}/.claude/shell`,
    rendezvousPath: `${own}/rv.sock`,
    longPromptsPath: `${own}/long-prompts`,
    promptPath: `${own}/prompt`,
    systemPromptPath: `${own}/system-prompt`,
    appendSystemPromptPath: `${own}/append-system-prompt`,
    bridgePath: `${own}/mcp-bridge`,
    bridgeConfigPath: `${own}/mcp.json`,
    setServersPath: `${own}/set-mcp.json`,
    mcpConfigPath: `${own}/mcp-config`,
    bridgeDir: `${own}/mcp`,
    helperDir: `${own}/helper`,
    helperSettingsPath: `${own}/helper.json`,
    logPath: `${own}/debug.log`,
  };
}

/** What is put into a run's private folder before the child is started. */
export interface FolderContents {
  /** Files, in the order in which they are written. */
  readonly files: readonly FolderFile[];
  /** The one of them that the child reads as its fd 0; absent when the prompt goes in otherwise. */
  readonly stdinPath?: string;
  /** The MCP servers of the caller's, by their names: each gets two FIFOs, which are called after its place. */
  readonly bridges: readonly string[];
  /** The one of them that is a program behind its bridge, which gets two FIFOs more. */
  readonly relayed?: string;
  /** What every line on the FIFO of the hooks begins with, by the script among the files. */
  readonly secret: string;
  /** Folders of runs that are closed to the run's tools, or hidden from them: an empty folder in each keeps its place. */
  readonly footholds: readonly string[];
  /** The user's config dir: what the user wrote for Claude Code is linked from there, transcripts come from there. */
  readonly userConfigDir: string;
  /** Whether the child is to see nothing there that `--setting-sources` leaves out without the source `user`. */
  readonly hidesUser?: boolean;
  /** Whether the child keeps there, and finds there, what files were before it edited them. */
  readonly keepsBackups?: true;
  /** The session to be resumed: its transcript is copied in. */
  readonly resume?: string;
  /** What stands in its place where a part of it is resumed; a path below `projects/`. */
  readonly shortened?: FolderFile;
  /** The transcript with which it is resumed, where there is none at home; a path below `projects/`. */
  readonly begun?: FolderFile & { readonly besides?: readonly FolderFile[] };
  /** Whether nobody may have had the session's id before. */
  readonly isNewSession: boolean;
}

/** A file that only its owner may read. */
export interface FolderFile {
  readonly path: string;
  readonly text: string;
  /** Whether it is a program. */
  readonly runs?: true;
}

/** What the user's own is called in a folder of the config dir that holds something of the run's too. */
export const USERS_PART = "user";

/** What a bridge's FIFO towards the caller is called after the bridge's place, and the one towards the child. */
export const UP_SUFFIX = ".up";
export const DOWN_SUFFIX = ".down";

/** The same of the FIFOs between this program and a server that is a program behind its bridge. */
export const IN_SUFFIX = ".in";
export const OUT_SUFFIX = ".out";

/** What the FIFO of a hook that waits for an answer is called, after its payload. */
export const ANSWER_SUFFIX = ".answer";
/**
 * What the hook that waits at the end of a session is marked with, and its payload called, which is always short: some
 * 400 bytes. Its FIFO is there before it, since a shell makes one by a program.
 */
export const END = "end";

/** An MCP server that the child reaches by FIFOs. */
export interface Bridge {
  readonly server: string;
  /** The path of the FIFOs, without what tells them apart. */
  readonly path: string;
  /** Whether a program behind it is the server. */
  readonly isRelayed: boolean;
}
