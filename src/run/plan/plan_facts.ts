import type { WindowSize } from "../../../ffi/terminal/pty.ts";
import type { ProfileFacts } from "../../claude/versions/profile_index.ts";
import type { OutputProblem } from "../../conversation/control/input.ts";
import type { AskedCommand } from "../../conversation/control/message.ts";
import type { JsonObject } from "../../json_object.ts";
import type { Login, UserConfig } from "../../sandbox/user_config.ts";
import type { FaultyServer, McpServer } from "../../sandbox/child/mcp_servers.ts";
import type { PassedCredential } from "../../sandbox/child/passed_credentials.ts";
import type { Settings, SettingsDocument } from "../../sandbox/child/read_settings.ts";
import type { FolderFile } from "../../sandbox/folder/folder_layout.ts";
import type { CallerAgents } from "./caller_agents.ts";

/** The facts that are read once, before any decision about a run. */
export interface RunFacts {
  /** Path of the claude executable. */
  readonly binary: string;
  /**
   * The version of Claude Code; undefined if no decision needs it (asking takes up to 90 ms), or if the program names
   * none.
   */
  readonly version: string | undefined;
  /** Measurements of `claude-print learn` for versions newer than every shipped profile. */
  readonly learnt?: Readonly<Record<string, ProfileFacts>>;
  readonly userConfig: UserConfig;
  /** The user's own `.claude.json`, if it exists. */
  readonly userClaudeJson: JsonObject | undefined;
  readonly login: Login;
  /** Credentials that the caller passes on file descriptors. */
  readonly credentials: readonly PassedCredential[];
  readonly terminalSize: WindowSize;
  /** The remaining time of the run, in milliseconds. */
  readonly timeLeftMs: number;
  /** A UUID for a new session, and one from which the ids of frames are derived. */
  readonly freshId: string;
  readonly seed: string;

  // Settings:
  /** The values of `--settings`, overridden by what the caller has set during the conversation. */
  readonly callerSettings: JsonObject;
  /** All settings documents that Claude Code reads for the run, including those that it rejects. */
  readonly documents: readonly SettingsDocument[];
  /** The settings in effect, including the caller's. Later ones override earlier ones. */
  readonly settings: readonly Settings[];
  /** The project settings that need trust; absent if the rules of all settings are in effect. */
  readonly distrust?: Distrust;
  /** Warnings for the user about rules, settings, files and the sandbox. */
  readonly warnings: readonly string[];
  /** The packages that Claude Code's own sandbox lacks; absent if settings do not ask for a sandbox. */
  readonly sandboxLack?: readonly string[];

  // Folders and files:
  /** Real path of the folder whose settings, servers, skills, commands and agents are the project's. */
  readonly projectRoot: string;
  /** The root of the working directory's git repository, or the working directory itself. */
  readonly root: string;
  /** Real paths of the working directory, of `root` and of every added directory. */
  readonly folders: readonly string[];
  /** Values of `--add-dir` that are files, if `claude -p` warns about them. */
  readonly addedFiles?: readonly AddedFile[];
  /** Real paths of all folders to which the run's tools may write. */
  readonly writable: readonly string[];
  readonly instructions: InstructionFiles;
  /** Whether the project has scheduled prompts of its own. */
  readonly scheduledTasks: boolean;

  // What the prompt and the caller's options mean with these settings:
  readonly gated: GatedPrompt;
  /** All configured MCP servers except the caller's own. */
  readonly mcpServers: readonly McpServer[];
  /** Servers of `--mcp-config` that Claude Code ignores. */
  readonly faultyServers?: readonly FaultyServer[];
  /** The server of `--permission-prompt-tool`, if it is a program. */
  readonly promptServer?: PromptServer;
  /** Present if structured answers are wanted. */
  readonly output?: OutputSchema;
  /** Why the schema of the caller's `initialize` request is refused. */
  readonly outputProblem?: string;
  /** Present if the caller has chosen skills. */
  readonly hiddenSkills?: HiddenSkills;
  /** Present if the caller's agents are in a file, or too long for a command line. */
  readonly callerAgents?: CallerAgents;
}

/** The facts that are known when a run is planned. The private folder exists, but is still empty. */
export interface PlanFacts extends RunFacts {
  /**
   * The sessions that match. They are looked up after the transcripts of killed runs were moved to the user's config
   * dir.
   */
  readonly found: FoundSessions;
  /** The transcript of a session that is resumed in part. */
  readonly shortened?: FolderFile;
  /** Path of the private folder. */
  readonly folder: string;
  /** The folders of runs in all places, including the folder of this run. */
  readonly runs: readonly string[];
  /** Authenticates the run's hooks and its child. No other process may know it. */
  readonly secret: string;
  /** The process of the run, which receives and answers hooks. */
  readonly pid: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Environment variables that make the child send its API requests to a relay. */
  readonly relayVariables?: Readonly<Record<string, string>>;
}

/** Settings of a project: shared with the project, or private to its user. */
export type ProjectSource = "project" | "local";

/** Project settings whose permissions Claude Code ignores, because the user has not trusted the project. */
export interface Distrust {
  /** The folder to trust: the main checkout of a repository, or the working directory. */
  readonly folder: string;
  readonly sources: readonly ProjectSource[];
}

/** A file that `--add-dir` names, as typed, and its folder. */
export interface AddedFile {
  readonly path: string;
  readonly parent: string;
}

/** An MCP server that is started as a program. */
export interface PromptServer {
  readonly name: string;
  readonly config: JsonObject;
}

/** The JSON Schema of structured answers, and its validator. */
export interface OutputSchema {
  readonly schema: JsonObject;
  readonly problemsOf: (value: unknown) => readonly OutputProblem[];
}

/** Which instruction files a run may read. */
export interface InstructionFiles {
  /** Whether the project has a CLAUDE.md. Claude Code then ignores every AGENTS.md of the project. */
  readonly claude: boolean;
  /** Whether an AGENTS.md may be read: one above the working directory, or below it. True if unknown. */
  readonly agents: boolean;
  /** Whether the user or the project has skills or commands, which may allow tools. */
  readonly skills: boolean;
}

/** Names of skills that the model must not have. */
export interface HiddenSkills {
  readonly own: readonly string[];
  /** Skills of plugins, as `plugin:skill`. */
  readonly ofPlugins: readonly string[];
}

/** How an accepted prompt is carried out. */
export interface GatedPrompt {
  /** Whether Claude Code replaces the prompt by the text of a command. */
  readonly expands: boolean;
  /** Whether the prompt stays unchanged only if it is delivered by the rendezvous socket. */
  readonly verbatim?: boolean;
  /** Whether a subagent carries out the prompt. Claude Code does not wait for that subagent without a setting. */
  readonly forks?: true;
  /** The answer that `claude -p` of this version gives without the model. No child is started. */
  readonly answer?: { readonly text: string; readonly version: string };
  /** A headless Claude Code of this version answers. No child is started. */
  readonly asked?: Omit<AskedCommand, "kind">;
  /** There is no prompt: a headless Claude Code only restores files. */
  readonly rewinds?: true;
}

/** Whether a run with only this prompt starts a child. */
export function needsChild({ answer, asked, rewinds }: GatedPrompt): boolean {
  return answer === undefined && asked === undefined && rewinds === undefined;
}

/** The sessions that match `--continue` or `--resume`. */
export interface FoundSessions {
  /** The id of the working directory's latest session, if the order asks for it. */
  readonly latest?: string;
  /** The ids of all sessions with the requested title, newest first. A requested id matches itself. */
  readonly named?: readonly string[];
  /** The transcript of the only named session, if a part of it is resumed or the order brings its own. */
  readonly transcript?: FoundTranscript;
}

/** A transcript, and the files that belong to it. */
export interface FoundTranscript {
  /** Path below `projects/`. */
  readonly path: string;
  readonly text: string;
  /** Further files, by paths below `projects/`. */
  readonly besides?: readonly { readonly path: string; readonly text: string }[];
}
