import * as z from "zod/mini";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import {
  acceptUnix,
  listenUnix,
  peerOf,
  setNonblocking,
} from "../../../ffi/descriptors/unix_socket.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { mostOpenFiles } from "../../../ffi/processes/proc.ts";
import { STOP_SIGNALS, type StopSignal } from "../../claude/wire/stop_signal.ts";
import { terminalSize, type UserTerminal } from "../../driver/user_terminal.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import {
  LineChannel,
  processTraits,
  programIdentity,
  type ServerMessage,
} from "./delegation_channel.ts";

const STOP_NAMES = Object.keys(STOP_SIGNALS) as [StopSignal, ...StopSignal[]];

/** The run that a client delegates. */
const RunMessage = z.strictObject({
  type: z.literal("run"),
  /** The client's command line, which the client has parsed without an error. */
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string().check(z.startsWith("/")),
  /** The age of the client, in milliseconds. It is no time of day, because the clock may be set in the meantime. */
  age: z.number(),
  /** The prompt; absent for a conversation, whose messages are on the client's stdin. */
  prompt: z.optional(z.string()),
});

const ClientMessage = z.discriminatedUnion("type", [
  /** The first message. */
  z.object({ type: z.literal("hello"), program: z.string() }),
  RunMessage,
  /** Carries the client's descriptors 0, 1 and 2. */
  z.strictObject({ type: z.literal("streams") }),
  /** From now on, the client does not carry out the run itself. */
  z.strictObject({ type: z.literal("go") }),
  z.strictObject({ type: z.literal("signal"), signal: z.enum([...STOP_NAMES, "SIGQUIT"]) }),
  /** The client's terminal may have a new size. */
  z.strictObject({ type: z.literal("resized") }),
  /** The client was suspended, for example by Ctrl-Z, or continued. */
  z.strictObject({ type: z.literal("stopped") }),
  z.strictObject({ type: z.literal("continued") }),
]);

type ClientMessage = z.infer<typeof ClientMessage>;
type RunMessage = z.infer<typeof RunMessage>;

/** A run that another process of this program has delegated. */
export interface DelegatedRun extends Omit<RunMessage, "type" | "age"> {
  /** When the client was started, on the clock of this process's `performance.now()`. */
  readonly startedAt: number;
  /** The client's stdin, stdout and stderr, as descriptors of this process. They are closed when the run has ended. */
  readonly streams: readonly [stdin: number, stdout: number, stderr: number];
  /** The client's process. */
  readonly pid: number;
  /** Aborted when the client has disconnected. `signals` then get a SIGPIPE. */
  readonly gone: AbortSignal;
  /** Aborted when SIGQUIT has ended the client. Then nothing more is printed. */
  readonly quit: AbortSignal;
  /** Signals that the client forwards. */
  readonly signals: StopSignals;
  /** The client's terminal. */
  readonly terminal: UserTerminal;
  /**
   * Call and await this before the run has any visible effect. It resolves when the client has promised not to carry
   * out the run itself.
   *
   * @throws {ClientGoneError} when the client has disconnected, or already carries out the run itself
   */
  readonly commit: () => Promise<void>;
  /** Adds work that continues after the run's exit code was sent. The listener's `close` waits for it. */
  readonly addBackgroundWork: (work: Promise<unknown>) => void;
}

/** The client no longer waits for its run. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";

  constructor() {
    super("Nobody waits for the run any more");
  }
}

/**
 * The maximum number of connections that wait to be accepted. A client that finds the queue full immediately runs
 * locally.
 */
const BACKLOG = 128;
/** The delay after a connection could not be accepted, in milliseconds. */
const RETRY_MS = 100;
/**
 * The share of the maximum number of open files that connections may use, and the limit of connections. Runs also need
 * files.
 */
const FILES_SHARE = 0.5;
const MAX_CONNECTIONS = 1000;

/** How delegated runs are carried out. */
interface RunService {
  /** Carries a run out, and returns its exit code. */
  readonly perform: (run: DelegatedRun) => Promise<number>;
  /** Called with errors that are bugs of this program. */
  readonly onInternalError: (error: unknown) => void;
}

/** The place to listen for delegated runs, and the functions that carry them out. */
interface RunListenerOptions extends RunService {
  /** A path that does not exist yet, or the descriptor of a listening socket. */
  readonly at: { readonly path: string } | { readonly fd: number };
}

/**
 * Listens for runs that other processes of this program delegate, and carries them out.
 *
 * Disposal only stops the listener. Runs that have begun continue.
 */
export class RunListener implements Disposable {
  readonly #service: RunService;
  readonly #listenerFd: number;
  readonly #poller = new Poller();
  readonly #closing = new AbortController();
  readonly #connections = new Set<Promise<void>>();
  /** The server's own identity at its start, because the program's files may be replaced later. */
  readonly #identity = programIdentity();
  readonly #maxFd = mostOpenFiles() * FILES_SHARE;
  readonly #accepting: Promise<void>;

  /** @throws {LibcError} when the socket cannot be created */
  constructor({ at, ...service }: RunListenerOptions) {
    this.#service = service;
    this.#listenerFd = "fd" in at ? at.fd : listenUnix(at.path, { backlog: BACKLOG });
    // systemd may pass a blocking socket.
    setNonblocking(this.#listenerFd);
    this.#accepting = this.#acceptAll().catch(service.onInternalError).finally(() => {
      this.#poller[Symbol.dispose]();
      closeFd(this.#listenerFd);
    });
  }

  /** The number of runs that have not ended. */
  get runCount(): number {
    return this.#connections.size;
  }

  /** Accepts no more runs, and resolves when the begun runs have ended. */
  async close(): Promise<void> {
    this[Symbol.dispose]();
    await this.#accepting;
    await Promise.all(this.#connections);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#poller.wake();
  }

  async #acceptAll(): Promise<void> {
    const { signal: closing } = this.#closing;
    let retryMs = -1;
    let hasReported = false;
    while (!closing.aborted) {
      await this.#poller.wait(retryMs < 0 ? [{ fd: this.#listenerFd, read: true }] : [], retryMs);
      retryMs = -1;
      try {
        while (!closing.aborted) {
          const fd = acceptUnix(this.#listenerFd);
          if (fd === undefined) break;
          this.#serve(fd);
        }
        hasReported = false;
      } catch (error) {
        // The limit of open files is reached.
        if (!(error instanceof LibcError)) throw error;
        if (!hasReported) this.#service.onInternalError(error);
        hasReported = true;
        retryMs = RETRY_MS;
      }
    }
  }

  #serve(fd: number): void {
    // A new descriptor is the lowest free one, so it shows how many are open. The refused client runs locally.
    if (fd >= this.#maxFd || this.#connections.size >= MAX_CONNECTIONS) return closeFd(fd);
    const connection = serveConnection(
      fd,
      { ...this.#service, identity: this.#identity },
      this.#closing.signal,
    )
      .catch(this.#service.onInternalError)
      .finally(() => this.#connections.delete(connection));
    this.#connections.add(connection);
  }
}

/**
 * Serves a connection to its end, for one run or none.
 *
 * @param fd the connection, which is closed at its end
 * @param closing aborted when no more runs are accepted
 * @returns when all of the run is removed
 */
async function serveConnection(
  fd: number,
  service: RunService & Pick<RunConnectionOptions, "identity">,
  closing: AbortSignal,
): Promise<void> {
  const backgroundWork: Promise<unknown>[] = [];
  const addBackgroundWork = (work: Promise<unknown>) =>
    void backgroundWork.push(work.catch(service.onInternalError));
  {
    using stack = new DisposableStack();
    const channel = stack.use(new LineChannel(fd));
    const poller = stack.use(new Poller());
    const peer = peerOf(fd);
    if (peer.uid !== Deno.uid()) return;
    const options = { ...service, addBackgroundWork, channel, poller, clientPid: peer.pid };
    await stack.use(new RunConnection(options)).serve(closing);
  }
  await Promise.all(backgroundWork);
}

/** The number of descriptors that a client passes: its stdin, stdout and stderr. */
const STREAM_COUNT = 3;

/** The exit code of a program that SIGQUIT ends, and of a run that failed because of a bug of this program. */
const QUIT_CODE = 131;
const FAILURE_CODE = 2;

interface RunConnectionOptions extends RunService, Pick<DelegatedRun, "addBackgroundWork"> {
  readonly channel: LineChannel;
  readonly poller: Poller;
  /** Identifies the program of this server. */
  readonly identity: string;
  readonly clientPid: number;
}

/** The server's end of the connection on which a client delegates a run. */
class RunConnection implements Disposable {
  readonly #options: RunConnectionOptions;
  readonly #stack = new DisposableStack();
  readonly #signals = new StopSignals({ listen: false });
  readonly #committed = Promise.withResolvers<void>();
  readonly #gone = new AbortController();
  readonly #quit = new AbortController();
  readonly #resizeListeners = new Set<() => void>();
  #request: { readonly message: RunMessage; readonly receivedAt: number } | undefined;
  #isGreeted = false;
  #isReady = false;
  #running: Promise<void> | undefined;
  #isDone = false;

  constructor(options: RunConnectionOptions) {
    this.#options = options;
    // If a run never calls commit(), its rejection must not be an unhandled one.
    this.#committed.promise.catch(() => {});
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }

  /** Serves the connection until the client has disconnected, or the run has ended and its exit code is sent. */
  async serve(closing: AbortSignal): Promise<void> {
    const { channel, poller } = this.#options;
    const onClosing = () => {
      if (this.#running === undefined) this.#refuse("the server ends");
      poller.wake();
    };
    closing.addEventListener("abort", onClosing);
    this.#stack.defer(() => closing.removeEventListener("abort", onClosing));
    while (!channel.isClosed && (!this.#isDone || channel.hasUnsent)) {
      const ready = await poller.wait(channel.interests, -1);
      for (const message of channel.receive(ready)) {
        this.#receive(z.safeParse(ClientMessage, message).data);
      }
    }
    if (this.#running === undefined || this.#isDone) return;
    // The client has disconnected. The run ends like one whose reader has closed stdout.
    this.#committed.reject(new ClientGoneError());
    this.#gone.abort();
    this.#signals.resume();
    this.#signals.raise("SIGPIPE");
    await this.#running;
  }

  #receive(message: ClientMessage | undefined): void {
    if (this.#isDone) return;
    if (!this.#isGreeted) {
      this.#isGreeted = message?.type === "hello";
      if (message?.type !== "hello" || message.program !== this.#options.identity) {
        this.#refuse("the server is of another version");
      }
      return;
    }
    switch (message?.type) {
      case "run":
        return this.#request === undefined ? this.#accept(message) : undefined;
      case "streams":
        return this.#running === undefined ? this.#begin() : undefined;
      case "go":
        return this.#isReady ? this.#committed.resolve() : undefined;
      case "signal":
        if (message.signal !== "SIGQUIT") return this.#signals.raise(message.signal);
        // SIGQUIT ends a run without a result.
        this.#quit.abort();
        return this.#signals.raise("SIGTERM");
      case "resized":
        return this.#resizeListeners.forEach((onResize) => onResize());
      case "stopped":
        return this.#signals.pause();
      case "continued":
        return this.#signals.resume();
      case "hello":
      case undefined:
        return this.#refuse("the server does not understand it");
      default:
        message satisfies never;
    }
  }

  #send(message: ServerMessage): void {
    this.#options.channel.send(message);
  }

  #refuse(reason: string): void {
    this.#send({ type: "refused", reason });
    this.#isDone = true;
  }

  #accept(message: RunMessage): void {
    const difference = findDifference(this.#options.clientPid);
    if (difference !== undefined) return this.#refuse(difference);
    this.#request = { message, receivedAt: performance.now() };
    this.#send({ type: "taken" });
  }

  #begin(): void {
    if (this.#request === undefined) return;
    const descriptors = this.#stack.use(new DisposableStack());
    const fds = descriptors.adopt(this.#options.channel.takeFds(), closeAll);
    const [stdin, stdout, stderr, ...others] = fds;
    if (stdin === undefined || stdout === undefined || stderr === undefined || others.length > 0) {
      return this.#refuse(`a run has ${STREAM_COUNT} streams`);
    }
    const run = this.#createRun(this.#request, [stdin, stdout, stderr]);
    this.#running = this.#options.perform(run).catch((error: unknown) => {
      if (!(error instanceof ClientGoneError)) this.#options.onInternalError(error);
      return FAILURE_CODE;
    }).then((code) => {
      // Closed before the exit code is sent, so that readers of the output see its end before the client exits.
      descriptors.dispose();
      this.#send({ type: "exit", code: this.#quit.signal.aborted ? QUIT_CODE : code });
      this.#isDone = true;
      this.#options.poller.wake();
    });
  }

  #createRun(
    { message, receivedAt }: { readonly message: RunMessage; readonly receivedAt: number },
    streams: DelegatedRun["streams"],
  ): DelegatedRun {
    const { type: _, age, ...rest } = message;
    return {
      ...rest,
      startedAt: receivedAt - age,
      streams,
      pid: this.#options.clientPid,
      signals: this.#signals,
      gone: this.#gone.signal,
      quit: this.#quit.signal,
      terminal: {
        size: () => terminalSize(streams),
        listen: (onResize) => {
          this.#resizeListeners.add(onResize);
          return { [Symbol.dispose]: () => void this.#resizeListeners.delete(onResize) };
        },
      },
      commit: () => {
        if (!this.#isReady) this.#send({ type: "ready" });
        this.#isReady = true;
        this.#options.poller.wake();
        return this.#committed.promise;
      },
      addBackgroundWork: this.#options.addBackgroundWork,
    };
  }
}

/** Why a child of this process would differ from a child of process `pid`; undefined when it would not. */
function findDifference(pid: number): string | undefined {
  try {
    if (processTraits(pid) === processTraits("self")) return undefined;
  } catch (error) {
    if (!(error instanceof LibcError)) throw error;
    return "the server cannot see the program's process";
  }
  return "the server has other limits, rights or namespaces";
}

function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeFd(fd);
}
