import type { WindowSize } from "../../../ffi/terminal/pty.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { ChildChanges } from "../../conversation/control/effect.ts";
import type { CallbackHook } from "../../conversation/protocol/caller_options.ts";
import type { OutputOptions } from "../../conversation/output/output_options.ts";
import type { JsonObject } from "../../json_object.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** The values that a caller may change during a conversation and that the next child gets in its order. */
type OrderChanges = Pick<
  ChildChanges,
  | "setServers"
  | "unreached"
  | "switched"
  | "flagSettings"
  | "chosenModel"
  | "permissionMode"
  | "readsNoMentions"
  | "onStdin"
>;

/** One run: the request of the command line, and the facts that only this process or a conversation knows. */
export interface RunOrder extends Omit<RunRequest, "permissionMode">, OrderChanges {
  /** The prompt; undefined in a conversation, whose messages arrive while it runs. */
  readonly prompt: string | undefined;
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  /** The size of the user's terminal; by default that of this program's terminal. */
  readonly terminalSize?: WindowSize;
  /** The start of the run, on the clock of `performance.now()`. `timeoutMs` counts from here; by default from now. */
  readonly startedAt?: number;
  /** Whether frames are printed. The first frame names the session's model. */
  readonly frames: boolean;
  /** Whether API retries are reported, which Claude Code only writes to its debug log. */
  readonly retries: boolean;
  /** Whether results report the account's limits. The child reports them together with a turn's cost. */
  readonly limitsTold?: boolean;
  /**
   * Describes the first character that Claude Code may remove from the prompt. If set, the delivery has to be verified.
   */
  readonly altered?: string | undefined;

  /** The values of the caller's `initialize` request. */
  readonly initialized?: Initialized;
  /** The caller's own MCP servers that `--mcp-config` names. */
  readonly callerServers?: readonly string[];

  /** The output and cost of earlier children of the same conversation. */
  readonly before?: NonNullable<OutputOptions["before"]>;
  /** The number of requests to the model that earlier runs made for the same prompt. It counts towards `maxTurns`. */
  readonly requestsMade?: number;
  /** The transcript from which `resume` starts; by default the user's own. */
  readonly history?: string;
  /** Files that belong to `history`, such as transcripts of subagents, by paths below the session's folder. */
  readonly besideHistory?: readonly { readonly path: string; readonly text: string }[];
}

/** The values of a caller's `initialize` request, sent before the child starts. */
export interface Initialized {
  /** The id of the request. */
  readonly id: string;
  readonly callbacks: readonly CallbackHook[];
  /** The names of the caller's own MCP servers. */
  readonly servers: readonly string[];
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  /** How the caller's servers are to be used, by name. */
  readonly serverConfigs?: JsonObject;
  /** The only skills that the model may have; absent for all. */
  readonly skills?: readonly string[];
  /** One warning for each field that has no effect here. */
  readonly ineffective?: readonly string[];
  /** The caller's agents, if they are too long for a command line. */
  readonly longAgents?: JsonObject;
  /** The JSON Schema of structured answers, as text. `--json-schema` overrides it. */
  readonly jsonSchema?: string;
  /** Why the request is refused. */
  readonly error?: string;
}

/** The values of a flag among the arguments for Claude Code, in the order typed: `value` of each `--flag=value`. */
export function flagValues(forwarded: readonly string[], flag: `--${string}`): readonly string[] {
  const start = `${flag}=`;
  return forwarded.filter((argument) => argument.startsWith(start))
    .map((argument) => argument.slice(start.length));
}
