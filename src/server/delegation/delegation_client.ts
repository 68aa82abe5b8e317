import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { connectUnix, peerOf } from "../../../ffi/descriptors/unix_socket.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { kill } from "../../../ffi/processes/process.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { isJsonObject } from "../../json_object.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { whyForeign } from "../../sandbox/folder/run_places.ts";
import { readProcessStat } from "../../sandbox/run_processes.ts";
import type { ServerPlaces } from "../server_places.ts";
import { catchUncaughtErrors } from "../uncaught_errors.ts";
import { LineChannel, programIdentity, type ServerMessage } from "./delegation_channel.ts";
import { EXIT } from "../../cli_error.ts";

/** A connection to this user's server. */
interface ServerConnection {
  readonly fd: number;
  /** Closes a connection on which no run was delegated. */
  readonly close: () => void;
  /** The server's process. */
  readonly pid: number;
}

/**
 * Connects to the server of this user.
 *
 * @returns the reason when no server can be used
 */
export function connectToServer(
  { folder, runSocket }: Pick<ServerPlaces, "folder" | "runSocket">,
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
    const isUnavailable = error instanceof LibcError || error instanceof LibcUnavailableError ||
      error instanceof RangeError || error instanceof Deno.errors.NotFound;
    if (!isUnavailable) throw error;
    return error.message;
  }
}

/** The description of a run for a server. */
interface RunToDelegate {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  /** The prompt; absent for a conversation, which the server reads from stdin. */
  readonly prompt?: string;
  /** When to stop waiting for the end of the run, on the clock of `performance.now()`; absent for never. */
  readonly deadline?: number;
}

/** How a delegated run ended. */
export type DelegationResult =
  /** The server did nothing visible, and does nothing any more, so the run can be carried out locally. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "exited"; readonly code: number }
  /** The server began the run and did not report its end. */
  | {
    readonly kind: "lost";
    readonly why: string;
    /** The exit code of the signal that was sent to the server, or of the timeout. */
    readonly code?: number;
  };

/**
 * The maximum time for the server to accept a run, and to be ready to begin it, both since the request, in
 * milliseconds.
 */
const ACCEPT_TIMEOUT_MS = 2000;
const READY_TIMEOUT_MS = 10_000;
/** The interval at which the server's process is checked until the run begins and after a signal, in milliseconds. */
const CHECK_INTERVAL_MS = 100;
/** How long a server may take to end a run after a signal, in milliseconds. */
const STOP_TIMEOUT_MS = 30_000;

/** A wait that ends this many milliseconds late shows that this program was suspended. */
const STOPPED_MS = 2000;

/**
 * Has a server carry out a run with the stdin, stdout and stderr of this program.
 *
 * Until this program sends `go`, the run has no visible effect and can still be carried out locally. Afterwards it
 * never can, because a prompt must not reach the API twice.
 *
 * @param options.signals the signals of this program, which are forwarded to the server
 * @throws an error that nothing in this program caught; the server ends the run then
 */
export async function delegateRun(
  run: RunToDelegate,
  { server, signals }: { readonly server: ServerConnection; readonly signals: StopSignals },
): Promise<DelegationResult> {
  using stack = new DisposableStack();
  const channel = stack.use(new LineChannel(server.fd));
  const poller = stack.use(new Poller());
  const { deadline = Infinity, ...rest } = run;
  const delegation = new Delegation({ channel, signals, serverPid: server.pid, deadline });
  signals.onArrival = () => {
    delegation.isSignalled = true;
    poller.wake();
  };
  stack.defer(() => signals.onArrival = undefined);
  let uncaught: { readonly thrown: unknown } | undefined;
  stack.use(catchUncaughtErrors((thrown) => {
    uncaught ??= { thrown };
    poller.wake();
  }));
  stack.use(listenToSignals(["SIGQUIT", "SIGWINCH", "SIGTSTP"], (signal) => {
    switch (signal) {
      case "SIGQUIT":
        delegation.isQuit = true;
        return poller.wake();
      case "SIGWINCH":
        return channel.send({ type: "resized" });
      case "SIGTSTP":
        channel.send({ type: "stopped" });
        kill(Deno.pid, "SIGSTOP");
        return channel.send({ type: "continued" });
    }
  }));
  channel.send({ type: "hello", program: programIdentity() });
  channel.send({ type: "run", ...rest, age: performance.now() });
  for (;;) {
    const checkAt = performance.now() + delegation.nextCheckMs;
    const ready = await poller.wait(channel.interests, delegation.nextCheckMs);
    delegation.extendDeadlineAfterStop(performance.now() - checkAt);
    // Thrown here, because Deno would print an uncaught error in its own words.
    if (uncaught !== undefined) throw uncaught.thrown;
    const result = delegation.receive(channel.receive(ready)) ?? delegation.check();
    if (result !== undefined) return result;
  }
}

/** The client's state of one delegated run. */
class Delegation {
  /** Whether a signal has arrived that has not been forwarded. */
  isSignalled = false;
  /** Whether SIGQUIT has arrived. */
  isQuit = false;
  readonly #channel: LineChannel;
  readonly #signals: StopSignals;
  readonly #serverPid: number;
  readonly #requestedAt = performance.now();
  #deadline: number;
  #stage: "requested" | "accepted" | "begun" = "requested";
  #isQuitSent = false;
  /** The first signal that was sent to the server, and when; if SIGQUIT was sent, the last one. */
  #stopSent: { readonly code: number; readonly at: number } | undefined;

  constructor({ channel, signals, serverPid, deadline }: {
    readonly channel: LineChannel;
    readonly signals: StopSignals;
    readonly serverPid: number;
    readonly deadline: number;
  }) {
    this.#channel = channel;
    this.#signals = signals;
    this.#serverPid = serverPid;
    this.#deadline = deadline;
  }

  /** When to call `check` if the server sends nothing, in milliseconds from now; -1 for never. */
  get nextCheckMs(): number {
    if (!this.#isBegun || this.#stopSent !== undefined) return CHECK_INTERVAL_MS;
    return this.#deadline === Infinity ? -1 : Math.max(0, this.#deadline + 1 - performance.now());
  }

  /** Extends the deadline by the time in which this program was suspended, for example by Ctrl-Z. */
  extendDeadlineAfterStop(lateMs: number): void {
    if (lateMs > STOPPED_MS && this.#deadline !== Infinity) this.#deadline += lateMs;
  }

  /** Acts on messages of the server. Returns the result once a message ends the delegation. */
  receive(messages: readonly unknown[]): DelegationResult | undefined {
    for (const each of messages) {
      const message = parseServerMessage(each);
      switch (message?.type) {
        case "taken":
          if (this.#stage !== "requested") break;
          this.#stage = "accepted";
          // Sent only now, because descriptors that a server never reads stay open while it lives, and block their
          // readers.
          this.#channel.send({ type: "streams" }, { fds: [0, 1, 2] });
          break;
        case "ready":
          this.#channel.send({ type: "go" });
          this.#stage = "begun";
          break;
        case "exit":
          return this.#isBegun
            ? { kind: "exited", code: this.isQuit ? EXIT.signal + SIGNALS.SIGQUIT : message.code }
            : refused("the server has not begun");
        case "refused":
          return this.#lostOrRefused(message.reason);
        case undefined:
          return this.#lostOrRefused("the server says what this program does not understand");
      }
    }
    return undefined;
  }

  /** Checks signals, deadlines and the server's process. Returns the result once one of them ends the delegation. */
  check(): DelegationResult | undefined {
    if (!this.#isBegun) return this.#checkBeforeBegin();
    if (this.#channel.isClosed) return { kind: "lost", why: "the server is gone" };
    this.#forwardSignals();
    const now = performance.now();
    if (this.#stopSent !== undefined) {
      const { code, at } = this.#stopSent;
      if (now - at > STOP_TIMEOUT_MS || readProcessStat(this.#serverPid)?.stopped) {
        return { kind: "lost", why: "the server does not answer", code };
      }
    }
    if (now <= this.#deadline) return undefined;
    return { kind: "lost", why: "the server does not answer", code: EXIT.timedOut };
  }

  get #isBegun(): boolean {
    return this.#stage === "begun";
  }

  #lostOrRefused(reason: string): DelegationResult {
    return this.#isBegun ? { kind: "lost", why: reason } : refused(reason);
  }

  #checkBeforeBegin(): DelegationResult | undefined {
    if (this.isQuit) return { kind: "exited", code: EXIT.signal + SIGNALS.SIGQUIT };
    // The local run acts on the signal.
    if (this.isSignalled) return refused("a signal came before the server had begun");
    if (this.#channel.isClosed) return refused("the server is gone");
    if (readProcessStat(this.#serverPid)?.stopped) return refused("the server is stopped");
    const timeoutMs = this.#stage === "accepted" ? READY_TIMEOUT_MS : ACCEPT_TIMEOUT_MS;
    return performance.now() - this.#requestedAt > timeoutMs
      ? refused("the server does not answer")
      : undefined;
  }

  #forwardSignals(): void {
    for (const signal of this.#signals.take()) {
      this.#channel.send({ type: "signal", signal });
      this.#stopSent ??= { code: EXIT.signal + SIGNALS[signal], at: performance.now() };
    }
    if (!this.isQuit || this.#isQuitSent) return;
    this.#isQuitSent = true;
    this.#channel.send({ type: "signal", signal: "SIGQUIT" });
    this.#stopSent = { code: EXIT.signal + SIGNALS.SIGQUIT, at: performance.now() };
  }
}

function refused(reason: string): DelegationResult {
  return { kind: "refused", reason };
}

/** Parses a message of a server; undefined for a message that a server of this version does not send. */
function parseServerMessage(value: unknown): ServerMessage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, reason, code } = value;
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
