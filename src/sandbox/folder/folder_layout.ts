/** The parts of a run's private folder. */
export interface FolderParts {
  /** Holds what no tool may read or write: programs, answers and secrets. */
  readonly own: string;
  /**
   * The child's `CLAUDE_CONFIG_DIR`. It is named `.claude`: in a folder of that name, Claude Code lets tools write
   * little but plans (2.1.330).
   */
  readonly configDir: string;
  /** The user's agents, in the config dir. */
  readonly agentsDir: string;
  /** The child's `CLAUDE_CODE_TMPDIR`, which Claude Code's Bash sandbox opens. */
  readonly tempDir: string;
  /** Holds the caller's images. A prompt names their paths. */
  readonly imagesDir: string;
  /** The file given to the child as `--settings`. */
  readonly settingsPath: string;
  /** The script behind every hook. */
  readonly hookPath: string;
  /** The plugin with our hooks, used if Claude Code must not run hooks of settings. */
  readonly hooksPluginDir: string;
  /** The FIFO on which hooks announce themselves. */
  readonly fifoPath: string;
  /** Holds the payload of each announced hook. */
  readonly payloadDir: string;
  /** Holds the stderr files of the Bash tool's shells, if stderr is to be separate. */
  readonly streamsDir: string;
  /** Holds the script in place of the user's shell. The Bash sandbox can read it. */
  readonly shellDir: string;
  /** The socket on which the child waits for a prompt. */
  readonly rendezvousPath: string;
  /** Exists as soon as a long prompt is delivered by the socket. */
  readonly longPromptsPath: string;
  /** The prompt, if the child reads it on fd 0. */
  readonly promptPath: string;
  /** The caller's texts for the system prompt, and for its end. */
  readonly systemPromptPath: string;
  readonly appendSystemPromptPath: string;
  /** The script in place of the caller's MCP servers, their configuration, and the folder of their FIFOs. */
  readonly bridgePath: string;
  readonly bridgeConfigPath: string;
  readonly bridgeDir: string;
  /** The configuration of MCP servers that the caller has set later, and the beginning of the paths of those of the command line. */
  readonly setServersPath: string;
  readonly mcpConfigPath: string;
  /** The config dir and the settings of the headless helper. */
  readonly helperDir: string;
  readonly helperSettingsPath: string;
  /** The child's debug log, if this program reads it. */
  readonly logPath: string;
}

/** Returns the paths of the parts of a private folder. */
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

/** The content of a run's private folder before the child starts. */
export interface FolderContents {
  /** The files, in the order of writing. */
  readonly files: readonly FolderFile[];
  /** The file that the child reads on its fd 0; absent if the prompt is delivered otherwise. */
  readonly stdinPath?: string;
  /** The names of the caller's MCP servers. Each gets two FIFOs, named after its index. */
  readonly bridges: readonly string[];
  /** The server that the bridge starts as a program. It gets two more FIFOs. */
  readonly relayed?: string;
  /** The beginning of every line on the FIFO of the hooks. The hook script has it too. */
  readonly secret: string;
  /** Folders of runs that are closed to the run's tools, or hidden. An empty folder in each keeps it from being removed. */
  readonly footholds: readonly string[];
  /** The user's config dir. Skills, agents and so on are links to it, and transcripts are copied from it. */
  readonly userConfigDir: string;
  /** Whether `--setting-sources` excludes the user's files. */
  readonly hidesUser?: boolean;
  /** Whether backups of edited files are kept in the user's config dir. */
  readonly keepsBackups?: true;
  /** The session to resume. Its transcript is copied. */
  readonly resume?: string;
  /** The transcript in its place if only a part is resumed; with a path below `projects/`. */
  readonly shortened?: FolderFile;
  /** The transcript to resume if the user's config dir has none; with a path below `projects/`. */
  readonly begun?: FolderFile & { readonly besides?: readonly FolderFile[] };
  /** Whether the session's id must be new. */
  readonly isNewSession: boolean;
}

/** A file that only its owner may read. */
export interface FolderFile {
  readonly path: string;
  readonly text: string;
  /** Whether it is a program. */
  readonly runs?: true;
}

/** Name of the link to the user's folder, inside a folder of the config dir that also holds files of the run. */
export const USERS_PART = "user";

/** Endings of a bridge's FIFOs to the caller and to the child; the name begins with the bridge's index. */
export const UP_SUFFIX = ".up";
export const DOWN_SUFFIX = ".down";

/** Endings of the FIFOs between this program and a server that the bridge starts. */
export const IN_SUFFIX = ".in";
export const OUT_SUFFIX = ".out";

/** Ending of the FIFO of a hook that waits for an answer; the name begins with the payload's. */
export const ANSWER_SUFFIX = ".answer";
/**
 * The mark of the SessionEnd hook and the name of its payload, which is short: some 400 bytes. Its FIFO exists from the
 * beginning, because a shell would need a program to make one.
 */
export const END = "end";

/** An MCP server that the child reaches by FIFOs. */
export interface Bridge {
  readonly server: string;
  /** The path of the FIFOs without their endings. */
  readonly path: string;
  /** Whether the bridge starts the server as a program. */
  readonly isRelayed: boolean;
}
