import type { LoneWord } from "./lone_word.ts";
import type { OutputFormat } from "../../claude/wire/output_writer.ts";

/** The permission modes that every supported Claude Code accepts on its command line. */
export type PermissionMode =
  | "acceptEdits"
  | "auto"
  | "bypassPermissions"
  | "default"
  | "dontAsk"
  | "plan";

/** A session to continue that must be looked up, or continued in part. */
export type Resumption = {
  /** Continue the latest session of the working directory, if there is one. */
  readonly latest: boolean;
  /**
   * Id or title of the session. With `latest`, it is used if there is no latest session. Empty for `--resume` without a
   * value.
   */
  readonly named?: string;
  /** The uuid of the last message to keep; absent to keep all. */
  readonly upTo?: string;
  /** The uuid of a prompt. Only the turn of this prompt may be left out. */
  readonly dropsTurn?: string;
};

/** A value of a flag that is probably meant as the prompt. */
export type MisplacedPrompt = { readonly flag: string; readonly text: string };

/** One run as the user requested it on the command line. A field that was not given is absent. */
export type RunRequest = {
  /** The prompt argument, which may be empty. */
  readonly promptArgument?: string;
  /** Restore files to their state before the prompt with this uuid, and run no turn. */
  readonly rewindsTo?: string;
  /** Further arguments. `claude -p` uses the first and drops these. */
  readonly ignoredArguments: readonly string[];
  /** Without a prompt argument: a value of a flag that is probably meant as the prompt. */
  readonly misplacedPrompt?: MisplacedPrompt;
  readonly loneWord?: LoneWord;
  /** `--input-file`; `-` means stdin. */
  readonly inputFile?: string;
  /** Stdin, or the input file, is a list of prompts, each for a run. */
  readonly jsonl: boolean;
  /** The prompts of the list are turns of one conversation. */
  readonly oneSession: boolean;
  /** The folder for a recording of the run. It must not exist yet, or be empty. */
  readonly record?: string;

  /** `text` for a prompt, `stream-json` for the messages of a conversation. */
  readonly inputFormat: "text" | "stream-json";
  /** Print each message again once Claude Code has accepted it. */
  readonly replayMessages: boolean;
  /** Print answers as events of the API's stream. */
  readonly partialMessages: boolean;
  /** Print the messages of subagents. */
  readonly subagentText: boolean;
  /** Print a frame when a hook ends. */
  readonly hookEvents: boolean;
  /** The maximum wait for a limit to be reset, in milliseconds or Infinity; absent to not wait. */
  readonly waitForLimitMs?: number;
  /** In text format, print the answer while it is written. */
  readonly streamText: boolean;
  /** Print the output of commands while they run; `split` separates stdout and stderr. */
  readonly shellOutput?: "joined" | "split";
  /** Stream every token as the API sends it, not line by line. */
  readonly exactStream: boolean;
  /** The cassette that answers instead of the API. */
  readonly apiCassette?: {
    readonly folder: string;
    /** The reaction to a request that is not recorded. */
    readonly onMiss: "fail" | "record";
    /** Allow requests to the API even under `CI=true`. */
    readonly allowUpstream: boolean;
  };
  /** Make Claude Code send the same requests in each run. */
  readonly deterministic: boolean;
  /** Ask the caller for permissions on stdout: `--permission-prompt-tool stdio`. */
  readonly asksCaller: boolean;
  /** The MCP tool that decides on permissions. */
  readonly promptTool?: string;
  readonly outputFormat: OutputFormat;
  readonly verbose: boolean;
  /** False after `--no-session-persistence`. Then the user gets no transcript of the run. */
  readonly persistSession: boolean;
  readonly trace: boolean;
  /** Time limit of the run in milliseconds, from 1 to 2147483647. */
  readonly timeoutMs: number;
  /** Time limit until Claude Code is ready for the prompt, in milliseconds, in the same range. */
  readonly startTimeoutMs: number;
  /** Time limit from then until Claude Code accepts the prompt, in milliseconds. */
  readonly deliveryTimeoutMs: number;
  /** Time limit of a turn without activity, in milliseconds; absent for none. */
  readonly idleTimeoutMs?: number;
  /** Time limit from the end of the turn until its transcript is complete, in milliseconds. */
  readonly drainTimeoutMs: number;
  /** Time limit for Claude Code to exit, in milliseconds. */
  readonly exitTimeoutMs: number;
  /** Print neither a live line nor warnings on stderr. */
  readonly quiet: boolean;
  /** Do not delegate to the server. */
  readonly cold: boolean;
  /** Start a server for later runs if there is none. */
  readonly warm: boolean;
  /** Mirror the child's screen to the terminal. */
  readonly show: boolean;
  /** In text format, print a line on stderr for each tool call. */
  readonly progress: boolean;
  /** The maximum number of requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** In stream-json, print new lines of transcripts. */
  readonly sessionMirror: boolean;
  /** Also run the user's own hooks. */
  readonly inheritHooks: boolean;
  /** Print the progress of commands that renew a login. */
  readonly authStatus: boolean;
  /** Tell the model that nobody can grant permissions. */
  readonly unattended?: true;
  /** The maximum cost of the run in US dollars; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** The JSON Schema of structured answers, as typed. */
  readonly jsonSchema?: string;
  readonly inject: "stdin" | "paste";
  readonly claudeBinary?: string;
  /** Whether the shim started the run. If the run is unsupported, the real claude replaces this program. */
  readonly isShimmed?: true;

  /** A file name or JSON text. If several are given, the last one, as in Claude Code. */
  readonly settings?: string;
  /** The mode, with the newer name `manual` turned into `default`. */
  readonly permissionMode?: PermissionMode;
  /** The values as typed. Each may name several tools. */
  readonly disallowedTools: readonly string[];

  // The following values are also in `forwarded`. They affect how a run is prepared.
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
  /** A session that must be looked up, or is resumed in part; absent with `resume`. */
  readonly resumption?: Resumption;
  readonly forkSession: boolean;
  readonly model?: string;
  readonly debug: boolean;
  readonly debugFile?: string;
  /** Copy the debug log to stderr. */
  readonly debugToStderr: boolean;
  /** Beta headers, as typed. */
  readonly betas: readonly string[];
  /** The number of tokens that the model is told as its budget: 1 or more. */
  readonly taskBudget?: number;

  /**
   * Arguments for Claude Code, in the order typed: one `--flag` or `--flag=value` for each value. Flags that are merged
   * with settings of this program are left out. If a flag counts only once, only its last use is kept.
   */
  readonly forwarded: readonly string[];
  /** A warning for each flag that has no effect; absent for none. */
  readonly ineffective?: readonly string[];
  /** The output contains no thinking. Claude Code 2.1.330 then does not request it from the API. */
  readonly omitsThinking?: true;
  /** Print only the text of the answer to the one message. */
  readonly answerAlone?: boolean;
};
