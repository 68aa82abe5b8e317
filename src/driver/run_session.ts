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
import { readCostOfClaudeJson } from "../claude/transcript/cost.ts";
import { STOP_SIGNALS } from "../claude/wire/stop_signal.ts";
import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import type { Ready } from "../../ffi/descriptors/poll.ts";
import type { Caller } from "./inputs/callers.ts";

/** How a session ended. */
export interface SessionRun {
  /** The last effect. */
  readonly end: EndEffect;
  readonly state: ConversationState;
  /** Renders the last screen of the child's terminal. */
  readonly lastScreen: () => Promise<Screen>;
}

/**
 * Follows a child until it has ended and has been reaped. This loop is the only place of the program that waits.
 *
 * It turns events into inputs in the order in which they arrive, passes each to the conversation, and performs the
 * effects that the conversation returns.
 */
export async function runSession(options: RunSessionOptions): Promise<SessionRun> {
  await using stack = new AsyncDisposableStack();
  const loop = await SessionLoop.open(stack, options);
  return await loop.run();
}

class SessionLoop {
  readonly #options: RunSessionOptions;
  readonly #outlets: readonly Outlet[];
  readonly #clock: Clock;
  readonly #resources: Resources;
  readonly #performer: Performer;
  readonly #conversation: { state: ConversationState };
  /** When the loop last examined the sources that report no changes, in milliseconds on the clock of inputs. */
  #lastTick = 0;

  private constructor(
    options: RunSessionOptions,
    { clock, resources, conversation }: {
      readonly clock: Clock;
      readonly resources: Resources;
      readonly conversation: { state: ConversationState };
    },
  ) {
    const { child, sandbox, outlets = [] } = options;
    this.#options = options;
    this.#outlets = outlets;
    this.#clock = clock;
    this.#resources = resources;
    this.#conversation = conversation;
    this.#performer = new Performer({ ...resources, child, sandbox, now: clock });
  }

  static async open(
    stack: AsyncDisposableStack,
    options: RunSessionOptions,
  ): Promise<SessionLoop> {
    const { child, sessionId } = options;
    const conversation = { state: startConversation(options.conversation) };
    // A recording keeps microseconds.
    const clock = () => Math.round((performance.now() - child.startedAt) * 1000) / 1000;
    const resources = await openResources(stack, options, {
      now: clock,
      model: () => conversation.state.frames.model,
      costNote: () => costNote(conversation.state.frames, { sessionId, now: Date.now() }),
    });
    return new SessionLoop(options, { clock, resources, conversation });
  }

  async run(): Promise<SessionRun> {
    const { child } = this.#options;
    const { terminal, helper } = this.#resources;
    this.#begin();
    const isWatched = this.#needsShortTicks();
    this.#lastTick = this.#clock();
    while (this.#performer.end === undefined) {
      await this.#step(this.#lastTick + tickMs(this.#conversation.state.session, { isWatched }));
    }
    const { end } = this.#performer;
    if (!child.exited) this.#performer.killTools();
    helper?.writeNotes();
    await this.#appendContext(end);
    return { end, state: this.#conversation.state, lastScreen: () => terminal.render() };
  }

  /** Passes on the inputs that come before the first poll, and listens to the relay. */
  #begin(): void {
    const { earlier, begin } = this.#options;
    const { stream, poller } = this.#resources;
    if (earlier.length > 0) this.#advance({ at: 0, type: "earlier", entries: earlier });
    for (const input of begin) this.#advance({ at: 0, ...input });
    this.#give({ type: "spawned" });
    if (stream === undefined) return;
    // The relay runs on this thread. Its parts become inputs immediately, without waiting for the poll to return.
    stream.onArrival = () => {
      this.#readStream();
      if (this.#outlets.some(({ pending }) => pending > 0)) poller.wake();
    };
  }

  /**
   * True if the run may wait for an event that only a tick finds: frames, a prompt that waits until the child or its
   * MCP servers are ready, or retries that a terminal shows.
   */
  #needsShortTicks(): boolean {
    const { answerAlone, frames, begin, logLines } = this.#options;
    const { servers, retries } = this.#resources;
    return answerAlone !== true || frames || !begin.every(reachesChildAtStart) ||
      [servers, retries, logLines].some((source) => source !== undefined);
  }

  /** Waits once, and turns all arrived events into inputs. */
  async #step(nextTick: number): Promise<void> {
    const { child, signals } = this.#options;
    const { files } = this.#resources;
    // After this child was asked to exit, the caller's lines are for the next child.
    const caller = this.#conversation.state.session.ending === undefined
      ? this.#options.caller
      : undefined;
    const until = Math.min(nextTick, this.#performer.deadlines.next);
    const poll = await waitOnce(this.#options, this.#resources, {
      until,
      caller,
      now: this.#clock,
    });
    if (poll.stoppedMs !== undefined) this.#give({ type: "suspended", ms: poll.stoppedMs });
    const resized = this.#resources.takeResized();
    if (resized !== undefined) this.#give({ type: "resized", size: resized.size() });
    const signalled = signals.take();
    this.#readDescriptors(poll, caller);
    const isTick = this.#clock() >= nextTick;
    const isDue = files.isDue(poll.ready, { isTick, isPaused: poll.isPaused });
    // The effect of a signal depends on whether a turn runs, which only the files show.
    this.#readFiles(poll, { isTick, readsAll: isDue || signalled.length > 0 });
    this.#giveSignals(signalled);
    if (isTick) this.#tick();
    await this.#answerRequests(poll);
    if (!child.exited && poll.ready.some(({ fd }) => fd === child.pidfd)) await this.#reapChild();
  }

  /** Reads and writes the descriptors that the poll found ready. */
  #readDescriptors({ ready, owing }: Poll, caller: Caller | undefined): void {
    const { child } = this.#options;
    const { terminal, files, rendezvous, bridges, helper } = this.#resources;
    for (const outlet of owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
    rendezvous?.proceed(ready);
    for (const bridge of bridges) {
      for (const message of bridge.take(ready)) {
        const problems = findOutputProblems(this.#options, bridge, message);
        this.#give({ type: "mcp-message", server: bridge.server, message, ...problems });
      }
    }
    this.#giveAll(helper?.takeAnswers().map((answer) => ({ type: "consulted", ...answer })));
    this.#readStream();
    const lines = caller?.take(ready);
    const terms = this.#options.takeTerms?.();
    if (terms !== undefined) this.#give({ type: "terms", terms });
    this.#giveAll(lines);
    terminal.proceed(ready, this.#receiveTerminal);
    if (ready.some(({ fd }) => fd === child.hooks.fd)) this.#giveAll(files.readHooks());
  }

  /**
   * Reads the files of shells, and then the transcripts, because the line with a call's result comes after the shell's
   * output.
   */
  #readFiles(
    { ready, isPaused, hasUnread, isShellWaiting }: Poll,
    { isTick, readsAll }: { readonly isTick: boolean; readonly readsAll: boolean },
  ): void {
    const { files, shells } = this.#resources;
    if (isTick) {
      this.#giveAll(files.faults());
      shells?.findFolders(this.#clock());
    }
    if (isTick || readsAll || hasUnread || isShellWaiting || shells?.isNamedIn(ready)) {
      const look = { at: this.#clock(), child: this.#options.child.pid, paused: isPaused };
      this.#giveAll(shells?.read(look));
    }
    if (readsAll) this.#giveAll(files.read());
    else if (files.hasMore && !isPaused) this.#giveAll(files.readTranscript());
  }

  /** Examines the sources that report no changes: the debug log, the rendezvous socket, the FIFO of the hooks. */
  #tick(): void {
    const { hooks } = this.#options.child;
    const { servers, rendezvous, files } = this.#resources;
    // Connections count only while the first request waits for them.
    const connections = this.#conversation.state.session.waitingStartHook === undefined
      ? undefined
      : servers?.read();
    if (connections !== undefined) this.#give({ type: "mcp", ...connections });
    this.#giveAll(logInputs(this.#options));
    if (rendezvous?.tryConnect()) this.#give({ type: "reachable" });
    if (hooks.repairFifo()) this.#giveAll(files.readHooks());
    if (hooks.hasLostCalls) this.#give({ type: "unheard" });
    this.#lastTick = this.#clock();
  }

  /** Answers the conversation's requests: screens, shells, outputs of tasks, deadlines. */
  async #answerRequests({ polledAt }: Poll): Promise<void> {
    const { sandbox: { tempDir }, sessionId } = this.#options;
    const { terminal, retries } = this.#resources;
    const performer = this.#performer;
    if (retries !== undefined && this.#lastTick >= polledAt) {
      const retry = await retries.findRetry({
        at: this.#clock(),
        look: () => terminal.render(),
      });
      if (retry !== undefined) this.#give({ type: "retry", retry });
    }
    if (performer.takeScreenRequest()) {
      this.#give({ type: "screen", screen: await terminal.render() });
    }
    if (performer.takeShellsRequest()) {
      this.#give({ type: "shells", ...listShells(tempDir, sessionId) });
    }
    for (const { id, body } of performer.takeOutputRequests()) {
      const response = readTaskOutput(tempDir, { sessionId, task: asText(body["task_id"]) });
      this.#give({ type: "consulted", id, said: { response } });
    }
    for (const name of performer.deadlines.take(this.#clock)) {
      this.#give({ type: "deadline", name });
    }
  }

  /** Reaps the child, reads its remaining output, and ends its tools. */
  async #reapChild(): Promise<void> {
    const { child, signals } = this.#options;
    const status = child.reap();
    if (status === undefined) return;
    const exit = describeExit(status);
    await this.#readRest();
    if (await waitForSharedSignal(exit)) this.#giveSignals(signals.take());
    const exitedAt = this.#clock();
    const endedByItself = this.#conversation.state.session.kills === 0;
    const remains = await readRemains(this.#options, this.#conversation.state.frames.version);
    this.#advance({ at: exitedAt, type: "exit", exit, remains });
    // A child that ended without a request had no time to end its tools.
    this.#performer.killTools({ inAnyCase: endedByItself });
  }

  /** Reads everything that an ended child has written before its end. */
  async #readRest(): Promise<void> {
    const { child } = this.#options;
    const { terminal, files, shells } = this.#resources;
    terminal.readRest(this.#receiveTerminal);
    this.#giveAll(files.readHooks());
    const look = { at: this.#clock(), child: child.pid };
    this.#giveAll(shells?.readAll(look));
    this.#readStream();
    // Waits for a slow reader of the frames, but not for a reader that reads nothing.
    let isTaken = true;
    for (this.#giveAll(files.read()); files.hasMore; this.#giveAll(files.readTranscript())) {
      if (isTaken) isTaken = await waitForReaders(this.#outlets, this.#resources);
    }
    this.#giveAll(shells?.readAll(look));
    this.#giveAll(logInputs(this.#options));
  }

  /** Writes texts into the transcript that the next child reads together with the next message. */
  async #appendContext({ ending }: EndEffect): Promise<void> {
    if (ending.kind !== "renewed" || ending.changes.context === undefined) return;
    const { appendContext } = await import("./effects/helper_transcript.ts");
    const { sandbox, sessionId, conversation: { frames: { cwd } } } = this.#options;
    const { version } = this.#conversation.state.frames;
    appendContext(ending.changes.context, { ...sandbox, sessionId, cwd, version });
  }

  readonly #receiveTerminal = (bytes: Uint8Array<ArrayBuffer>) => {
    this.#give({ type: "terminal", bytes });
  };

  #readStream(): void {
    this.#giveAll(this.#resources.stream?.take().map((part) => ({ type: "stream", ...part })));
  }

  #giveSignals(signals: ReturnType<RunSessionOptions["signals"]["take"]>): void {
    this.#giveAll(signals.map((signal) => ({ type: "signal", signal })));
  }

  #giveAll(inputs: Iterable<Untimed<Input>> = []): void {
    for (const input of inputs) this.#give(input);
  }

  #give(input: Untimed<Input>): void {
    this.#advance({ at: this.#clock(), ...input });
  }

  /** Passes an input to the conversation, and performs the effects that it returns. */
  #advance(input: Input): void {
    this.#options.onInput?.(input);
    const { state, effects } = advance(this.#conversation.state, input);
    this.#conversation.state = state;
    for (const effect of effects) {
      // Successive frames are written together, and before any other effect.
      if (effect.type !== "frame") this.#flush();
      else for (const outlet of this.#outlets) outlet.gather();
      this.#options.onEffect?.(effect);
      this.#performer.perform(effect);
    }
    if (effects.length > 0) this.#flush();
  }

  #flush(): void {
    for (const outlet of this.#outlets) outlet.flush();
  }
}

/** The time since the child's start, in milliseconds: the clock of inputs. */
type Clock = () => number;

/** True for an input that the child already has when it starts: a prompt on its fd 0, or the end of input. */
function reachesChildAtStart(input: RunSessionOptions["begin"][number]): boolean {
  return input.type === "closed" || (input.type === "message" && input.message.way === "stdin");
}

/** Checks a structured answer against the caller's schema; returns nothing for other messages. */
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

/** The new lines of the child's debug log, if the caller wants them. */
function logInputs({ logLines }: RunSessionOptions): readonly Untimed<Input>[] {
  return logLines?.().map((line) => ({ type: "log", line })) ?? [];
}

function describeExit(status: NonNullable<ReturnType<typeof waitFor>>): Exit {
  return status.kind === "exited" ? status : { ...status, name: signalName(status.signal) };
}

/** Signals that a job control or a supervisor may send to all processes of a job together. */
const STOPPING: readonly number[] = Object.values(STOP_SIGNALS);
/** The maximum delay between such a signal at the child and at this program, in milliseconds. */
const SIGNALLED_MS = 200;

/** Waits until this program has received the signal that ended the child, if it may have been sent to both. */
async function waitForSharedSignal(exit: Exit): Promise<boolean> {
  if (exit.kind !== "signaled" || !STOPPING.includes(exit.signal)) return false;
  await new Promise((resolve) => setTimeout(resolve, SIGNALLED_MS));
  return true;
}

/**
 * Reads the cost and version that an ended child has left.
 *
 * @param knownVersion the version that the transcript names; without it, the executable is asked
 */
async function readRemains(
  { sandbox, sessionId, binary, env, cwd }: RunSessionOptions,
  knownVersion: string | undefined,
): Promise<ChildRemains> {
  const cost = readCostOfClaudeJson(
    readJsonObject(`${sandbox.configDir}/.claude.json`),
    sessionId,
  );
  const version = knownVersion === undefined
    ? await claudeVersion(binary, env, { cwd }).catch(() => undefined)
    : undefined;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(version === undefined ? {} : { version }),
  };
}

/** The maximum time between two looks at a shell that waits for this program before it starts, in milliseconds. */
const WAITING_SHELL_MS = 2;
/** A poll that returns this many milliseconds late shows that this program was suspended in the meantime. */
const STOPPED_MS = 2000;
/** The number of pending bytes of output above which no more output of shells is read. */
const MOST_PENDING = 1024 * 1024;
/** How long a run that has ended waits for a reader that takes no frames, in milliseconds. */
const READER_LIMIT_MS = 1000;

/** The result of one wait. */
interface Poll {
  /** When the wait began, in milliseconds on the clock of inputs. */
  readonly polledAt: number;
  readonly ready: readonly Ready[];
  /** The outlets with pending output before the wait. */
  readonly owing: readonly Outlet[];
  /** Whether so much output is pending that the files of shells are not read. */
  readonly isPaused: boolean;
  /** Whether an earlier read has left input unread. */
  readonly hasUnread: boolean;
  readonly isShellWaiting: boolean;
  /** How long this program was suspended, in milliseconds. */
  readonly stoppedMs?: number;
}

/** The end of the wait, on the clock of inputs, and the caller to listen to. */
interface WaitOptions {
  readonly until: number;
  readonly caller: Caller | undefined;
  readonly now: () => number;
}

/** Waits until a descriptor can be read or written, or until a time. */
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

/** Waits until an outlet with much pending output can be written; false if `READER_LIMIT_MS` expires first. */
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
