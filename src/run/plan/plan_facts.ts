import type { ProfileFacts } from "../../claude/versions/profile_index.ts";
import type { WindowSize } from "../../../ffi/terminal/pty.ts";
import type { CallerAgents } from "./caller_agents.ts";
import type { Login } from "../../sandbox/child/login.ts";
import type { PassedCredential } from "../../sandbox/child/passed_credentials.ts";
import type { FaultyServer, McpServer } from "../../sandbox/child/mcp_servers.ts";
import type { Settings, SettingsDocument } from "../../sandbox/child/read_settings.ts";
import type { FolderFile } from "../../sandbox/folder/folder_contents.ts";
import type { UserConfig } from "../../sandbox/user_config.ts";
import type { OutputProblem } from "../../conversation/control/input.ts";
import type { AskedCommand } from "../../conversation/control/message.ts";
import type { JsonObject } from "../../json_object.ts";

/** What is read of the world, once, before anything is decided about a run. */
export interface RunFacts {
  /** Path of the claude executable. */
  readonly binary: string;
  /** Its version; absent where it did not matter, as it takes up to 90 ms, and where it does not name one. */
  readonly version: string | undefined;
  /** What `claude-print learn` has measured of versions that are newer than every shipped profile; absent for nothing. */
  readonly learnt?: Readonly<Record<string, ProfileFacts>>;
  readonly userConfig: UserConfig;
  /** The user's own `.claude.json`, where it exists. */
  readonly userClaudeJson: JsonObject | undefined;
  /** What `--settings` holds. */
  readonly callerSettings: JsonObject;
  /** The settings that Claude Code looks at for the run, those among them that it leaves out. */
  readonly documents: readonly SettingsDocument[];
  /** What Claude Code reads for the run, the caller's among them, later ones overriding earlier ones. */
  readonly settings: readonly Settings[];
  /** Why some of their rules do not count; absent where all do. */
  readonly distrust?: Distrust;
  readonly login: Login;
  /** Credentials that the caller has passed on descriptors. */
  readonly credentials: readonly PassedCredential[];
  /** The MCP servers that are configured, the caller's own aside. */
  readonly mcpServers: readonly McpServer[];
  /** Those of the command line that Claude Code leaves out; absent for none. */
  readonly faultyServers?: readonly FaultyServer[];
  /** The one of them that has the tool of `--permission-prompt-tool`: a program. */
  readonly promptServer?: PromptServer;
  /** What a structured answer has to look like; absent where none is wanted. */
  readonly output?: OutputSchema;
  /** Why the caller's initialization cannot have the structured answers that it asks for. */
  readonly outputProblem?: string;
  /** The skills that are not among those that the caller has chosen; absent where it has chosen none. */
  readonly hiddenSkills?: HiddenSkills;
  /** What becomes of the prompt. */
  readonly gated: GatedPrompt;
  /** Real path of the folder whose settings, servers, skills, commands and agents are the project's. */
  readonly projectRoot: string;
  /** The root of the working directory's git repository, else itself. */
  readonly root: string;
  /** Real paths of the working directory, of that root, and of every added directory. */
  readonly folders: readonly string[];
  /** What `--add-dir` names that is no folder, where `claude -p` tells of that; absent for nothing. */
  readonly addedFiles?: readonly AddedFile[];
  /** Real paths of all folders that the run's tools may write to. */
  readonly writable: readonly string[];
  /** Whether the project has prompts of its own that wait for their time. */
  readonly scheduledTasks: boolean;
  /** The packages that Claude Code's own sandbox lacks; absent where settings do not ask for it. */
  readonly sandboxLack?: readonly string[];
  /** What the user is to be told of all that: rules and settings that are not in effect, files, the sandbox. */
  readonly warnings: readonly string[];
  readonly instructions: InstructionFiles;
  /** How the caller's agents get to the child; absent where none are in a file, or too long for a command line. */
  readonly callerAgents?: CallerAgents;
  readonly terminalSize: WindowSize;
  /** How much is left of the run's time, in milliseconds. */
  readonly timeLeftMs: number;
  /** A UUID for a session of the run's own, and one of which the ids of frames are made. */
  readonly freshId: string;
  readonly seed: string;
}

/** An MCP server that is started as a program. */
export interface PromptServer {
  readonly name: string;
  /** How it is configured. */
  readonly config: JsonObject;
}

/** A file that `--add-dir` names, as the caller has written it, and the folder that it is in. */
export interface AddedFile {
  readonly path: string;
  readonly parent: string;
}

/** Why some of what a project's settings say of permissions does not count. */
export interface Distrust {
  /** The folder that the user would have to trust: the main checkout of a repository, else the working directory. */
  readonly folder: string;
  /** Whose rules do not count meanwhile. */
  readonly sources: readonly ProjectSource[];
}

/** The settings of a project: those that come with it, and those that should not. */
export type ProjectSource = "project" | "local";

/** What a structured answer has to look like. */
export interface OutputSchema {
  /** A JSON Schema. */
  readonly schema: JsonObject;
  /** In which ways a value does not fit it. */
  readonly problemsOf: (value: unknown) => readonly OutputProblem[];
}

/** Which files of instructions a run may come across. */
export interface InstructionFiles {
  /** Whether the project has a CLAUDE.md, beside which no AGENTS.md counts. */
  readonly claude: boolean;
  /** Whether there is an AGENTS.md above the working directory, or below where one would count; yes when in doubt. */
  readonly agents: boolean;
  /** Whether the user or the project has skills or commands, which may allow tools. */
  readonly skills: boolean;
}

/** Skills that the model is not to have, by their names. */
export interface HiddenSkills {
  readonly own: readonly string[];
  /** Those of plugins, with the plugin's name in front. */
  readonly ofPlugins: readonly string[];
}

/** What becomes of a prompt that is not refused. */
export interface GatedPrompt {
  /** Whether a command makes the text for the model out of it. */
  readonly expands: boolean;
  /** Whether it stays as it is only if it goes in by the rendezvous socket. */
  readonly verbatim?: boolean;
  /** Whether a subagent carries it out, for which Claude Code does not wait by itself. */
  readonly forks?: true;
  /** What `claude -p` of the version says without asking the model: then no child is started. */
  readonly answer?: { readonly text: string; readonly version: string };
  /** A headless Claude Code of the version answers it: then no child is started either. */
  readonly asked?: Omit<AskedCommand, "kind">;
  /** There is none: a headless Claude Code restores files, which is all of the run. */
  readonly rewinds?: true;
}

/** Whether a run that has only this prompt starts a child. */
export function needsChild({ answer, asked, rewinds }: GatedPrompt): boolean {
  return answer === undefined && asked === undefined && rewinds === undefined;
}

/** What there is of the sessions that an order looks for. */
export interface FoundSessions {
  /** The id of the working directory's latest session; absent when none is looked for, or there is none. */
  readonly latest?: string;
  /** The ids of all sessions with the name that was looked for, the newest first; an id is its own name. */
  readonly named?: readonly string[];
  /** The transcript of the only one that is named, when a part of it is to be resumed, or it is nowhere at home. */
  readonly transcript?: FoundTranscript;
}

/** A transcript as it is at home. */
export interface FoundTranscript {
  /** Path below `projects/`. */
  readonly path: string;
  readonly text: string;
  /** Files that are to be beside it, by paths of that kind. */
  readonly besides?: readonly { readonly path: string; readonly text: string }[];
}

/** What is known when a run is planned: of the world, and of its private folder, which is made and empty. */
export interface PlanFacts extends RunFacts {
  /** Sessions that were looked for, once what killed runs had left was at home. */
  readonly found: FoundSessions;
  /** What is left of the transcript of a session that is resumed in part; absent where none is. */
  readonly shortened?: FolderFile;
  /** Path of the private folder. */
  readonly folder: string;
  /** The folders of runs in all places, that of this run among them. */
  readonly runs: readonly string[];
  /** What nobody but the run's hooks and its child is to know. */
  readonly secret: string;
  /** The process of the run, which hears and answers hooks. */
  readonly pid: number;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
  /** What the child has to be told to ask a relay in the place of the API, if it is to. */
  readonly relayVariables?: Readonly<Record<string, string>>;
}
