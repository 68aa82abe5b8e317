import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import type { ChildTerminal } from "./child_terminal.ts";
import type { HeadlessHelper, HelperPlan } from "./effects/headless_helper.ts";
import { Rendezvous, type RendezvousOptions } from "./effects/rendezvous.ts";
import type { Caller, CallerInput } from "./inputs/callers.ts";
import type { StreamSource } from "./inputs/stream_source.ts";
import type { Child } from "./start_child.ts";
import type { StopSignals } from "./stop_signals.ts";
import { OWN_TERMINAL, type UserTerminal } from "./user_terminal.ts";
import type {
  ConversationEffect,
  ConversationOptions,
} from "../conversation/output/conversation.ts";
import type { LateTerms } from "../conversation/control/session_options.ts";
import type { Bridge } from "../sandbox/folder/folder_layout.ts";
import type { Input, OutputProblem } from "../conversation/control/input.ts";
import type { Entry } from "../claude/transcript/entry.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import type { HookCall } from "./inputs/hook_source.ts";
import type { McpBridge } from "./inputs/mcp_bridge.ts";
import type { McpSource, RetrySource } from "./inputs/debug_log.ts";
import type { ShellSource } from "./inputs/shells/shell_source.ts";
import { FileSource, type HookInput } from "./inputs/file_source.ts";
import { STATUS_LINE } from "../sandbox/child/hooks.ts";
import { readCostOfStatusLine } from "../claude/transcript/cost.ts";
import { parseStatusLineLimits } from "../claude/wire/claude_limits.ts";
import type { JsonObject } from "../json_object.ts";

/** A child and how to watch it. */
export interface RunSessionOptions {
  /** The child. The code that started it disposes it. */
  readonly child: Child;
  readonly childTerminal: ChildTerminal;
  /** Path of the child's executable. */
  readonly binary: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The options of the conversation. */
  readonly conversation: ConversationOptions;
  /** Inputs of the caller from before the child's start. */
  readonly begin: readonly CallerInput[];
  /** The caller of a conversation. */
  readonly caller?: Caller | undefined;
  /** Returns, once, the terms of a caller that came after the child. */
  readonly takeTerms?: () => LateTerms | undefined;
  /** The transcript of earlier runs of a resumed session. */
  readonly earlier: readonly Entry[];
  /** Whether frames are wanted. Then subagents and shells are followed too. */
  readonly frames: boolean;
  /** Whether only the answer is printed, at the end. */
  readonly answerAlone?: boolean | undefined;
  /** Claude Code's id of the session. */
  readonly sessionId: string;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly streamsDir: string;
    readonly bridges: readonly Bridge[];
    readonly resumed: ReadonlyMap<string, number>;
    /** Records that the caller gave another id to the message of a transcript line. */
    recordGivenId(id: { readonly line: string; readonly given: string }): void;
  };
  /** The child's rendezvous socket, if prompts are delivered there. */
  readonly rendezvous?: RendezvousOptions | undefined;
  /** How a headless helper is started, if the caller may ask questions that the child cannot answer. */
  readonly helper?: HelperPlan | undefined;
  /** The relay between the child and the API, and the source of the API's streams. */
  readonly relay?: { readonly source?: StreamSource } | undefined;
  /** Checks structured answers against the caller's schema. */
  readonly output?: { readonly problemsOf: (value: unknown) => readonly OutputProblem[] };
  /** The signals that ask this run to stop. */
  readonly signals: StopSignals;
  /** The user's terminal, by default that of this process if the signals of the process are ours. */
  readonly terminal?: UserTerminal | undefined;
  /** Outlets that are flushed whenever they can be written. */
  readonly outlets?: readonly Outlet[];
  /** Path of the child's debug log, if the first request waits for MCP servers. */
  readonly mcpLog?: string | undefined;
  /** Returns the new lines of the debug log, if retries of the API are reported. */
  readonly retryLines?: (() => readonly string[]) | undefined;
  /** Returns the new lines of the debug log, if the caller wants the log itself. */
  readonly logLines?: (() => readonly string[]) | undefined;
  /**
   * Called with every input before the conversation receives it. All inputs together are a recording of the session.
   * The bytes of a `terminal` input are valid only until the call returns.
   */
  readonly onInput?: (input: Input) => void;
  /** Called with every effect before it is performed. It is the only place that prints frames. */
  readonly onEffect?: (effect: ConversationEffect) => void;
}

/** The objects that the loop reads from, writes to and waits for, in addition to the child. */
export interface Resources {
  readonly poller: Poller;
  readonly terminal: ChildTerminal;
  readonly bridges: readonly McpBridge[];
  readonly files: FileSource;
  readonly rendezvous: Rendezvous | undefined;
  readonly retries: RetrySource | undefined;
  readonly servers: McpSource | undefined;
  readonly shells: ShellSource | undefined;
  readonly stream: StreamSource | undefined;
  readonly helper: HeadlessHelper | undefined;
  /** Returns the user's terminal if its size has changed since the last call. */
  readonly takeResized: () => UserTerminal | undefined;
}

/** The facts of the loop that resources need. */
interface ResourceFacts {
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
  /** The model, as the child names it. */
  readonly model: () => string | undefined;
  /** A transcript line with the cost and usage of the conversation so far. */
  readonly costNote: () => JsonObject | undefined;
}

/**
 * Opens all resources of a session, until the stack is disposed. Callbacks of signals and callers only wake the poller;
 * the loop then takes their inputs.
 */
export async function openResources(
  stack: AsyncDisposableStack,
  options: RunSessionOptions,
  { now, model, costNote }: ResourceFacts,
): Promise<Resources> {
  const { child, childTerminal: terminal, sandbox, conversation } = options;
  const { hooks } = child;
  const poller = stack.use(new Poller());
  const onArrival = () => poller.wake();
  const bridges = await openBridges(stack, sandbox);
  const rendezvous = options.rendezvous && stack.use(new Rendezvous(options.rendezvous));
  if (conversation.session.hasOnStdin) rendezvous?.markLongPrompts();
  const retries = options.retryLines &&
    new (await import("./inputs/debug_log.ts")).RetrySource(options.retryLines);
  const servers = options.mcpLog === undefined
    ? undefined
    : new (await import("./inputs/debug_log.ts")).McpSource(options.mcpLog);
  const shells = conversation.frames.shellOutput === undefined
    ? undefined
    : stack.use(await followShells(options));
  const written = stack.use(
    new FileSource({
      ...options,
      ...sandbox,
      pid: child.pid,
      mirrored: conversation.frames.mirrorPath !== undefined,
      retries,
      hooks: () => hooks.read().flatMap(inputsOfCall),
      now,
    }),
  );
  const stream = options.relay?.source;
  for (const source of [options.signals, options.caller]) {
    if (source === undefined) continue;
    source.onArrival = onArrival;
    stack.defer(() => source.onArrival = undefined);
  }
  if (stream !== undefined) stack.defer(() => stream.onArrival = undefined);
  const helper = options.helper && stack.use(
    new (await import("./effects/headless_helper.ts")).HeadlessHelper({
      ...options,
      plan: options.helper,
      configDir: sandbox.configDir,
      isResumed: sandbox.resumed.size > 0,
      transcript: () => written.transcript,
      model,
      costNote,
      onArrival,
    }),
  );
  const takeResized = watchSize(stack, options, onArrival);
  return {
    poller,
    terminal,
    bridges,
    files: written,
    rendezvous,
    retries,
    servers,
    shells,
    stream,
    helper,
    takeResized,
  };
}

/** Opens the bridges to MCP servers. Their module is loaded only if there are some. */
async function openBridges(
  stack: AsyncDisposableStack,
  { bridges }: RunSessionOptions["sandbox"],
): Promise<readonly McpBridge[]> {
  if (bridges.length === 0) return [];
  const { McpBridge } = await import("./inputs/mcp_bridge.ts");
  return bridges.map((bridge) => stack.use(new McpBridge(bridge)));
}

/** Follows the output of shells. Its module is loaded only for callers that want it. */
async function followShells(
  { sandbox: { tempDir, streamsDir }, sessionId, conversation: { frames } }: RunSessionOptions,
): Promise<ShellSource> {
  const { ShellSource } = await import("./inputs/shells/shell_source.ts");
  return new ShellSource({
    tempDir,
    sessionId,
    cwd: Deno.realPathSync(frames.cwd),
    ...(frames.shellOutput === "split" ? { streamsDir } : {}),
  });
}

function watchSize(
  stack: AsyncDisposableStack,
  { terminal, childTerminal, signals }: RunSessionOptions,
  onArrival: () => void,
): Resources["takeResized"] {
  const usersTerminal = terminal ?? (signals.areOurs ? OWN_TERMINAL : undefined);
  if (usersTerminal === undefined) return () => undefined;
  let resized = false;
  stack.use(usersTerminal.listen(() => {
    resized = true;
    onArrival();
  }));
  // The size may have changed between the child's start and this call.
  const { rows, cols } = usersTerminal.size();
  resized = rows !== childTerminal.size.rows || cols !== childTerminal.size.cols;
  return () => {
    const wasResized = resized;
    resized = false;
    return wasResized ? usersTerminal : undefined;
  };
}

/** The inputs of a hook call. A call of the status line, which is no hook, is the cost of the run. */
function inputsOfCall(call: HookCall): readonly HookInput[] {
  if (call.event !== STATUS_LINE) return [{ type: "hook", ...call }];
  const { payload, ranAt } = call;
  const cost = readCostOfStatusLine(payload);
  const limits = parseStatusLineLimits(payload);
  return cost === undefined ? [] : [{
    type: "cost",
    ...cost,
    ...(limits === undefined ? {} : { limits }),
    ...(ranAt === undefined ? {} : { ranAt }),
  }];
}
