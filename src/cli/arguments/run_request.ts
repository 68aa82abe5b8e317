import type { OutputFormat } from "../../claude/wire/output_writer.ts";

/** The permission modes that every supported Claude Code accepts on its command line. */
export type PermissionMode =
  | "acceptEdits"
  | "auto"
  | "bypassPermissions"
  | "default"
  | "dontAsk"
  | "plan";

/** A session to go on with, of which more has to be known than its id. */
export type Resumption = {
  /** Whether it is the latest of the working directory, if there is any. */
  readonly latest: boolean;
  /** Id or title of the session, beside `latest` for when there is none; empty when it was left out. */
  readonly named?: string;
  /** The uuid of the last message that is kept of the named one; absent for all of it. */
  readonly upTo?: string;
  /** The uuid of the prompt whose turn is all that may be left out. */
  readonly dropsTurn?: string;
};

/** A value of a flag that takes many, which reads like a prompt. */
export type MisplacedPrompt = { readonly flag: string; readonly text: string };

/** One run as the user asked for it on the command line. A field that was not given is absent. */
export type RunRequest = {
  /** The prompt argument, which may be empty. */
  readonly promptArgument?: string;
  /** The uuid of the prompt before which files are to be as they were, which is all of the run; absent for a turn. */
  readonly rewindsTo?: string;
  /** Further arguments. `claude -p` uses the first and drops these. */
  readonly ignoredArguments: readonly string[];
  /** Where there is no argument: what a flag has taken that may have been meant as one. */
  readonly misplacedPrompt?: MisplacedPrompt;
  /** `--input-file`; `-` means stdin. */
  readonly inputFile?: string;
  /** Whether stdin, or the input file, is a list of prompts, a run each. */
  readonly jsonl: boolean;
  /** Whether they are the turns of one conversation instead. */
  readonly oneSession: boolean;
  /** The folder for a recording of the run; it must not exist yet, or be empty. */
  readonly record?: string;

  /** What stdin holds: a prompt, or the messages of a conversation. */
  readonly inputFormat: "text" | "stream-json";
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages: boolean;
  /** Whether answers are printed as they are written, as events of the API's stream. */
  readonly partialMessages: boolean;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText: boolean;
  /** Whether the ends of hooks are told. */
  readonly hookEvents: boolean;
  /** How long to wait for a limit to be reset, in milliseconds, Infinity for as long as it takes; absent for not. */
  readonly waitForLimitMs?: number;
  /** Whether the answer appears in text as it is written. */
  readonly streamText: boolean;
  /** How the output of shells is printed while they run; absent for not at all. */
  readonly shellOutput?: "joined" | "split";
  /** Whether it comes as the API streams it, and not line by line. */
  readonly exactStream: boolean;
  /** The cassette that answers in the API's place. */
  readonly apiCassette?: {
    readonly folder: string;
    /** What becomes of a request of which nothing is recorded. */
    readonly onMiss: "fail" | "record";
    /** Whether the API may be asked under `CI=true` too. */
    readonly allowUpstream: boolean;
  };
  /** Whether Claude Code's requests are to be the same in each run. */
  readonly deterministic: boolean;
  /** Whether the caller is asked for permissions on stdout: `--permission-prompt-tool stdio`. */
  readonly asksCaller: boolean;
  /** The tool of an MCP server that is asked for permissions. */
  readonly promptTool?: string;
  readonly outputFormat: OutputFormat;
  readonly verbose: boolean;
  /** False after `--no-session-persistence`: the user gets no transcript of the run. */
  readonly persistSession: boolean;
  readonly trace: boolean;
  /** Wall-clock limit in milliseconds, from 1 to 2147483647. */
  readonly timeoutMs: number;
  /** Limit for Claude Code to be ready for the prompt, in milliseconds, in the same range. */
  readonly startTimeoutMs: number;
  /** Limit from there to the prompt being taken. */
  readonly deliveryTimeoutMs: number;
  /** Limit for a turn's silence; absent when only the wall clock bounds it. */
  readonly idleTimeoutMs?: number;
  /** Limit from the end of the turn to everything being on record. */
  readonly drainTimeoutMs: number;
  /** Limit for Claude Code to end once it was told to. */
  readonly exitTimeoutMs: number;
  /** Neither a live line nor warnings on stderr. */
  readonly quiet: boolean;
  /** Whether no server is to carry it out. */
  readonly cold: boolean;
  /** Whether the child's screen is mirrored to the terminal. */
  readonly show: boolean;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** Whether new lines of transcripts are printed, in stream-json. */
  readonly sessionMirror: boolean;
  /** Whether the user's own hooks run too. */
  readonly inheritHooks: boolean;
  /** Whether it is to be told how far commands are that renew a login. */
  readonly authStatus: boolean;
  /** Whether the model is told that nobody is ever there to permit anything. */
  readonly unattended?: true;
  /** US dollars that the run may cost; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** What structured answers have to look like: a JSON Schema, as typed. */
  readonly jsonSchema?: string;
  readonly inject: "stdin" | "paste";
  readonly claudeBinary?: string;
  /** Whether the real claude takes over what is refused: the shim has sent the run here. */
  readonly isShimmed?: true;

  /** A file name or JSON text; the last one given, as in Claude Code. */
  readonly settings?: string;
  /** The mode, with the newer name `manual` turned into `default`. */
  readonly permissionMode?: PermissionMode;
  /** Values as typed; each may name several tools. */
  readonly disallowedTools: readonly string[];

  // The rest is also in `forwarded`; these are the values that decide how a run is set up.
  readonly settingSources?: string;
  /** A path as typed. */
  readonly projectConfigRoot?: string;
  readonly dangerouslySkipPermissions: boolean;
  readonly addDirs: readonly string[];
  readonly mcpConfigs: readonly string[];
  readonly strictMcpConfig: boolean;
  /** A UUID, in the case it was typed. */
  readonly sessionId?: string;
  /** The id of the session to resume as it is: a UUID. */
  readonly resume?: string;
  /** A session that has to be looked up, or is resumed in part; absent beside `resume`. */
  readonly resumption?: Resumption;
  readonly forkSession: boolean;
  readonly model?: string;
  readonly debug: boolean;
  readonly debugFile?: string;
  /** Whether the debug log is copied to stderr. */
  readonly debugToStderr: boolean;
  /** Beta headers, as typed. */
  readonly betas: readonly string[];
  /** Tokens that the model is told it has: 1 or more. */
  readonly taskBudget?: number;

  /**
   * Arguments for Claude Code, in the order typed: one `--flag` or `--flag=value` for each value.
   * What `claude-print` merges with its own (`settings`, `permissionMode`, `disallowedTools`, the
   * session to go on with) is left out, and of a flag that counts once only the last use is kept.
   */
  readonly forwarded: readonly string[];
  /** A warning about each flag that has no effect here; absent for none. */
  readonly ineffective?: readonly string[];
  /** Whether nothing that is printed tells what the model thinks: then 2.1.330 does not ask the API for it. */
  readonly omitsThinking?: true;
  /** Whether the answer to the one message is printed as a text alone. */
  readonly answerAlone?: boolean;
};
