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
import { costOfStatusLine } from "../claude/transcript/cost.ts";
import { parseStatusLineLimits } from "../claude/wire/claude_limits.ts";
import type { JsonObject } from "../json_object.ts";

/** A child and how to watch it. */
export interface RunSessionOptions {
  /** The child, which whoever started it disposes of, and its terminal. */
  readonly child: Child;
  readonly childTerminal: ChildTerminal;
  /** Path of its executable, and its environment. */
  readonly binary: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the machines are told. */
  readonly conversation: ConversationOptions;
  /** What is sent in any case, and what the caller has said before there was a child. */
  readonly begin: readonly CallerInput[];
  /** The caller of a conversation. */
  readonly caller?: Caller | undefined;
  /** Gives, once there are some, the terms of a caller that came after the child. */
  readonly takeTerms?: () => LateTerms | undefined;
  /** The lines that earlier runs of a resumed session wrote. */
  readonly earlier: readonly Entry[];
  /** Whether anybody wants frames, which take a look at what subagents and shells do. */
  readonly frames: boolean;
  /** Whether an answer alone is printed once there is one, and nobody looks on. */
  readonly answerAlone?: boolean | undefined;
  /** The id under which Claude Code keeps the session. */
  readonly sessionId: string;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly streamsDir: string;
    readonly bridges: readonly Bridge[];
    readonly resumed: ReadonlyMap<string, number>;
    /** Takes the id that a caller gave what has another one in the transcript. */
    recordGivenId(id: { readonly line: string; readonly given: string }): void;
  };
  /** The child's rendezvous socket, if the session was told to send the prompt there. */
  readonly rendezvous?: RendezvousOptions | undefined;
  /** How a headless Claude Code is started that is asked what the child cannot tell, where somebody may ask. */
  readonly helper?: HelperPlan | undefined;
  /** What stands between the child and the API, and what that streams, if it is heard. */
  readonly relay?: { readonly source?: StreamSource } | undefined;
  /** What structured answers have to look like, if some are wanted. */
  readonly output?: { readonly problemsOf: (value: unknown) => readonly OutputProblem[] };
  /** The signals that ask this run to stop. */
  readonly signals: StopSignals;
  /** The terminal whose size the child's has; absent for this program's own, if the signals are its own. */
  readonly terminal?: UserTerminal | undefined;
  /** What is written to meanwhile, without waiting: it is flushed whenever it takes what it owes. */
  readonly outlets?: readonly Outlet[];
  /** The child's debug log, if MCP servers are waited for. */
  readonly mcpLog?: string | undefined;
  /** Gives the new lines of the child's debug log, if retries of the API are to be seen. */
  readonly retryLines?: (() => readonly string[]) | undefined;
  /** Gives them too, if they are to be told. */
  readonly logLines?: (() => readonly string[]) | undefined;
  /**
   * Called with every input before the machines take it: written down, they are a recording of the session. The
   * bytes of a `terminal` input are good only until it returns.
   */
  readonly onInput?: (input: Input) => void;
  /** Called with every effect of the machines before it is carried out; what is said is up to whoever takes it. */
  readonly onEffect?: (effect: ConversationEffect) => void;
}

/** What the loop reads from, writes to and waits for, beside the child itself. */
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
  /** The terminal of whoever sits there, if it has another size than since the last call. */
  readonly takeResized: () => UserTerminal | undefined;
}

/** What resources have to know of the session. */
interface ResourceFacts {
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
  /** The model, as the child names it. */
  readonly model: () => string | undefined;
  /** A line of the transcript with what the conversation has used, where that is known. */
  readonly costNote: () => JsonObject | undefined;
}

/**
 * Opens all that a session needs. Whatever is heard by a callback of another one's is only noted there, and wakes the
 * poller: until the stack is disposed.
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

/** Only a run that has servers to bridge loads what it takes. */
async function openBridges(
  stack: AsyncDisposableStack,
  { bridges }: RunSessionOptions["sandbox"],
): Promise<readonly McpBridge[]> {
  if (bridges.length === 0) return [];
  const { McpBridge } = await import("./inputs/mcp_bridge.ts");
  return bridges.map((bridge) => stack.use(new McpBridge(bridge)));
}

/** Only who wants to hear of them loads what it takes. */
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
  // The child has been there for a moment in which nobody listened.
  const { rows, cols } = usersTerminal.size();
  resized = rows !== childTerminal.size.rows || cols !== childTerminal.size.cols;
  return () => {
    const wasResized = resized;
    resized = false;
    return wasResized ? usersTerminal : undefined;
  };
}

/** A call of a hook as an input: the status line, which is none, tells what the run has cost. */
function inputsOfCall(call: HookCall): readonly HookInput[] {
  if (call.event !== STATUS_LINE) return [{ type: "hook", ...call }];
  const { payload, ranAt } = call;
  const cost = costOfStatusLine(payload);
  const limits = parseStatusLineLimits(payload);
  return cost === undefined ? [] : [{
    type: "cost",
    ...cost,
    ...(limits === undefined ? {} : { limits }),
    ...(ranAt === undefined ? {} : { ranAt }),
  }];
}
