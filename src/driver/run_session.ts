import { Poller } from "../../ffi/poll.ts";
import { drainFd } from "../../ffi/drain_fd.ts";
import { closeFd } from "../../ffi/fd.ts";
import { listenToSignals } from "../../ffi/listen_to_signals.ts";
import type { Outlet } from "../../ffi/outlet.ts";
import { killGroup, openPidfd, waitFor } from "../../ffi/process.ts";
import { openPty, type WindowSize } from "../../ffi/pty.ts";
import { spawn } from "../../ffi/spawn.ts";
import { WriteQueue } from "../../ffi/write_queue.ts";
import {
  findRunProcesses,
  killRunProcesses,
  type RunMarks,
  type RunProcesses,
} from "../sandbox/run_processes.ts";
import type { Effect, Ending } from "../session/effect.ts";
import type { DeadlineName } from "../session/deadline_names.ts";
import type { Exit, Input } from "../session/input.ts";
import { step } from "../session/machine.ts";
import type { Screen } from "../session/screen.ts";
import { type SessionOptions, startSession } from "../session/session_state.ts";
import type { ApiRetry } from "../wire/api_retry_frame.ts";
import { STOP_SIGNALS } from "../wire/stop_signal.ts";
import { Guard } from "./guard.ts";
import { HookSource } from "./hook_source.ts";
import { renderScreen } from "./render_screen.ts";
import { Rendezvous, type RendezvousOptions } from "./rendezvous.ts";
import { RetrySource } from "./retry_source.ts";
import { StatusSource } from "./status_source.ts";
import type { StopSignals } from "./stop_signals.ts";
import { terminalSize } from "./terminal_size.ts";
import { TerminalRing } from "./terminal_ring.ts";
import { readTranscriptSign } from "./transcript_sign.ts";
import { TranscriptSource } from "./transcript_source.ts";

/** The child to start and how to watch it. */
export interface RunSessionOptions {
  /** Path of the claude executable, its arguments, environment and working directory. */
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What the session machine is told. */
  readonly session: SessionOptions;
  /** The id under which Claude Code keeps the session. */
  readonly sessionId: string;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    readonly fifoPath: string;
    readonly payloadDir: string;
    readonly secret: string;
    readonly stdinPath: string | undefined;
    readonly resumed: ReadonlyMap<string, number>;
  };
  /** The child's rendezvous socket, if the session was told to send the prompt there. */
  readonly rendezvous?: RendezvousOptions | undefined;
  /** The signals that ask this run to stop. */
  readonly signals: StopSignals;
  /** What is written to meanwhile, without waiting: it is flushed whenever it takes what it owes. */
  readonly outlets?: readonly Outlet[];
  /** Ids of transcript lines that are not this run's. */
  readonly known: ReadonlySet<string>;
  /** The child's debug log, if retries of the API are to be seen. */
  readonly retryLog?: string | undefined;
  /** Called when a request to the API failed and will be made again. */
  readonly onRetry?: (retry: ApiRetry) => void;
  /** Called with every new line of the transcript, as soon as it is seen. */
  readonly onTranscriptLine: (line: string) => void;
  /** Called whenever the child's files have been looked at, with the path of the transcript once there is one. */
  readonly onFilesRead?: (transcript: string | undefined) => void;
  /** Called with every hook of ours. */
  readonly onHook: (event: string, payload: Readonly<Record<string, unknown>>) => void;
  /** Called once when the ending is known and the child is told to go. */
  readonly onEnding: () => void;
  /**
   * Called with every input before the machine takes it: written down, they are a recording of the session. The
   * bytes of a `terminal` input are good only until it returns.
   */
  readonly onInput?: (input: Input) => void;
  /** Called with every effect of the machine before it is carried out. */
  readonly onEffect?: (effect: Effect) => void;
  /** Called with a line worth reading under `--trace`. */
  readonly trace: (text: string) => void;
}

/** How a session went. */
export interface SessionRun {
  readonly ending: Ending;
  /** How the child ended; absent when it could not even be killed. */
  readonly exit?: Exit;
  /** Milliseconds from the spawn to the ending and to the child's end. */
  readonly endingAfterMs: number;
  readonly endedAfterMs: number;
  /** Path of the session's transcript inside the sandbox, once there is one. */
  readonly transcriptPath: () => string | undefined;
  /** What the child's terminal showed last. */
  readonly lastScreen: () => Promise<Screen>;
}

/** How often files the child writes are looked at, in milliseconds. */
const TICK_MS = 50;
/** The same while only the child's idle status is missing, which the user waits for. */
const SETTLING_TICK_MS = 5;
/** A poll that returns this much too late was not late by itself: this program was stopped meanwhile. */
const STOPPED_MS = 2000;
/** Signals that whoever ends a job may send to all its processes, and how much later than the child this one may get it. */
const MEANT_FOR_ALL: readonly number[] = Object.values(STOP_SIGNALS);
const SIGNALLED_MS = 200;
/** Most bytes typed ahead of a child that does not read them; one paste may be longer. */
const MOST_UNREAD = 1024 * 1024;
/** Most portions of a terminal's output that are still read once the child is gone: 16 MB and more. */
const MAX_LAST_PORTIONS = 512;

/**
 * Runs a child in a pseudo-terminal to its end: the one place that waits.
 *
 * Turns the world into inputs in the order in which it is heard, hands them to the session machine, and carries
 * out the machine's effects. When it returns, the child has been reaped and every fd is closed.
 *
 * @throws {LibcError} when the pseudo-terminal or the child cannot be had
 */
export async function runSession(options: RunSessionOptions): Promise<SessionRun> {
  const { sandbox, session, outlets = [] } = options;
  let size: WindowSize = session.size;
  using stack = new DisposableStack();
  const poller = stack.use(new Poller());
  const hooks = stack.use(new HookSource(sandbox));
  const pty = stack.use(openPty(size));
  const rendezvous = options.rendezvous && stack.use(new Rendezvous(options.rendezvous));
  const transcript = new TranscriptSource({ ...sandbox, sessionId: options.sessionId });
  const retries = options.retryLog === undefined
    ? undefined
    : new RetrySource({ logPath: options.retryLog });
  const ring = new TerminalRing();
  const typed = new WriteQueue();
  const buffer = new Uint8Array(64 * 1024);
  const deadlines = new Map<DeadlineName, number>();
  options.signals.onArrival = () => poller.wake();
  stack.defer(() => options.signals.onArrival = undefined);
  let resized = false;
  const onResize = () => {
    resized = true;
    poller.wake();
  };
  stack.use(listenToSignals(["SIGWINCH"], onResize));

  const guard = stack.use(new Guard(sandbox.configDir, { terminal: pty }));
  const startedAt = performance.now();
  const pid = spawn(options.binary, {
    args: options.args,
    env: options.env,
    cwd: options.cwd,
    pty,
    ...(sandbox.stdinPath === undefined ? {} : { stdin: sandbox.stdinPath }),
  });
  let exited = false;
  let ended: Extract<Effect, { type: "end" }> | undefined;
  const marks = (): RunMarks => ({
    configDir: sandbox.configDir,
    ...(exited ? {} : { child: pid }),
  });
  // Whatever goes wrong here, nothing of the run is left without somebody to watch it.
  stack.defer(() => {
    if (ended === undefined) killRunProcesses(marks());
  });
  guard.watch(pid);
  const pidfd = openPidfd(pid);
  stack.defer(() => closeFd(pidfd));
  const status = new StatusSource({ configDir: sandbox.configDir, pid });

  let state = startSession(session);
  /** What a stopped turn's tools left running, once it has to be ended too. */
  let tree: RunProcesses | undefined;
  let looking = false;
  /** When a hook last announced the end of a turn, in milliseconds since the epoch. */
  let turnEndedAt = 0;
  let terminalOpen = true;
  /** What kind of Claude Code the child says it is. */
  let entrypoint: string | undefined;
  let endingAt: number | undefined;
  const elapsed = () => performance.now() - startedAt;

  const give = (input: Input) => {
    options.onInput?.(input);
    const next = step(state, input);
    if (next.state.phase === "interrupting" && state.phase !== "interrupting") {
      // Once Escape has made the child end its tools, nothing tells any more what they have put into the background.
      tree = findRunProcesses(marks(), tree);
    }
    state = next.state;
    for (const effect of next.effects) {
      options.onEffect?.(effect);
      carryOut(effect);
    }
  };

  const carryOut = (effect: Effect): void => {
    switch (effect.type) {
      case "write":
        // A child that does not read what was typed for it long ago has no use for more; it may ask without end.
        if (typed.pending < MOST_UNREAD) typed.push(effect.bytes);
        if (terminalOpen) typed.flush(pty.fd);
        break;
      case "deliver":
        rendezvous?.send(effect.prompt);
        break;
      case "deadline":
        if (effect.afterMs === undefined) deadlines.delete(effect.name);
        else deadlines.set(effect.name, elapsed() + effect.afterMs);
        break;
      case "look":
        looking = true;
        break;
      case "resize":
        size = effect.size;
        if (terminalOpen) pty.resize(size);
        break;
      case "kill":
        if (endingAt === undefined) options.onEnding();
        endingAt ??= elapsed();
        if (effect.tree) tree = findRunProcesses(marks(), tree);
        if (!exited) killGroup(pid, effect.signal);
        // A stopped process takes no signal but SIGKILL until it goes on.
        if (!exited) killGroup(pid, "SIGCONT");
        if (effect.signal === "SIGKILL" && tree !== undefined) killRunProcesses(marks(), tree);
        break;
      case "trace":
        options.trace(effect.text);
        break;
      case "end":
        ended = effect;
        break;
      default:
        effect satisfies never;
    }
  };

  const readFiles = () => {
    const changed = status.read({ idleSince: turnEndedAt });
    if (changed !== undefined) give({ at: elapsed(), type: "status", ...changed });
    for (const line of transcript.read()) {
      const sign = readTranscriptSign(line);
      if (sign === undefined || options.known.has(sign.uuid)) continue;
      entrypoint ??= sign.entrypoint;
      // A hook or a tool has resumed the session with `claude -p`, of which the child knows nothing.
      if ((sign.entrypoint ?? entrypoint) !== entrypoint) continue;
      options.onTranscriptLine(line);
      give({ at: elapsed(), type: "transcript", entry: sign.entry });
    }
    options.onFilesRead?.(transcript.path);
  };
  const readHooks = () => {
    for (const { event, payload, ranAt } of hooks.read()) {
      options.onHook(event, payload);
      give({ at: elapsed(), type: "hook", event, payload });
      // The child is idle only after the hook that announced the end of its turn.
      if (state.phase === "settling") turnEndedAt = ranAt;
    }
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

  give({ at: elapsed(), type: "spawned" });
  let lastTick = elapsed();
  while (ended === undefined) {
    const nextTick = lastTick + (state.phase === "settling" ? SETTLING_TICK_MS : TICK_MS);
    const until = Math.min(nextTick, ...deadlines.values());
    const polledAt = elapsed();
    const owing = outlets.filter(({ pending }) => pending > 0);
    const ready = await poller.wait(
      [
        { fd: hooks.fd, read: true },
        ...(exited ? [] : [{ fd: pidfd, read: true }]),
        ...(terminalOpen ? [{ fd: pty.fd, read: true, write: typed.pending > 0 }] : []),
        ...rendezvous?.interests ?? [],
        ...owing.map(({ fd }) => ({ fd, write: true })),
      ],
      Math.max(0, Math.ceil(until - elapsed())),
    );
    // Whoever was stopped, or asleep with the machine, is not late.
    const lateMs = elapsed() - Math.max(until, polledAt);
    if (lateMs > STOPPED_MS) {
      for (const [name, due] of deadlines) {
        if (name !== "timeout") deadlines.set(name, due + lateMs);
      }
    }
    if (resized) {
      resized = false;
      give({ at: elapsed(), type: "resized", size: terminalSize() });
    }
    takeSignals();
    for (const outlet of owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
    rendezvous?.proceed(ready);
    if (ready.some(({ fd, writable }) => fd === pty.fd && writable)) typed.flush(pty.fd);
    if (ready.some(({ fd, readable, hangup }) => fd === pty.fd && (readable || hangup))) {
      readTerminal(1);
    }
    if (ready.some(({ fd }) => fd === hooks.fd)) readHooks();
    if (elapsed() >= nextTick) {
      readFiles();
      if (rendezvous?.open()) give({ at: elapsed(), type: "reachable" });
      if (hooks.unheard) give({ at: elapsed(), type: "unheard" });
      lastTick = elapsed();
    }
    if (retries !== undefined && lastTick >= polledAt) {
      const look = () => renderScreen(ring.chunks(), size);
      const retry = await retries.read({ at: elapsed(), look });
      if (retry !== undefined) options.onRetry?.(retry);
    }
    if (looking) {
      looking = false;
      const screen = await renderScreen(ring.chunks(), size);
      give({ at: elapsed(), type: "screen", screen });
    }
    for (const [name, due] of [...deadlines]) {
      if (due > elapsed() || deadlines.get(name) !== due) continue;
      deadlines.delete(name);
      give({ at: elapsed(), type: "deadline", name });
    }
    if (ready.some(({ fd }) => fd === pidfd)) {
      const exit = waitFor(pid);
      if (exit !== undefined) {
        exited = true;
        // Everything the child said before it ended is heard before its end.
        if (terminalOpen) readTerminal(MAX_LAST_PORTIONS);
        readHooks();
        readFiles();
        if (exit.kind === "signaled" && MEANT_FOR_ALL.includes(exit.signal)) {
          await new Promise((heard) => setTimeout(heard, SIGNALLED_MS));
          takeSignals();
        }
        give({ at: elapsed(), type: "exit", exit });
      }
    }
  }
  // A child that ended by itself had no time to end its tools.
  if (ended.ending.kind === "exited" || tree !== undefined) killRunProcesses(marks(), tree);
  const endedAfterMs = elapsed();
  return {
    ending: ended.ending,
    ...(ended.exit === undefined ? {} : { exit: ended.exit }),
    endingAfterMs: endingAt ?? endedAfterMs,
    endedAfterMs,
    transcriptPath: () => transcript.path,
    lastScreen: () => renderScreen(ring.chunks(), size),
  };
}
