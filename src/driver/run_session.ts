import { Performer } from "./performer.ts";
import { openResources, type Resources, type RunSessionOptions } from "./session_resources.ts";
import type { McpBridge } from "./inputs/mcp_bridge.ts";
import { listShells, readTaskOutput } from "./inputs/shells/task_files.ts";
import { advance, startConversation } from "../conversation/output/advance.ts";
import { costNote } from "../conversation/output/turns/conversation_cost.ts";
import type { ConversationState, EndEffect } from "../conversation/output/conversation.ts";
import type { ChildRemains, Exit, Input, Untimed } from "../conversation/control/input.ts";
import type { Screen } from "../conversation/terminal/screen.ts";
import { tickMs } from "../conversation/control/wait_times.ts";
import { asText, isJsonObject, type JsonObject } from "../json_object.ts";
import { OUTPUT_SERVER } from "../claude/transcript/structured_output_tool.ts";
import type { waitFor } from "../../ffi/processes/process.ts";
import { signalName } from "../../ffi/processes/signals.ts";
import { claudeVersion } from "../claude/program/claude_version.ts";
import { readJsonObject } from "../sandbox/read_json_object.ts";
import { costOfClaudeJson } from "../claude/transcript/cost.ts";
import { STOP_SIGNALS } from "../claude/wire/stop_signal.ts";
import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import type { Ready } from "../../ffi/descriptors/poll.ts";
import type { Caller } from "./inputs/callers.ts";

/** How a session went. */
export interface SessionRun {
  /** The last effect. */
  readonly end: EndEffect;
  /** What the machines remember. */
  readonly state: ConversationState;
  /** What the child's terminal showed last. */
  readonly lastScreen: () => Promise<Screen>;
}

/**
 * Follows a child to its end: the one place that waits.
 *
 * Turns the world into inputs in the order in which it is heard, hands them to the machines, and carries out their
 * effects. When it returns, the child has been reaped.
 */
export async function runSession(options: RunSessionOptions): Promise<SessionRun> {
  const { child, sandbox, conversation, signals, outlets = [] } = options;
  let state = startConversation(conversation);
  // A recording keeps microseconds.
  const now = () => Math.round((performance.now() - child.startedAt) * 1000) / 1000;
  await using stack = new AsyncDisposableStack();
  const resources = await openResources(stack, options, {
    now,
    model: () => state.frames.model,
    costNote: () => costNote(state.frames, { sessionId: options.sessionId, now: Date.now() }),
  });
  const {
    terminal,
    files,
    rendezvous,
    bridges,
    retries,
    servers,
    shells,
    stream,
    helper,
  } = resources;
  const performer = new Performer({ ...resources, child, sandbox, now });

  const flushAll = () => {
    for (const outlet of outlets) outlet.flush();
  };
  const give = (input: Input) => {
    options.onInput?.(input);
    const next = advance(state, input);
    state = next.state;
    for (const effect of next.effects) {
      // Frames in a row are written together, and before anything else is done.
      if (effect.type !== "frame") flushAll();
      else for (const outlet of outlets) outlet.gather();
      options.onEffect?.(effect);
      performer.perform(effect);
    }
    if (next.effects.length > 0) flushAll();
  };
  /** Hands on what is heard now. */
  const tell = (news: Iterable<Untimed<Input>> = []) => {
    for (const one of news) give({ at: now(), ...one });
  };
  const onBytes = (bytes: Uint8Array<ArrayBuffer>) => {
    give({ at: now(), type: "terminal", bytes });
  };
  const readLog = () => {
    // Once the first request is not held back any more, nobody asks.
    const connections = state.session.waitingStartHook === undefined ? undefined : servers?.read();
    if (connections !== undefined) give({ at: now(), type: "mcp", ...connections });
    tell(logInputs(options));
  };
  const readStream = () => {
    tell(stream?.take().map((part) => ({ type: "stream", ...part })));
  };
  const tellSignals = (signalled: ReturnType<typeof signals.take>) => {
    tell(signalled.map((signal) => ({ type: "signal", signal })));
  };
  const hearing = { now, tell, onBytes, readStream };

  if (options.earlier.length > 0) give({ at: 0, type: "earlier", entries: options.earlier });
  for (const input of options.begin) give({ at: 0, ...input });
  give({ at: now(), type: "spawned" });
  if (stream !== undefined) {
    // What the relay passes on is heard here, on this thread: told at once, it does not wait for the poll to return.
    stream.onArrival = () => {
      readStream();
      if (outlets.some(({ pending }) => pending > 0)) resources.poller.wake();
    };
  }
  // A prompt may wait for the child to be ready, or for its servers; who looks on at a terminal is told of retries.
  const isHeard = options.answerAlone !== true || options.frames ||
    !options.begin.every(reachesChildAtStart) ||
    [servers, retries, options.logLines].some((one) => one !== undefined);
  let lastTick = now();
  while (performer.end === undefined) {
    const nextTick = lastTick + tickMs(state.session, { isHeard });
    // What is said once this child has been told to go is left for the next one.
    const caller = state.session.ending === undefined ? options.caller : undefined;
    const until = Math.min(nextTick, performer.deadlines.next);
    const waited = await waitOnce(options, resources, { until, caller, now });
    const { ready, isPaused, hasUnread, isShellWaiting } = waited;
    if (waited.stoppedMs !== undefined) {
      give({ at: now(), type: "suspended", ms: waited.stoppedMs });
    }
    const resized = resources.takeResized();
    if (resized !== undefined) give({ at: now(), type: "resized", size: resized.size() });
    const signalled = signals.take();
    for (const outlet of waited.owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
    rendezvous?.proceed(ready);
    for (const bridge of bridges) {
      for (const message of bridge.take(ready)) {
        const problems = findOutputProblems(options, bridge, message);
        give({ at: now(), type: "mcp-message", server: bridge.server, message, ...problems });
      }
    }
    tell(helper?.takeAnswers().map((one) => ({ type: "consulted", ...one })));
    readStream();
    const said = caller?.take(ready);
    const terms = options.takeTerms?.();
    if (terms !== undefined) give({ at: now(), type: "terms", terms });
    tell(said);
    terminal.proceed(ready, onBytes);
    if (ready.some(({ fd }) => fd === child.hooks.fd)) tell(files.readHooks());
    const isTick = now() >= nextTick;
    const isDue = files.isDue(ready, { isTick, isPaused });
    // Whether a turn is under way decides what becomes of it.
    const isWritten = isDue || signalled.length > 0;
    if (isTick) {
      tell(files.faults());
      shells?.findFolders(now());
    }
    // What a shell wrote comes before the line that says what came of it.
    if (isTick || isWritten || hasUnread || isShellWaiting || shells?.isNamedIn(ready)) {
      tell(shells?.read({ at: now(), child: child.pid, paused: isPaused }));
    }
    if (isWritten) tell(files.read());
    else if (files.hasMore && !isPaused) tell(files.readTranscript());
    tellSignals(signalled);
    if (isTick) {
      readLog();
      if (rendezvous?.tryConnect()) give({ at: now(), type: "reachable" });
      if (child.hooks.repairFifo()) tell(files.readHooks());
      if (child.hooks.hasLostCalls) give({ at: now(), type: "unheard" });
      lastTick = now();
    }
    if (retries !== undefined && lastTick >= waited.polledAt) {
      const retry = await retries.findRetry({ at: now(), look: () => terminal.render() });
      if (retry !== undefined) give({ at: now(), type: "retry", retry });
    }
    if (performer.takeScreenRequest()) {
      const screen = await terminal.render();
      give({ at: now(), type: "screen", screen });
    }
    if (performer.takeShellsRequest()) {
      const running = listShells(sandbox.tempDir, options.sessionId);
      give({ at: now(), type: "shells", ...running });
    }
    for (const { id, body } of performer.takeOutputRequests()) {
      const asked = { sessionId: options.sessionId, task: asText(body["task_id"]) };
      const response = readTaskOutput(sandbox.tempDir, asked);
      give({ at: now(), type: "consulted", id, said: { response } });
    }
    for (const name of performer.deadlines.take(now)) give({ at: now(), type: "deadline", name });
    if (!child.exited && ready.some(({ fd }) => fd === child.pidfd)) {
      const status = child.reap();
      if (status === undefined) continue;
      const exit = describeExit(status);
      await readRest(options, resources, hearing);
      if (await waitForSharedSignal(exit)) tellSignals(signals.take());
      const exitedAt = now();
      const endedByItself = state.endingAt === undefined;
      const remains = await readRemains(options, state.frames.version);
      give({ at: exitedAt, type: "exit", exit, remains });
      // A child that ended by itself had no time to end its tools.
      performer.killTools({ inAnyCase: endedByItself });
    }
  }
  if (!child.exited) performer.killTools();
  helper?.writeNotes();
  const { ending } = performer.end;
  if (ending.kind === "renewed" && ending.changes.context !== undefined) {
    const { appendContext } = await import("./effects/helper_transcript.ts");
    const { sessionId, conversation: { frames: { cwd } } } = options;
    const { version } = state.frames;
    appendContext(ending.changes.context, { ...sandbox, sessionId, cwd, version });
  }
  return { end: performer.end, state, lastScreen: () => terminal.render() };
}

/** Whether nothing has to be done for the child to have what is said: it has a prompt on its fd 0 when it starts. */
function reachesChildAtStart(said: RunSessionOptions["begin"][number]): boolean {
  return said.type === "closed" || (said.type === "message" && said.message.way === "stdin");
}

/** What is wrong with a structured answer, if a message is one. */
function findOutputProblems(
  { output }: RunSessionOptions,
  { server }: McpBridge,
  { method, params }: JsonObject,
) {
  const isAnswer = server === OUTPUT_SERVER && method === "tools/call" && isJsonObject(params);
  return isAnswer && output !== undefined
    ? { problems: output.problemsOf(params["arguments"] ?? {}) }
    : {};
}

/** Signals that whoever ends a job may send to all its processes, and how much later than the child this one may get it. */
const STOPPING: readonly number[] = Object.values(STOP_SIGNALS);
const SIGNALLED_MS = 200;

/** Takes what is heard. */
interface Receivers {
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
  readonly tell: (news: Iterable<Untimed<Input>> | undefined) => void;
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** Tells what the API has streamed. */
  readonly readStream: () => void;
}

/** Hears everything that a child which is gone has said before its end. */
async function readRest(
  options: RunSessionOptions,
  resources: Resources,
  { now, tell, onBytes, readStream }: Receivers,
): Promise<void> {
  const { child, outlets = [] } = options;
  const { terminal, files, shells } = resources;
  terminal.readRest(onBytes);
  tell(files.readHooks());
  const look = { at: now(), child: child.pid };
  tell(shells?.readAll(look));
  readStream();
  // Whoever takes the frames slowly is waited for, but not who takes none.
  let isTaken = true;
  for (tell(files.read()); files.hasMore; tell(files.readTranscript())) {
    if (isTaken) isTaken = await waitForReaders(outlets, resources);
  }
  tell(shells?.readAll(look));
  tell(logInputs(options));
}

/** What the child's debug log tells, where that is to be told. */
export function logInputs({ logLines: toldLines }: RunSessionOptions): readonly Untimed<Input>[] {
  return toldLines?.().map((line) => ({ type: "log", line })) ?? [];
}

/** How a child has ended. */
function describeExit(waited: NonNullable<ReturnType<typeof waitFor>>): Exit {
  return waited.kind === "exited" ? waited : { ...waited, name: signalName(waited.signal) };
}

/** Whether the signal that has ended a child may have been sent to this program too, which by then has heard it. */
async function waitForSharedSignal(exit: Exit): Promise<boolean> {
  if (exit.kind !== "signaled" || !STOPPING.includes(exit.signal)) return false;
  await new Promise((heard) => setTimeout(heard, SIGNALLED_MS));
  return true;
}

/** What a child has left; its executable is asked for its version only where no transcript names it. */
async function readRemains(
  { sandbox, sessionId, binary, env, cwd }: RunSessionOptions,
  told: string | undefined,
): Promise<ChildRemains> {
  const cost = costOfClaudeJson(
    readJsonObject(`${sandbox.configDir}/.claude.json`),
    sessionId,
  );
  const version = told === undefined
    ? await claudeVersion(binary, env, { cwd }).catch(() => undefined)
    : undefined;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(version === undefined ? {} : { version }),
  };
}

/** How often a shell is looked at that is about to wait for it, in milliseconds. */
const WAITING_SHELL_MS = 2;
/** A poll that returns this much too late was not late by itself: this program was stopped meanwhile. */
const STOPPED_MS = 2000;
/** Most bytes owed to whoever reads the output while more of what shells write is taken up. */
const MOST_PENDING = 1024 * 1024;
/** How long nobody may take frames before a run that has ended goes on without waiting for it, in milliseconds. */
const READER_LIMIT_MS = 1000;

/** What a wait has found. */
interface Poll {
  /** When it began, in milliseconds on the clock of inputs. */
  readonly polledAt: number;
  readonly ready: readonly Ready[];
  /** The outlets that owed something. */
  readonly owing: readonly Outlet[];
  /** Whether so much is owed that what shells write stays where it is. */
  readonly isPaused: boolean;
  /** Whether something was left to read, or is about to wait for being looked at. */
  readonly hasUnread: boolean;
  readonly isShellWaiting: boolean;
  /** For how long this program was stopped, if it was. */
  readonly stoppedMs?: number;
}

/** Until when is waited at most, on the clock of inputs, and for whom. */
interface WaitOptions {
  readonly until: number;
  readonly caller: Caller | undefined;
  readonly now: () => number;
}

/** Waits until there is something to hear or to write, or until it is time for something else. */
async function waitOnce(
  { child, outlets = [], signals }: RunSessionOptions,
  { poller, terminal, files, rendezvous, bridges, shells }: Resources,
  { until, caller, now }: WaitOptions,
): Promise<Poll> {
  const polledAt = now();
  const owing = outlets.filter(({ pending }) => pending > 0);
  const isPaused = owing.some(({ pending }) => pending > MOST_PENDING);
  const hasUnread = (files.hasMore || shells?.hasMore === true) && !isPaused;
  const isShellWaiting = shells?.isShellWaiting === true && !isPaused;
  const waitMs = Math.max(0, Math.ceil(until - polledAt));
  const ready = await poller.wait(
    [
      { fd: child.hooks.fd, read: true },
      ...(child.exited ? [] : [{ fd: child.pidfd, read: true }]),
      ...terminal.interests,
      ...files.interests,
      ...rendezvous?.interests ?? [],
      ...bridges.flatMap(({ interests }) => interests),
      ...caller?.interests ?? [],
      ...isPaused ? [] : shells?.interests ?? [],
      ...owing.map(({ fd }) => ({ fd, write: true })),
    ],
    hasUnread ? 0 : isShellWaiting ? Math.min(waitMs, WAITING_SHELL_MS) : waitMs,
  );
  if (signals.paused !== undefined) await signals.paused;
  const lateMs = now() - Math.max(until, polledAt);
  return {
    polledAt,
    ready,
    owing,
    isPaused,
    hasUnread,
    isShellWaiting,
    ...(lateMs > STOPPED_MS ? { stoppedMs: lateMs } : {}),
  };
}

/** Waits until those take what they are owed that are owed much: true unless nobody takes anything. */
async function waitForReaders(
  outlets: readonly Outlet[],
  { poller }: Pick<Resources, "poller">,
): Promise<boolean> {
  const owing = outlets.filter(({ pending }) => pending > MOST_PENDING);
  if (owing.length === 0) return true;
  const ready = await poller.wait(owing.map(({ fd }) => ({ fd, write: true })), READER_LIMIT_MS);
  for (const outlet of owing) outlet.flush();
  return ready.length > 0;
}
