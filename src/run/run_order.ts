import type { FramesOptions } from "../frames/frames_state.ts";
import type { Environment } from "../sandbox/environment.ts";
import type { Limits } from "../session/limits.ts";

/** One run as it was asked for. */
export interface RunOrder extends Limits {
  /** Its prompt; undefined where messages come as the run goes on. */
  readonly prompt: string | undefined;
  /** What was told and paid before, by another child of the same conversation. */
  readonly before?: NonNullable<FramesOptions["before"]>;
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages?: boolean;
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  /** When the run began, as `performance.now()` tells time: its limit counts from there; absent for now. */
  readonly startedAt?: number;
  readonly claudeBinary?: string;
  readonly inject: "stdin" | "paste";
  /** The caller's `--settings`: JSON or a file's path. */
  readonly settings?: string;
  readonly permissionMode?: string;
  /** The caller's `--setting-sources`. */
  readonly settingSources?: string;
  readonly dangerouslySkipPermissions: boolean;
  readonly disallowedTools: readonly string[];
  readonly addDirs: readonly string[];
  readonly mcpConfigs: readonly string[];
  readonly strictMcpConfig: boolean;
  readonly sessionId?: string;
  readonly resume?: string;
  readonly forkSession: boolean;
  readonly persistSession: boolean;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** Whether a debug log is wanted, and where; without a place it goes where Claude Code keeps them. */
  readonly debug: boolean;
  readonly debugFile?: string;
  /** Further arguments for Claude Code, as they are. */
  readonly forwarded: readonly string[];
  /** Whether frames are printed, which begin with the session's model. */
  readonly frames: boolean;
  /** The folder for a recording of the run; the run itself is the same with and without. */
  readonly record?: string;
  /** Whether somebody wants to hear of requests that are made again: that takes a debug log. */
  readonly retries: boolean;
  /** Whether the last screen is wanted with every failure. */
  readonly trace: boolean;
  /** The first character of the prompt that Claude Code may take out, in words: then its delivery is to be proved. */
  readonly altered?: string | undefined;
}
