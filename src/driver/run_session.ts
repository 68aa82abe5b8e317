import { dirname } from "node:path";
import { drainFd } from "../../ffi/descriptors/fd.ts";
import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import type { WindowSize } from "../../ffi/terminal/pty.ts";
import { signalName } from "../../ffi/processes/signals.ts";
import { WriteQueue } from "../../ffi/descriptors/write_queue.ts";
import { claudeVersion } from "./claude_version.ts";
import { renderScreen } from "./hands/render_screen.ts";
import { HeadlessTwin, type TwinPlan } from "./hands/headless_twin.ts";
import { placeImage } from "./hands/place_image.ts";
import { Rendezvous, type RendezvousOptions } from "./hands/rendezvous.ts";
import { terminalSize } from "./hands/terminal_size.ts";
import { ChildFolders } from "./sources/child_folders.ts";
import type { Caller, CallerInput } from "./sources/caller/caller.ts";
import { McpBridge } from "./sources/mcp_bridge.ts";
import { McpSource } from "./sources/mcp_source.ts";
import { RetrySource } from "./sources/retry_source.ts";
import { runningShells } from "./sources/shells/running_shells.ts";
import type { ShellNews, ShellSource } from "./sources/shells/shell_source.ts";
import { StatusSource } from "./sources/status_source.ts";
import type { StreamSource } from "./sources/stream_source.ts";
import { subagentFolders, SubagentSource } from "./sources/subagent_source.ts";
import { TerminalRing } from "./sources/terminal_ring.ts";
import { TranscriptSource } from "./sources/transcript_source.ts";
import type { Child } from "./start_child.ts";
import type { StopSignals } from "./stop_signals.ts";
import {
  advance,
  type ConversationEffect,
  type ConversationEnd,
  type ConversationOptions,
  type ConversationState,
  startConversation,
} from "../frames/conversation.ts";
import { STATUS_LINE } from "../sandbox/child/hooks.ts";
import {
  findRunProcesses,
  killRunProcesses,
  type RunProcesses,
} from "../sandbox/processes/run_processes.ts";
import type { Bridge } from "../sandbox/folder/folder_contents.ts";
import { readJsonObject } from "../sandbox/read_json_object.ts";
import type { DeadlineName } from "../session/deadline_names.ts";
import type { ChildRemains, Input, OutputProblem } from "../session/input.ts";
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
  /** What the API streams to the child, if that is heard. */
  readonly stream?: { readonly source: StreamSource } | undefined;
  /** What structured answers have to look like, if some are wanted. */
  readonly output?: { readonly problemsOf: (value: unknown) => readonly OutputProblem[] };
  /** The signals that ask this run to stop. */
  readonly signals: StopSignals;
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

/** How often the child's files are looked at where its folders are watched, in milliseconds: a watch may be lost. */
const WATCHED_MS = 500;
/** How often a shell is looked at that is about to wait for it, in milliseconds. */
const AWAITED_MS = 2;
/** A poll that returns this much too late was not late by itself: this program was stopped meanwhile. */
const STOPPED_MS = 2000;
/** Signals that whoever ends a job may send to all its processes, and how much later than the child this one may get it. */
const MEANT_FOR_ALL: readonly number[] = Object.values(STOP_SIGNALS);
const SIGNALLED_MS = 200;
/** Most bytes typed ahead of a child that does not read them; one paste may be longer. */
const MOST_UNREAD = 1024 * 1024;
/** Most bytes owed to whoever reads the output while more of what shells write is taken up. */
const MOST_OWED = 1024 * 1024;
/** How long nobody may take frames before a run that has ended goes on without waiting for it, in milliseconds. */
const TAKEN_MS = 1000;
/** Most portions of a terminal's output that are still read once the child is gone: 16 MB and more. */
const MAX_LAST_PORTIONS = 512;

/**
 * Follows a child to its end: the one place that waits.
 *
 * Turns the world into inputs in the order in which it is heard, hands them to the machines, and carries out their
 * effects. When it returns, the child has been reaped.
 */
export async function runSession(options: RunSessionOptions): Promise<SessionRun> {
  const { child, sandbox, conversation, outlets = [] } = options;
  const { hooks, pty, pidfd } = child;
  let size: WindowSize = conversation.session.size;
  await using stack = new AsyncDisposableStack();
  const poller = stack.use(new Poller());
  const bridges = sandbox.bridges.map((bridge) => stack.use(new McpBridge(bridge)));
  const rendezvous = options.rendezvous && stack.use(new Rendezvous(options.rendezvous));
  const transcript = new TranscriptSource({ ...sandbox, sessionId: options.sessionId });
  const subagents = options.frames
    ? new SubagentSource({ ...sandbox, mirrored: conversation.frames.mirrorPath !== undefined })
    : undefined;
  const retries = options.retryLines && new RetrySource(options.retryLines);
  const servers = options.mcpLog === undefined ? undefined : new McpSource(options.mcpLog);
  const logLines = options.toldLines;
  const shells = conversation.frames.shellOutput === undefined
    ? undefined
    : stack.use(await followShells(options));
  // A user may have few watches, and Claude Code wants one: only what is told as it happens is worth one more.
  const folders = options.frames ? stack.use(new ChildFolders()) : undefined;
  const ring = new TerminalRing();
  const typed = new WriteQueue();
  const buffer = new Uint8Array(64 * 1024);
  const deadlines = new Map<DeadlineName, number>();
  options.signals.onArrival = () => poller.wake();
  stack.defer(() => options.signals.onArrival = undefined);
  const { caller: speaker } = options;
  if (speaker !== undefined) {
    speaker.onArrival = () => poller.wake();
    stack.defer(() => speaker.onArrival = undefined);
  }
  const stream = options.stream?.source;
  if (stream !== undefined) stack.defer(() => stream.onArrival = undefined);
  const twin = options.twin && stack.use(
    new HeadlessTwin({
      ...options,
      plan: options.twin,
      configDir: sandbox.configDir,
      isWritten: () => transcript.path !== undefined || sandbox.resumed.size > 0,
      model: () => state.frames.model,
      onArrival: () => poller.wake(),
    }),
  );
  let resized = false;
  const onResize = () => {
    resized = true;
    poller.wake();
  };
  if (options.signals.areOurs) {
    stack.use(listenToSignals(["SIGWINCH"], onResize));
    // The child has been there for a moment in which nobody listened.
    const { rows, cols } = terminalSize();
    resized = rows !== size.rows || cols !== size.cols;
  }

  let end: ConversationEnd | undefined;
  const status = new StatusSource({ configDir: sandbox.configDir, pid: child.pid });

  let state = startConversation(conversation);
  /** What a stopped turn's tools left running, once it has to be ended too. */
  let tree: RunProcesses | undefined;
  let looking = false;
  let listing = false;
  /** Whether the child's folders tell when it writes its files, whether they have, and when those were looked at last. */
  let isWatched = false;
  let isNews = false;
  let lookedAt = 0;
  let terminalOpen = true;
  // A recording keeps microseconds.
  const elapsed = () => Math.round((performance.now() - child.startedAt) * 1000) / 1000;

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
        // A child that does not read what was typed for it long ago has no use for more; it may ask without end.
        if (typed.pending < MOST_UNREAD) typed.push(effect.bytes);
        if (terminalOpen) typed.flush(pty.fd);
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
        if (effect.afterMs === undefined) deadlines.delete(effect.name);
        else deadlines.set(effect.name, elapsed() + effect.afterMs);
        break;
      case "look":
        looking = true;
        break;
      case "postpone":
        for (const [name, due] of deadlines) {
          if (name !== "timeout") deadlines.set(name, due + effect.byMs);
        }
        break;
      case "resize":
        size = effect.size;
        if (terminalOpen) pty.resize(size);
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

  /** Which requests have failed: read after what came of those that followed, and told before it. */
  const readFaults = () => {
    for (const fault of retries?.faults(elapsed()) ?? []) {
      give({ at: elapsed(), type: "fault", fault });
    }
  };
  const readTranscript = () => {
    const entries = transcript.read();
    readFaults();
    for (const entry of entries) give({ at: elapsed(), type: "transcript", entry });
    const news = transcript.path === undefined ? [] : subagents?.read(transcript.path) ?? [];
    for (const one of news) give({ at: elapsed(), ...one });
    if (entries.length + news.length > 0) give({ at: elapsed(), type: "read" });
  };
  const readFiles = () => {
    lookedAt = elapsed();
    isNews = false;
    const { path } = transcript;
    isWatched = path !== undefined && folders?.watch([
          `${sandbox.configDir}/sessions`,
          dirname(path),
          ...subagentFolders(path),
        ]) === true;
    const changed = status.read();
    if (changed !== undefined) give({ at: elapsed(), type: "status", ...changed });
    readTranscript();
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
  const tellShells = (news: readonly ShellNews[] = []) => {
    for (const one of news) give({ at: elapsed(), ...one });
  };
  /** Reads all that there is of the transcript. Whoever takes the frames slowly is waited for, but not who takes none. */
  const readRest = async () => {
    let isTaken = true;
    for (readFiles(); transcript.isBehind; readTranscript()) {
      const owing = outlets.filter(({ pending }) => pending > MOST_OWED);
      if (owing.length === 0 || !isTaken) continue;
      const ready = await poller.wait(owing.map(({ fd }) => ({ fd, write: true })), TAKEN_MS);
      isTaken = ready.length > 0;
      for (const outlet of owing) outlet.flush();
    }
  };
  const readHooks = () => {
    const calls = hooks.read();
    readFaults();
    for (const call of calls) {
      if (call.event === STATUS_LINE) {
        const cost = costOfStatusLine(call.payload);
        const limits = limitsOfStatusLine(call.payload);
        const { ranAt } = call;
        if (cost !== undefined) {
          give({
            at: elapsed(),
            type: "cost",
            ...cost,
            ...(limits === undefined ? {} : { limits }),
            ...(ranAt === undefined ? {} : { ranAt }),
          });
        }
        continue;
      }
      give({ at: elapsed(), type: "hook", ...call });
    }
  };
  const readStream = () => {
    for (const part of stream?.take() ?? []) give({ at: elapsed(), type: "stream", ...part });
  };
  const takeSignals = () => {
    for (const signal of options.signals.take()) give({ at: elapsed(), type: "signal", signal });
  };
  /** Reads what the terminal holds, a flood in portions, so that everything else is heard in between. */
  const readTerminal = (portions: number) => {
    const onBytes = (bytes: Uint8Array<ArrayBuffer>) => {
      ring.push(bytes);
      give({ at: elapsed(), type: "terminal", bytes });
    };
    let outcome: ReturnType<typeof drainFd> = "more";
    for (let portion = 0; portion < portions && outcome === "more"; portion++) {
      outcome = drainFd(pty.fd, { buffer, onBytes });
    }
    if (outcome === "end") terminalOpen = false;
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
    const until = Math.min(nextTick, ...deadlines.values());
    const polledAt = elapsed();
    const owing = outlets.filter(({ pending }) => pending > 0);
    const paused = owing.some(({ pending }) => pending > MOST_OWED);
    const isBehind = (transcript.isBehind || shells?.hasMore === true) && !paused;
    const isAwaited = shells?.isAwaited === true && !paused;
    const waitMs = Math.max(0, Math.ceil(until - polledAt));
    const ready = await poller.wait(
      [
        { fd: hooks.fd, read: true },
        ...(child.exited ? [] : [{ fd: pidfd, read: true }]),
        ...(terminalOpen ? [{ fd: pty.fd, read: true, write: typed.pending > 0 }] : []),
        ...folders?.interests ?? [],
        ...rendezvous?.interests ?? [],
        ...bridges.flatMap(({ interests }) => interests),
        ...caller?.interests ?? [],
        ...paused ? [] : shells?.interests ?? [],
        ...owing.map(({ fd }) => ({ fd, write: true })),
      ],
      isBehind ? 0 : isAwaited ? Math.min(waitMs, AWAITED_MS) : waitMs,
    );
    const lateMs = elapsed() - Math.max(until, polledAt);
    if (lateMs > STOPPED_MS) give({ at: elapsed(), type: "suspended", ms: lateMs });
    if (resized) {
      resized = false;
      give({ at: elapsed(), type: "resized", size: terminalSize() });
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
    for (const news of twin?.take() ?? []) give({ at: elapsed(), type: "consulted", ...news });
    readStream();
    for (const input of caller?.take(ready) ?? []) give({ at: elapsed(), ...input });
    if (ready.some(({ fd, writable }) => fd === pty.fd && writable)) typed.flush(pty.fd);
    if (ready.some(({ fd, readable, hangup }) => fd === pty.fd && (readable || hangup))) {
      readTerminal(1);
    }
    if (ready.some(({ fd }) => fd === hooks.fd)) readHooks();
    const isTick = elapsed() >= nextTick;
    isNews ||= folders?.heed(ready) === true;
    // While nobody reads what is said, no more is read than at each tick.
    const isWritten = (isNews && !paused) ||
      (isTick && (isNews || !isWatched || elapsed() >= lookedAt + WATCHED_MS));
    if (isTick) readFaults();
    if (isTick) shells?.findFolders(elapsed());
    // What a shell wrote comes before the line that says what came of it.
    if (isTick || isWritten || isBehind || isAwaited || shells?.isNamedIn(ready)) {
      tellShells(shells?.read({ at: elapsed(), child: child.pid, paused }));
    }
    if (isWritten) readFiles();
    else if (transcript.isBehind && !paused) readTranscript();
    if (isTick) {
      readLog();
      if (rendezvous?.open()) give({ at: elapsed(), type: "reachable" });
      if (hooks.unheard) give({ at: elapsed(), type: "unheard" });
      lastTick = elapsed();
    }
    if (retries !== undefined && lastTick >= polledAt) {
      const look = () => renderScreen(ring.chunks(), size);
      const retry = await retries.announced({ at: elapsed(), look });
      if (retry !== undefined) give({ at: elapsed(), type: "retry", retry });
    }
    if (looking) {
      looking = false;
      const screen = await renderScreen(ring.chunks(), size);
      give({ at: elapsed(), type: "screen", screen });
    }
    if (listing) {
      listing = false;
      const ids = runningShells(sandbox.tempDir, options.sessionId);
      give({ at: elapsed(), type: "shells", ids });
    }
    for (const [name, due] of [...deadlines]) {
      if (due > elapsed() || deadlines.get(name) !== due) continue;
      deadlines.delete(name);
      give({ at: elapsed(), type: "deadline", name });
    }
    if (!child.exited && ready.some(({ fd }) => fd === pidfd)) {
      const waited = child.reap();
      if (waited !== undefined) {
        const exit = waited.kind === "exited"
          ? waited
          : { ...waited, name: signalName(waited.signal) };
        // Everything the child said before it ended is heard before its end.
        if (terminalOpen) readTerminal(MAX_LAST_PORTIONS);
        readHooks();
        const look = { at: elapsed(), child: child.pid };
        tellShells(shells?.readAll(look));
        readStream();
        await readRest();
        tellShells(shells?.readAll(look));
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
  return { end, state, lastScreen: () => renderScreen(ring.chunks(), size) };
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
