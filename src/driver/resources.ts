import { Poller } from "../../ffi/descriptors/poll.ts";
import type { ChildTerminal } from "./child_terminal.ts";
import type { HeadlessTwin } from "./effects/headless_twin.ts";
import { Rendezvous } from "./effects/rendezvous.ts";
import type { RunSessionOptions } from "./run_session_options.ts";
import type { HookCall } from "./inputs/hook_source.ts";
import type { McpBridge } from "./inputs/mcp_bridge.ts";
import type { McpSource } from "./inputs/mcp_source.ts";
import type { RetrySource } from "./inputs/retry_source.ts";
import type { ShellSource } from "./inputs/shells/shell_source.ts";
import type { StreamSource } from "./inputs/stream_source.ts";
import { type HookNews, WrittenSource } from "./inputs/written_source.ts";
import { OWN_TERMINAL, type UserTerminal } from "./user_terminal.ts";
import { STATUS_LINE } from "../sandbox/child/hooks.ts";
import { costOfStatusLine } from "../claude/transcript/cost.ts";
import { limitsOfStatusLine } from "../claude/wire/claude_limits.ts";
import type { JsonObject } from "../json_object.ts";

/** What the loop reads from, writes to and waits for, beside the child itself. */
export interface Resources {
  readonly poller: Poller;
  readonly terminal: ChildTerminal;
  readonly bridges: readonly McpBridge[];
  readonly written: WrittenSource;
  readonly rendezvous: Rendezvous | undefined;
  readonly retries: RetrySource | undefined;
  readonly servers: McpSource | undefined;
  readonly shells: ShellSource | undefined;
  readonly stream: StreamSource | undefined;
  readonly twin: HeadlessTwin | undefined;
  /** The terminal of whoever sits there, if it has another size than since the last call. */
  readonly takeResized: () => UserTerminal | undefined;
}

/** What resources have to know of the session. */
export interface ResourceFacts {
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
  if (conversation.session.hasOnStdin) rendezvous?.noteLong();
  const retries = options.retryLines &&
    new (await import("./inputs/retry_source.ts")).RetrySource(options.retryLines);
  const servers = options.mcpLog === undefined
    ? undefined
    : new (await import("./inputs/mcp_source.ts")).McpSource(options.mcpLog);
  const shells = conversation.frames.shellOutput === undefined
    ? undefined
    : stack.use(await followShells(options));
  const written = stack.use(
    new WrittenSource({
      ...options,
      ...sandbox,
      pid: child.pid,
      mirrored: conversation.frames.mirrorPath !== undefined,
      retries,
      hooks: () => hooks.read().flatMap(heardOf),
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
  const twin = options.twin && stack.use(
    new (await import("./effects/headless_twin.ts")).HeadlessTwin({
      ...options,
      plan: options.twin,
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
    written,
    rendezvous,
    retries,
    servers,
    shells,
    stream,
    twin,
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
function heardOf(call: HookCall): readonly HookNews[] {
  if (call.event !== STATUS_LINE) return [{ type: "hook", ...call }];
  const { payload, ranAt } = call;
  const cost = costOfStatusLine(payload);
  const limits = limitsOfStatusLine(payload);
  return cost === undefined ? [] : [{
    type: "cost",
    ...cost,
    ...(limits === undefined ? {} : { limits }),
    ...(ranAt === undefined ? {} : { ranAt }),
  }];
}
