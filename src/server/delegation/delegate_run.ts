import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { connectUnix, peerOf } from "../../../ffi/descriptors/unix_socket.ts";
import { whyForeign } from "../../sandbox/places/why_foreign.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { kill } from "../../../ffi/processes/process.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { readProcessStat } from "../../sandbox/processes/process_stat.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject } from "../../json_object.ts";
import { LineChannel, programIdentity, type ServerMessage } from "./delegation_channel.ts";
import { surviveMistakes } from "../uncaught_errors.ts";

/** A server of this user's, to which there is a connection. */
interface ServerConnection {
  readonly fd: number;
  /** Ends it, where nothing is handed over. */
  readonly close: () => void;
  /** Its process. */
  readonly pid: number;
}

/**
 * Connects to the server of this user that has a socket in a private folder of theirs.
 *
 * @returns why there is none to be used, if there is not
 */
export function connectToServer(
  { folder, runSocket }: { readonly folder: string; readonly runSocket: string },
): ServerConnection | string {
  try {
    const foreign = whyForeign(folder);
    if (foreign !== undefined) return `${folder} cannot be trusted: ${foreign}`;
    const fd = connectUnix(runSocket);
    const { pid, uid } = peerOf(fd);
    if (uid === Deno.uid()) return { fd, pid, close: () => closeFd(fd) };
    closeFd(fd);
    return `the server at ${runSocket} is another user's`;
  } catch (error) {
    const isNone = error instanceof LibcError || error instanceof LibcUnavailableError ||
      error instanceof RangeError || error instanceof Deno.errors.NotFound;
    if (!isNone) throw error;
    return error.message;
  }
}

/** A run as a server needs it. */
interface RunToHandOver {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  /** The prompt; absent for a conversation, whose words are on stdin. */
  readonly prompt?: string;
  /** Until when its end is waited for, as `performance.now()` tells time; absent where nothing limits it. */
  readonly longestMs?: number;
}

/** What became of it. */
export type HandedOver =
  /** The server has done nothing for it that anybody could see, and does nothing any more. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "exited"; readonly code: number }
  /** The server has begun it, and cannot go on with it. */
  | {
    readonly kind: "lost";
    readonly why: string;
    /** The exit code of what it was told by a signal meanwhile. */
    readonly code?: number;
  };

/** How long a server is waited for that says nothing, in milliseconds: to take a run, and to be ready for it. */
const TAKEN_MS = 2000;
const READY_MS = 10_000;
/** How often it is looked meanwhile whether it still runs. */
const LOOKS_MS = 100;
/** How long a server that was told of a signal may take to end a run. */
const ENDED_MS = 30_000;

/** A wait that ends so much too late, in milliseconds, was that of a program that was stopped. */
const STOPPED_MS = 2000;

/** Exit codes of a program that SIGQUIT ends, and of a run that took too long, and above which those of signals are. */
const QUIT = 131;
const TIMED_OUT = 124;
const SIGNALLED = 128;

/**
 * Has a server carry out a run with the stdin, stdout and stderr of this program.
 *
 * Until the server has been told to go nothing of the run is seen by anybody, and it can still be carried out here; from
 * then on it is never.
 *
 * @param options.signals those of this program, of which the server is told
 * @throws what is a mistake of this program; the server ends the run then
 */
export async function handOver(
  run: RunToHandOver,
  { server, signals }: { readonly server: ServerConnection; readonly signals: StopSignals },
): Promise<HandedOver> {
  using stack = new DisposableStack();
  const channel = stack.use(new LineChannel(server.fd));
  const poller = stack.use(new Poller());
  signals.onArrival = () => {
    isSignalled = true;
    poller.wake();
  };
  stack.defer(() => signals.onArrival = undefined);
  let mistake: { readonly thrown: unknown } | undefined;
  stack.use(surviveMistakes((thrown) => {
    mistake ??= { thrown };
    poller.wake();
  }));
  let isQuit = false;
  stack.use(listenToSignals(["SIGQUIT", "SIGWINCH", "SIGTSTP"], (signal) => {
    switch (signal) {
      case "SIGQUIT":
        isQuit = true;
        return poller.wake();
      case "SIGWINCH":
        return channel.say({ type: "resized" });
      case "SIGTSTP":
        channel.say({ type: "stopped" });
        kill(Deno.pid, "SIGSTOP");
        return channel.say({ type: "continued" });
    }
  }));
  const { longestMs: limit = Infinity, ...rest } = run;
  let longestMs = limit;
  channel.say({ type: "hello", program: programIdentity() });
  channel.say({ type: "run", ...rest, age: performance.now() });

  const begunAt = performance.now();
  let stage: "sent" | "taken" | "begun" = "sent";
  let isSignalled = false;
  let isQuitTold = false;
  /** What it has been told by signals, and when it was first. */
  let told: { readonly code: number; readonly at: number } | undefined;
  const isUnderWay = () => stage === "begun";
  for (;;) {
    const lookAt = performance.now() + nextLook();
    const ready = await poller.wait(channel.interests, nextLook());
    // Whoever was stopped, as by Ctrl-Z, has not waited meanwhile.
    const lateMs = performance.now() - lookAt;
    if (lateMs > STOPPED_MS && longestMs !== Infinity) longestMs += lateMs;
    // What nobody has caught would end the program in the words of the runtime.
    if (mistake !== undefined) throw mistake.thrown;
    for (const said of channel.hear(ready)) {
      const message = messageOf(said);
      switch (message?.type) {
        case "taken":
          if (stage !== "sent") break;
          stage = "taken";
          // Not before: what a server does not read keeps its readers waiting as long as that lives.
          channel.say({ type: "streams" }, { fds: [0, 1, 2] });
          break;
        case "ready":
          channel.say({ type: "go" });
          stage = "begun";
          break;
        case "exit":
          return isUnderWay()
            ? { kind: "exited", code: isQuit ? QUIT : message.code }
            : refused("the server has not begun");
        case "refused":
          return isUnderWay() ? { kind: "lost", why: message.reason } : refused(message.reason);
        case undefined:
          return isUnderWay()
            ? { kind: "lost", why: "the server says what this program does not understand" }
            : refused("the server says what this program does not understand");
      }
    }
    if (!isUnderWay()) {
      if (isQuit) return { kind: "exited", code: QUIT };
      // Nothing has been done yet: what a signal does is the same without a server.
      if (isSignalled) return refused("a signal came before the server had begun");
      if (channel.isOver) return refused("the server is gone");
      const stat = readProcessStat(server.pid);
      if (stat?.stopped) return refused("the server is stopped");
      const patience = stage === "taken" ? READY_MS : TAKEN_MS;
      if (performance.now() - begunAt > patience) return refused("the server does not answer");
      continue;
    }
    if (channel.isOver) return { kind: "lost", why: "the server is gone" };
    for (const signal of signals.take()) {
      channel.say({ type: "signal", signal });
      told ??= { code: SIGNALLED + SIGNALS[signal], at: performance.now() };
    }
    if (isQuit && !isQuitTold) {
      isQuitTold = true;
      channel.say({ type: "signal", signal: "SIGQUIT" });
      told = { code: QUIT, at: performance.now() };
    }
    const isLate = told !== undefined && performance.now() - told.at > ENDED_MS;
    if (told !== undefined && (isLate || readProcessStat(server.pid)?.stopped)) {
      return { kind: "lost", why: "the server does not answer", code: told.code };
    }
    if (performance.now() > longestMs) {
      return { kind: "lost", why: "the server does not answer", code: TIMED_OUT };
    }
  }

  /** How long nothing is looked at, in milliseconds, if nothing is heard. */
  function nextLook(): number {
    if (!isUnderWay()) return LOOKS_MS;
    if (told !== undefined) return LOOKS_MS;
    return longestMs === Infinity ? -1 : Math.max(0, longestMs + 1 - performance.now());
  }
}

function refused(reason: string): HandedOver {
  return { kind: "refused", reason };
}

/** What a server of the same version says; undefined for anything else. */
function messageOf(said: unknown): ServerMessage | undefined {
  if (!isJsonObject(said)) return undefined;
  const { type, reason, code } = said;
  switch (type) {
    case "taken":
    case "ready":
      return { type };
    case "refused":
      return { type, reason: `${reason}` };
    case "exit":
      return Number.isInteger(code) ? { type, code: Number(code) } : undefined;
    default:
      return undefined;
  }
}
