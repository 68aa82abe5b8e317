import type { WindowSize } from "../../../ffi/window_size.ts";
import type { Login } from "../../sandbox/child/login.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import type { UserConfig } from "../../sandbox/user_config.ts";
import type { JsonObject } from "../../transcript/json_object.ts";

/** What is read of the world, once, before anything is decided about a run. */
export interface RunFacts {
  /** Path of the claude executable. */
  readonly binary: string;
  /** Its version; absent where it did not matter, as it takes up to 90 ms, and where it does not name one. */
  readonly version: string | undefined;
  readonly userConfig: UserConfig;
  /** The user's own `.claude.json`, where it exists. */
  readonly userClaudeJson: JsonObject | undefined;
  /** What `--settings` holds. */
  readonly callerSettings: JsonObject;
  /** What Claude Code reads for the run, the caller's among them, later ones overriding earlier ones. */
  readonly settings: readonly Settings[];
  readonly login: Login;
  /** How many MCP servers the first request has to wait for. */
  readonly mcpServers: number;
  /** What becomes of the prompt. */
  readonly gated: GatedPrompt;
  /** The root of the working directory's git repository, else itself. */
  readonly root: string;
  /** Real paths of the working directory, of that root, and of every added directory. */
  readonly folders: readonly string[];
  /** Real paths of all folders that the run's tools may write to. */
  readonly writable: readonly string[];
  /** Whether the project has prompts of its own that wait for their time. */
  readonly scheduledTasks: boolean;
  readonly instructions: InstructionFiles;
  readonly terminalSize: WindowSize;
  /** How much is left of the run's time, in milliseconds. */
  readonly timeLeftMs: number;
  /** A UUID for a session of the run's own, and one of which the ids of frames are made. */
  readonly freshId: string;
  readonly seed: string;
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

/** What becomes of a prompt that is not refused. */
export interface GatedPrompt {
  /** Whether a command makes the text for the model out of it. */
  readonly expands: boolean;
  /** Whether it stays as it is only if it goes in by the rendezvous socket. */
  readonly verbatim?: boolean;
  /** What `claude -p` of the version says without asking the model: then no child is started. */
  readonly answer?: { readonly text: string; readonly version: string };
}

/** What there is of the sessions that an order looks for. */
export interface FoundSessions {
  /** The id of the working directory's latest session; absent when none is looked for, or there is none. */
  readonly latest?: string;
  /** The ids of all sessions with the name that was looked for, the newest first; an id is its own name. */
  readonly named?: readonly string[];
  /** The transcript of the only one that is named, when a part of it is to be resumed. */
  readonly transcript?: FoundTranscript;
}

/** A transcript as it is at home. */
export interface FoundTranscript {
  /** Path below `projects/`. */
  readonly path: string;
  readonly text: string;
}

/** What is known when a run is planned: of the world, and of its private folder, which is made and empty. */
export interface PlanFacts extends RunFacts {
  /** Sessions that were looked for, once what killed runs had left was at home. */
  readonly found: FoundSessions;
  /** Path of the private folder. */
  readonly folder: string;
  /** The folders of runs in all places, that of this run among them. */
  readonly runs: readonly string[];
  /** What nobody but the run's hooks and its child is to know. */
  readonly secret: string;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
  /** What the child has to be told to ask a relay in the place of the API, if it is to. */
  readonly relayVariables?: Readonly<Record<string, string>>;
}
