import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { signalName } from "../../ffi/processes/signals.ts";
import { ChildTerminal, type ShownTerminal } from "./child_terminal.ts";
import { claudeVersion } from "./claude_version.ts";
import { Deadlines } from "./deadlines.ts";
import { HeadlessTwin, type TwinPlan } from "./hands/headless_twin.ts";
import { placeImage } from "./hands/place_image.ts";
import { Rendezvous, type RendezvousOptions } from "./hands/rendezvous.ts";
import type { Caller, CallerInput } from "./sources/caller/caller.ts";
import type { HookCall } from "./sources/hook_source.ts";
import { McpBridge } from "./sources/mcp_bridge.ts";
import { McpSource } from "./sources/mcp_source.ts";
import { RetrySource } from "./sources/retry_source.ts";
import { runningShells } from "./sources/shells/running_shells.ts";
import type { ShellSource } from "./sources/shells/shell_source.ts";
import type { StreamSource } from "./sources/stream_source.ts";
import { type HookNews, WrittenSource } from "./sources/written_source.ts";
import type { Child } from "./start_child.ts";
import type { StopSignals } from "./stop_signals.ts";
import { OWN_TERMINAL, type UserTerminal } from "./user_terminal.ts";
import {
  advance,
  type ConversationEffect,
  type ConversationEnd,
  type ConversationOptions,
  type ConversationState,
  startConversation,
} from "../frames/conversation.ts";
import { type LateTerms, withTerms } from "../frames/late_terms.ts";
import { STATUS_LINE } from "../sandbox/child/hooks.ts";
import {
  findRunProcesses,
  killRunProcesses,
  type RunProcesses,
} from "../sandbox/processes/run_processes.ts";
import type { Bridge } from "../sandbox/folder/folder_contents.ts";
import { readJsonObject } from "../sandbox/read_json_object.ts";
import type { ChildRemains, Input, OutputProblem, Untimed } from "../session/input.ts";
import type { Screen } from "../session/terminal/screen.ts";
import { tickMs } from "../session/waits.ts";
import { costOfClaudeJson, costOfStatusLine } from "../transcript/cost.ts";
import type { Entry } from "../transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../transcript/json_object.ts";
import { OUTPUT_SERVER } from "../transcript/structured_output.ts";
import { limitsOfStatusLine } from "../wire/claude_limits.ts";
import { STOP_SIGNALS } from "../wire/stop_signal.ts";

/** A child and how to watch it. */
export interface RunSessionOptions {
  /** The child, which whoever started it disposes of. */
  readonly child: Child;
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
  /** The id under which Claude Code keeps the session. */
  readonly sessionId: string;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly streamsDir: string;
    readonly bridges: readonly Bridge[];
    readonly resumed: ReadonlyMap<string, number>;
  };
  /** The child's rendezvous socket, if the session was told to send the prompt there. */
  readonly rendezvous?: RendezvousOptions | undefined;
  /** How a headless Claude Code is started that is asked what the child cannot tell, where somebody may ask. */
  readonly twin?: TwinPlan | undefined;
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
  readonly toldLines?: (() => readonly string[]) | undefined;
  /** Takes each line of it. */
  readonly onLogLine?: (line: string) => void;
  /**
   * Called with every input before the machines take it: written down, they are a recording of the session. The
   * bytes of a `terminal` input are good only until it returns.
   */
  readonly onInput?: (input: Input) => void;
  /** Takes what can be seen of the child's terminal, before the child has written anything. */
  readonly onTerminal?: (terminal: ShownTerminal) => void;
  /** Called with every effect of the machines before it is carried out; what is said is up to whoever takes it. */
  readonly onEffect?: (effect: ConversationEffect) => void;
}

/** How a session went. */
export interface SessionRun {
  /** The last effect. */
  readonly end: ConversationEnd;
  /** What the machines remember. */
  readonly state: ConversationState;
  /** What the child's terminal showed last. */
  readonly lastScreen: () => Promise<Screen>;
}

/** How often a shell is looked at that is about to wait for it, in milliseconds. */
const AWAITED_MS = 2;
/** A poll that returns this much too late was not late by itself: this program was stopped meanwhile. */
const STOPPED_MS = 2000;
/** Signals that whoever ends a job may send to all its processes, and how much later than the child this one may get it. */
const MEANT_FOR_ALL: readonly number[] = Object.values(STOP_SIGNALS);
const SIGNALLED_MS = 200;
/** Most bytes owed to whoever reads the output while more of what shells write is taken up. */
const MOST_OWED = 1024 * 1024;
/** How long nobody may take frames before a run that has ended goes on without waiting for it, in milliseconds. */
const TAKEN_MS = 1000;

/**
 * Follows a child to its end: the one place that waits.
 *
 * Turns the world into inputs in the order in which it is heard, hands them to the machines, and carries out their
 * effects. When it returns, the child has been reaped.
 */
export async function runSession(options: RunSessionOptions): Promise<SessionRun> {
  const { child, sandbox, conversation, outlets = [] } = options;
  const { hooks, pidfd } = child;
  await using stack = new AsyncDisposableStack();
  const poller = stack.use(new Poller());
  const bridges = sandbox.bridges.map((bridge) => stack.use(new McpBridge(bridge)));
  const rendezvous = options.rendezvous && stack.use(new Rendezvous(options.rendezvous));
  const terminal = new ChildTerminal(child.pty, conversation.session.size);
  options.onTerminal?.(terminal);
  const retries = options.retryLines && new RetrySource(options.retryLines);
  const servers = options.mcpLog === undefined ? undefined : new McpSource(options.mcpLog);
  const logLines = options.toldLines;
  const shells = conversation.frames.shellOutput === undefined
    ? undefined
    : stack.use(await followShells(options));
  const deadlines = new Deadlines();
  // A recording keeps microseconds.
  const elapsed = () => Math.round((performance.now() - child.startedAt) * 1000) / 1000;
  const written = stack.use(
    new WrittenSource({
      ...options,
      ...sandbox,
      pid: child.pid,
      mirrored: conversation.frames.mirrorPath !== undefined,
      retries,
      hooks: () => hooks.read().flatMap(heardOf),
      now: elapsed,
    }),
  );
  options.signals.onArrival = () => poller.wake();
  stack.defer(() => options.signals.onArrival = undefined);
  const { caller: speaker } = options;
  if (speaker !== undefined) {
    speaker.onArrival = () => poller.wake();
    stack.defer(() => speaker.onArrival = undefined);
  }
  const stream = options.relay?.source;
  if (stream !== undefined) stack.defer(() => stream.onArrival = undefined);
  const twin = options.twin && stack.use(
    new HeadlessTwin({
      ...options,
      plan: options.twin,
      configDir: sandbox.configDir,
      isResumed: sandbox.resumed.size > 0,
      transcript: () => written.transcript,
      model: () => state.frames.model,
      onArrival: () => poller.wake(),
    }),
  );
  let resized = false;
  const onResize = () => {
    resized = true;
    poller.wake();
  };
  const usersTerminal = options.terminal ?? (options.signals.areOurs ? OWN_TERMINAL : undefined);
  if (usersTerminal !== undefined) {
    stack.use(usersTerminal.listen(onResize));
    // The child has been there for a moment in which nobody listened.
    const { rows, cols } = usersTerminal.size();
    resized = rows !== terminal.size.rows || cols !== terminal.size.cols;
  }

  let end: ConversationEnd | undefined;
  let state = startConversation(conversation);
  /** What a stopped turn's tools left running, once it has to be ended too. */
  let tree: RunProcesses | undefined;
  let looking = false;
  let listing = false;

  const give = (input: Input) => {
    options.onInput?.(input);
    const next = advance(state, input);
    if (
      next.state.session.phase === "interrupting" && state.session.phase !== "interrupting"
    ) {
      // Once Escape has made the child end its tools, nothing tells any more what they have put into the background.
      tree = findRunProcesses(child.marks, tree);
    }
    state = next.state;
    for (const effect of next.effects) {
      options.onEffect?.(effect);
      carryOut(effect);
    }
  };

  const carryOut = (effect: ConversationEffect): void => {
    switch (effect.type) {
      case "write":
        terminal.type(effect.bytes);
        break;
      case "answer":
        hooks.answer(effect.id, effect.reply);
        break;
      case "consult":
        twin?.ask(effect.request);
        break;
      case "place-image":
        placeImage(effect);
        break;
      case "deliver":
        rendezvous?.send(effect.prompt);
        break;
      case "mcp-message":
        bridges.find(({ server }) => server === effect.server)?.send(effect.message);
        break;
      case "deadline":
        deadlines.set(
          effect.name,
          effect.afterMs === undefined ? undefined : elapsed() + effect.afterMs,
        );
        break;
      case "look":
        looking = true;
        break;
      case "postpone":
        deadlines.postpone(effect.byMs);
        break;
      case "resize":
        terminal.resize(effect.size);
        break;
      case "kill":
        if (effect.tree) tree = findRunProcesses(child.marks, tree);
        child.signal(effect.signal);
        // A stopped process takes no signal but SIGKILL until it goes on.
        child.signal("SIGCONT");
        if (effect.signal === "SIGKILL" && tree !== undefined) killRunProcesses(child.marks, tree);
        break;
      case "list-shells":
        listing = true;
        break;
      case "follow-shell":
        shells?.follow(effect.id);
        break;
      case "leave-shell":
        shells?.leave(effect.id);
        break;
      case "end":
        end = effect;
        child.release();
        break;
      case "frame":
      case "report":
      case "trace":
        break;
      default:
        effect satisfies never;
    }
  };

  const agree = (terms: LateTerms) => {
    const next = withTerms(state, { terms, at: elapsed() });
    state = next.state;
    for (const effect of next.effects) carryOut(effect);
  };
  /** Hands on what is heard now. */
  const tell = (news: Iterable<Untimed<Input>> = []) => {
    for (const one of news) give({ at: elapsed(), ...one });
  };
  const readLog = () => {
    // Once the first request is not held back any more, nobody asks.
    const connections = state.session.held === undefined ? undefined : servers?.read();
    if (connections !== undefined) give({ at: elapsed(), type: "mcp", ...connections });
    for (const line of logLines?.() ?? []) options.onLogLine?.(line);
  };
  /** What is wrong with a structured answer, if a message is one. */
  const outputProblems = ({ server }: McpBridge, { method, params }: JsonObject) => {
    const isAnswer = server === OUTPUT_SERVER && method === "tools/call" && isJsonObject(params);
    return isAnswer && options.output !== undefined
      ? { problems: options.output.problemsOf(params["arguments"] ?? {}) }
      : {};
  };
  /** Reads all that there is of the transcript. Whoever takes the frames slowly is waited for, but not who takes none. */
  const readRest = async () => {
    let isTaken = true;
    for (tell(written.read()); written.isBehind; tell(written.readTranscript())) {
      const owing = outlets.filter(({ pending }) => pending > MOST_OWED);
      if (owing.length === 0 || !isTaken) continue;
      const ready = await poller.wait(owing.map(({ fd }) => ({ fd, write: true })), TAKEN_MS);
      isTaken = ready.length > 0;
      for (const outlet of owing) outlet.flush();
    }
  };
  const readStream = () => {
    tell(stream?.take().map((part) => ({ type: "stream", ...part })));
  };
  const takeSignals = () => {
    tell(options.signals.take().map((signal) => ({ type: "signal", signal })));
  };
  const onBytes = (bytes: Uint8Array<ArrayBuffer>) => {
    give({ at: elapsed(), type: "terminal", bytes });
  };

  if (options.earlier.length > 0) give({ at: 0, type: "earlier", entries: options.earlier });
  for (const input of options.begin) give({ at: 0, ...input });
  give({ at: elapsed(), type: "spawned" });
  if (stream !== undefined) {
    // What the relay passes on is heard here, on this thread: told at once, it does not wait for the poll to return.
    stream.onArrival = () => {
      readStream();
      if (outlets.some(({ pending }) => pending > 0)) poller.wake();
    };
  }
  let lastTick = elapsed();
  while (end === undefined) {
    const nextTick = lastTick + tickMs(state.session);
    // What is said once this child has been told to go is left for the next one.
    const caller = state.session.ending === undefined ? options.caller : undefined;
    const until = Math.min(nextTick, deadlines.next);
    const polledAt = elapsed();
    const owing = outlets.filter(({ pending }) => pending > 0);
    const paused = owing.some(({ pending }) => pending > MOST_OWED);
    const isBehind = (written.isBehind || shells?.hasMore === true) && !paused;
    const isAwaited = shells?.isAwaited === true && !paused;
    const waitMs = Math.max(0, Math.ceil(until - polledAt));
    const ready = await poller.wait(
      [
        { fd: hooks.fd, read: true },
        ...(child.exited ? [] : [{ fd: pidfd, read: true }]),
        ...terminal.interests,
        ...written.interests,
        ...rendezvous?.interests ?? [],
        ...bridges.flatMap(({ interests }) => interests),
        ...caller?.interests ?? [],
        ...paused ? [] : shells?.interests ?? [],
        ...owing.map(({ fd }) => ({ fd, write: true })),
      ],
      isBehind ? 0 : isAwaited ? Math.min(waitMs, AWAITED_MS) : waitMs,
    );
    if (options.signals.paused !== undefined) await options.signals.paused;
    const lateMs = elapsed() - Math.max(until, polledAt);
    if (lateMs > STOPPED_MS) give({ at: elapsed(), type: "suspended", ms: lateMs });
    if (resized && usersTerminal !== undefined) {
      resized = false;
      give({ at: elapsed(), type: "resized", size: usersTerminal.size() });
    }
    takeSignals();
    for (const outlet of owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
    rendezvous?.proceed(ready);
    for (const bridge of bridges) {
      for (const message of bridge.take(ready)) {
        give({
          at: elapsed(),
          type: "mcp-message",
          server: bridge.server,
          message,
          ...outputProblems(bridge, message),
        });
      }
    }
    tell(twin?.take().map((one) => ({ type: "consulted", ...one })));
    readStream();
    const said = caller?.take(ready);
    const terms = options.takeTerms?.();
    if (terms !== undefined) agree(terms);
    tell(said);
    terminal.proceed(ready, onBytes);
    if (ready.some(({ fd }) => fd === hooks.fd)) tell(written.heard());
    const isTick = elapsed() >= nextTick;
    const isWritten = written.isDue(ready, { isTick, isPaused: paused });
    if (isTick) {
      tell(written.faults());
      shells?.findFolders(elapsed());
    }
    // What a shell wrote comes before the line that says what came of it.
    if (isTick || isWritten || isBehind || isAwaited || shells?.isNamedIn(ready)) {
      tell(shells?.read({ at: elapsed(), child: child.pid, paused }));
    }
    if (isWritten) tell(written.read());
    else if (written.isBehind && !paused) tell(written.readTranscript());
    if (isTick) {
      readLog();
      if (rendezvous?.open()) give({ at: elapsed(), type: "reachable" });
      if (hooks.unheard) give({ at: elapsed(), type: "unheard" });
      lastTick = elapsed();
    }
    if (retries !== undefined && lastTick >= polledAt) {
      const retry = await retries.announced({ at: elapsed(), look: () => terminal.render() });
      if (retry !== undefined) give({ at: elapsed(), type: "retry", retry });
    }
    if (looking) {
      looking = false;
      const screen = await terminal.render();
      give({ at: elapsed(), type: "screen", screen });
    }
    if (listing) {
      listing = false;
      const running = runningShells(sandbox.tempDir, options.sessionId);
      give({ at: elapsed(), type: "shells", ...running });
    }
    for (const name of deadlines.take(elapsed)) give({ at: elapsed(), type: "deadline", name });
    if (!child.exited && ready.some(({ fd }) => fd === pidfd)) {
      const waited = child.reap();
      if (waited !== undefined) {
        const exit = waited.kind === "exited"
          ? waited
          : { ...waited, name: signalName(waited.signal) };
        // Everything the child said before it ended is heard before its end.
        terminal.readRest(onBytes);
        tell(written.heard());
        const look = { at: elapsed(), child: child.pid };
        tell(shells?.readAll(look));
        readStream();
        await readRest();
        tell(shells?.readAll(look));
        if (exit.kind === "signaled" && MEANT_FOR_ALL.includes(exit.signal)) {
          await new Promise((heard) => setTimeout(heard, SIGNALLED_MS));
          takeSignals();
        }
        const exitedAt = elapsed();
        const endedByItself = state.endingAt === undefined;
        const remains = await remainsOf(options, state.frames.version);
        give({ at: exitedAt, type: "exit", exit, remains });
        // A child that ended by itself had no time to end its tools.
        if (endedByItself || tree !== undefined) killRunProcesses(child.marks, tree);
      }
    }
  }
  if (!child.exited && tree !== undefined) killRunProcesses(child.marks, tree);
  twin?.bringNotes();
  return { end, state, lastScreen: () => terminal.render() };
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

/** What a child has left; its executable is asked for its version only where no transcript names it. */
async function remainsOf(
  { sandbox, sessionId, binary, env }: RunSessionOptions,
  told: string | undefined,
): Promise<ChildRemains> {
  const cost = costOfClaudeJson(
    readJsonObject(`${sandbox.configDir}/.claude.json`),
    sessionId,
  );
  const version = told === undefined ? await claudeVersion(binary, env) : undefined;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(version === undefined ? {} : { version }),
  };
}

/** Only who wants to hear of them loads what it takes. */
async function followShells(
  { sandbox: { tempDir, streamsDir }, sessionId, conversation: { frames } }: RunSessionOptions,
): Promise<ShellSource> {
  const { ShellSource } = await import("./sources/shells/shell_source.ts");
  return new ShellSource({
    tempDir,
    sessionId,
    cwd: Deno.realPathSync(frames.cwd),
    ...(frames.shellOutput === "split" ? { streamsDir } : {}),
  });
}
