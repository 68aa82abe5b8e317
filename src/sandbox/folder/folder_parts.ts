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
  readonly twinDir: string;
  readonly twinSettingsPath: string;
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
    twinDir: `${own}/twin`,
    twinSettingsPath: `${own}/twin.json`,
    logPath: `${own}/debug.log`,
  };
}
