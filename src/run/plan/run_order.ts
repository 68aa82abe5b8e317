import type { WindowSize } from "../../../ffi/terminal/pty.ts";
import type { FramesOptions } from "../../conversation/output/telling/frames_options.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { CallbackHook } from "../../conversation/protocol/caller_options.ts";
import type { JsonObject } from "../../json_object.ts";
import type { Limits } from "../../conversation/control/limits.ts";

/** A session to go on with, of which more has to be known than its id. */
export interface Resumption {
  /** Whether it is the latest of the working directory, if there is any: then the rest is without effect. */
  readonly latest: boolean;
  /** Id or title of the session; empty when it was left out. */
  readonly named?: string;
  /** The uuid of the last message that is kept; absent for all of it. */
  readonly upTo?: string;
  /** The uuid of the prompt whose turn is all that may be left out. */
  readonly dropsTurn?: string;
}

/** What a caller of the control protocol has asked for before there was a child. */
export interface Initialized {
  /** The id of its request. */
  readonly id: string;
  readonly callbacks: readonly CallbackHook[];
  /** The names of its own MCP servers. */
  readonly servers: readonly string[];
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  /** How these are to be used, by their names. */
  readonly serverConfigs?: JsonObject;
  /** The skills that the model may have, of all that there are; absent for all of them. */
  readonly skills?: readonly string[];
  /** What is told of its fields that have no effect here, a sentence each. */
  readonly ineffective?: readonly string[];
  /** Its agents, where they are too long for a command line. */
  readonly longAgents?: JsonObject;
  /** What structured answers have to look like, as a JSON text. */
  readonly jsonSchema?: string;
  /** Why it cannot have all of it. */
  readonly error?: string;
}

/** The cassette that answers in the API's place. */
export interface ApiCassetteOrder {
  readonly folder: string;
  /** What becomes of a request of which nothing is recorded. */
  readonly onMiss: "fail" | "record";
  /** Whether the API may be asked under `CI=true` too. */
  readonly allowUpstream: boolean;
}

/** One run as it was asked for. */
export interface RunOrder extends Limits {
  /** Its prompt; undefined where messages come as the run goes on. */
  readonly prompt: string | undefined;
  /** The uuid of the prompt before which files are to be as they were, which is all of the run; absent for a turn. */
  readonly rewindsTo?: string;
  /** What was told and paid before, by another child of the same conversation. */
  readonly before?: NonNullable<FramesOptions["before"]>;
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages?: boolean;
  /** Whether answers are told as they are written, and that event by event, as the API streams them. */
  readonly partialMessages?: boolean;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are told. */
  readonly hookEvents?: boolean;
  /** How the output of shells is printed while they run; absent for not at all. */
  readonly shellOutput?: NonNullable<FramesOptions["shellOutput"]>;
  readonly exactStream?: boolean;
  readonly apiCassette?: ApiCassetteOrder;
  /** Whether requests to the API are to be the same in each run. */
  readonly deterministic?: boolean;
  /** Whether the caller is asked for permissions, by the control protocol. */
  readonly asksCaller?: boolean;
  /** The tool of an MCP server that is asked in the caller's place. */
  readonly promptTool?: string;
  readonly initialized?: Initialized;
  /** MCP servers of the caller's that the command line names. */
  readonly callerServers?: readonly string[];
  /** What the caller has set in the course of a conversation: MCP servers, switches of them, settings over `settings`. */
  readonly setServers?: JsonObject;
  readonly unreached?: readonly string[];
  readonly switched?: Readonly<Record<string, boolean>>;
  readonly flagSettings?: JsonObject;
  /** Whether no file is read because a message mentions it: one has come that wants that. */
  readonly readsNoMentions?: true;
  /** The model that the caller has chosen in the course of a conversation, by its own name. */
  readonly chosenModel?: string;
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  /** The size of the user's terminal; absent for that of this program's. */
  readonly terminalSize?: WindowSize;
  /** When the run began, as `performance.now()` tells time: its limit counts from there; absent for now. */
  readonly startedAt?: number;
  readonly claudeBinary?: string;
  readonly inject: "stdin" | "paste";
  /** The caller's `--settings`: JSON or a file's path. */
  readonly settings?: string;
  readonly permissionMode?: string;
  /** The caller's `--setting-sources`. */
  readonly settingSources?: string;
  /** The caller's `--project-config-root`. */
  readonly projectConfigRoot?: string;
  readonly dangerouslySkipPermissions: boolean;
  readonly disallowedTools: readonly string[];
  readonly addDirs: readonly string[];
  readonly mcpConfigs: readonly string[];
  readonly strictMcpConfig: boolean;
  readonly sessionId?: string;
  /** The id of the session to resume as it is. */
  readonly resume?: string;
  /** The transcript with which that session begins; without it, it is the one that is at home. */
  readonly history?: string;
  /** Files beside that transcript, such as those of subagents, by paths below the folder that has its name. */
  readonly besideHistory?: readonly { readonly path: string; readonly text: string }[];
  /** A session that has to be looked up, or is resumed in part; without effect beside `resume`. */
  readonly resumption?: Resumption;
  readonly forkSession: boolean;
  readonly persistSession: boolean;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** How many of those have been made for the prompt by a run that this one goes on with. */
  readonly requestsMade?: number;
  /** Whether new lines of transcripts are told. */
  readonly sessionMirror?: boolean;
  /** Whether the user's own hooks run too. */
  readonly inheritHooks?: boolean;
  /** Whether it is to be told how far commands are that renew a login. */
  readonly authStatus?: boolean;
  /** Whether the model is told that nobody is ever there to permit anything. */
  readonly unattended?: true;
  /** US dollars that the conversation may cost; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** What structured answers have to look like, as a JSON text: it comes before what an initialization says. */
  readonly jsonSchema?: string;
  /** Whether a debug log is wanted, and where; without a place it goes where Claude Code keeps them. */
  readonly debug: boolean;
  readonly debugFile?: string;
  /** Whether somebody wants to be told the lines of the debug log. */
  readonly debugToStderr: boolean;
  /** Beta headers for requests to the API. */
  readonly betas: readonly string[];
  /** Tokens that the model is told it has for its task. */
  readonly taskBudget?: number;
  /** Further arguments for Claude Code, as they are. */
  readonly forwarded: readonly string[];
  /** A warning about each flag that has no effect here; absent for none. */
  readonly ineffective?: readonly string[];
  /** Whether results tell what is left of limits, which the child tells with what a turn cost. */
  readonly limitsTold?: boolean;
  /** Whether nothing that is printed tells what the model thinks: then 2.1.330 does not ask the API for it. */
  readonly omitsThinking?: true;
  /** The message of a conversation that the child finds on its fd 0: one that is too long for the socket. */
  readonly onStdin?: string;
  /** Whether the answer is printed as a text alone, beside which Claude Code tells more on stderr. */
  readonly answerAlone?: boolean;
  /** Whether frames are printed, which begin with the session's model. */
  readonly frames: boolean;
  /** The folder for a recording of the run, what its API says included. */
  readonly record?: string;
  /** Whether somebody wants to hear of requests that are made again: that takes a debug log. */
  readonly retries: boolean;
  /** Whether the last screen is wanted with every failure. */
  readonly trace: boolean;
  /** The first character of the prompt that Claude Code may take out, in words: then its delivery is to be proved. */
  readonly altered?: string | undefined;
}
