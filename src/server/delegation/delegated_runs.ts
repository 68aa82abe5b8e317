import * as z from "zod/mini";
import { STOP_SIGNALS, type StopSignal } from "../../claude/wire/stop_signal.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import type { UserTerminal } from "../../driver/user_terminal.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import {
  acceptUnix,
  listenUnix,
  peerOf,
  waitForNobody,
} from "../../../ffi/descriptors/unix_socket.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { mostOpenFiles } from "../../../ffi/processes/most_open_files.ts";
import {
  LineChannel,
  processTraits,
  programIdentity,
  type ServerMessage,
} from "./delegation_channel.ts";
import { terminalSize } from "../../driver/effects/terminal_size.ts";

const STOP_NAMES = Object.keys(STOP_SIGNALS) as [StopSignal, ...StopSignal[]];

/** The run that a client hands over. */
const RunMessage = z.strictObject({
  type: z.literal("run"),
  /** Its command line, which it has read without finding anything wrong. */
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string().check(z.startsWith("/")),
  /** How long ago it was started, in milliseconds: no time of a calendar, which may be set meanwhile. */
  age: z.number(),
  /** The prompt; absent for a conversation, whose words are on fd 0. */
  prompt: z.optional(z.string()),
});

/** What a client says. */
const ClientMessage = z.discriminatedUnion("type", [
  /** The first of all: which program it is. */
  z.object({ type: z.literal("hello"), program: z.string() }),
  RunMessage,
  /** With it come its fds 0, 1 and 2. */
  z.strictObject({ type: z.literal("streams") }),
  /** It does not carry the run out itself any more, whatever happens. */
  z.strictObject({ type: z.literal("go") }),
  z.strictObject({ type: z.literal("signal"), signal: z.enum([...STOP_NAMES, "SIGQUIT"]) }),
  /** Its terminal may have another size. */
  z.strictObject({ type: z.literal("resized") }),
  /** It is stopped, as by Ctrl-Z, and goes on. */
  z.strictObject({ type: z.literal("stopped") }),
  z.strictObject({ type: z.literal("continued") }),
]);

type ClientMessage = z.infer<typeof ClientMessage>;
type RunMessage = z.infer<typeof RunMessage>;

/** Reads what a client says; undefined for what none of this version would say. */
function parseClientMessage(said: unknown): ClientMessage | undefined {
  return z.safeParse(ClientMessage, said).data;
}

/** A run that another process of this program has handed over. */
export interface HandedRun extends Omit<RunMessage, "type" | "age"> {
  /** When it was started, as `performance.now()` tells time here. */
  readonly startedAt: number;
  /** Its stdin, stdout and stderr, as fds of this process, which are closed once the run is over. */
  readonly streams: readonly [stdin: number, stdout: number, stderr: number];
  /** The process that has handed it over. */
  readonly pid: number;
  /** Aborted once nobody waits for it any more, which `signals` have as a SIGPIPE. */
  readonly gone: AbortSignal;
  /** Aborted once SIGQUIT has ended the other process: nothing is said but what of the run stays. */
  readonly quit: AbortSignal;
  /** What it has been told by signals. */
  readonly signals: StopSignals;
  /** Its terminal. */
  readonly terminal: UserTerminal;
  /**
   * To be awaited before anything is done that somebody could see: from then on the other process does not carry the run
   * out itself any more.
   *
   * @throws {GoneError} when it does so already, or is gone
   */
  readonly commit: () => Promise<void>;
  /** Takes what of the run goes on when the other process does not wait for it any more. */
  readonly leave: (rest: Promise<unknown>) => void;
}

/** Whoever has handed a run over does not wait for it any more. */
export class GoneError extends Error {
  override readonly name = "GoneError";

  constructor() {
    super("Nobody waits for the run any more");
  }
}

/** How many clients may wait to be taken: the others go on by themselves at once. */
const BACKLOG = 128;
/** How long no connection is taken where one cannot be had, in milliseconds. */
const RESTING_MS = 100;
/** How much of the files that may be open is for connections, and how many there may be: runs need others. */
const SHARE = 0.5;
const MOST_CONNECTIONS = 1000;

/** Where runs are listened for, and how they are carried out. */
interface RunListenerOptions
  extends Pick<RunService, "perform" | "onMistake">, Partial<Pick<RunService, "refusal">> {
  /** A path at which nothing is, or the fd of a socket that is listened on already. */
  readonly at: { readonly path: string } | { readonly fd: number };
}

/** Somebody who carries out runs that are handed over. */
interface RunListener extends Disposable {
  /** How many runs are under way. */
  readonly runs: number;
  /** Takes no more of them, and resolves once those that are under way are over. */
  readonly close: () => Promise<void>;
}

/**
 * Listens for runs that other processes of this program hand over, and carries them out.
 *
 * Disposed, it takes no more of them; those that are under way go on.
 *
 * @throws {LibcError} when the socket cannot be had
 */
export function listenForRuns(options: RunListenerOptions): RunListener {
  const { at, perform, onMistake, refusal = unlike } = options;
  const closing = new AbortController();
  const service: RunService = {
    program: programIdentity(),
    refusal,
    perform,
    onMistake,
    closing: closing.signal,
  };
  const listener = "fd" in at ? at.fd : listenUnix(at.path, { backlog: BACKLOG });
  // Whoever hands a socket over need not know that nothing may wait here.
  waitForNobody(listener);
  const poller = new Poller();
  const connections = new Set<Promise<void>>();
  let isOpen = true;
  const most = mostOpenFiles() * SHARE;
  const serve = (fd: number) => {
    // It is the lowest one that was free, and its client goes on by itself.
    if (fd >= most || connections.size >= MOST_CONNECTIONS) return closeFd(fd);
    const connection = serveConnection(fd, service).catch(onMistake)
      .finally(() => connections.delete(connection));
    connections.add(connection);
  };
  const listen = async () => {
    let restsMs = -1;
    let isFull = false;
    while (isOpen) {
      // Where there can be no more open files the next one is tried after a rest.
      await poller.wait(restsMs < 0 ? [{ fd: listener, read: true }] : [], restsMs);
      restsMs = -1;
      try {
        for (let fd = next(); fd !== undefined; fd = next()) serve(fd);
        isFull = false;
      } catch (error) {
        if (!(error instanceof LibcError)) throw error;
        if (!isFull) onMistake(error);
        isFull = true;
        restsMs = RESTING_MS;
      }
    }
  };
  const next = () => isOpen ? acceptUnix(listener) : undefined;
  const listening = listen().catch(onMistake).finally(() => {
    poller[Symbol.dispose]();
    closeFd(listener);
  });
  const stop = () => {
    isOpen = false;
    closing.abort();
    poller.wake();
  };
  return {
    get runs() {
      return connections.size;
    },
    close: async () => {
      stop();
      await listening;
      await Promise.all(connections);
    },
    [Symbol.dispose]: stop,
  };
}

/** Why no child of this process does for one that another process could start, if it does not. */
function unlike(pid: number): string | undefined {
  try {
    if (processTraits(pid) === processTraits("self")) return undefined;
  } catch (error) {
    if (!(error instanceof LibcError)) throw error;
    return "the server cannot see the program's process";
  }
  return "the server has other limits, rights or namespaces";
}

/** How runs that are handed over are carried out. */
interface RunService {
  /** What the program says of itself, which its clients must say too. */
  readonly program: string;
  /** Why no run is taken now, or none of a process, if that is so. */
  readonly refusal: (pid: number) => string | undefined;
  /** Carries a run out, and says with what exit code it has ended. */
  readonly perform: (run: HandedRun) => Promise<number>;
  /** Aborted once no more runs are taken. */
  readonly closing: AbortSignal;
  /** Takes what goes wrong that is nobody's but this program's mistake. */
  readonly onMistake: (error: unknown) => void;
}

/** The fds that a client passes: its stdin, stdout and stderr. */
const STREAMS = 3;

/** Exit code of a program that SIGQUIT ends. */
const QUIT = 131;
/** Exit code of a run that failed by a mistake of this program. */
const FAILED = 2;

/**
 * Serves a connection to its end: one run, if it is one that can be carried out here.
 *
 * @param fd the connection, which is closed at its end
 * @returns once nothing is left of it, nor of the run
 */
async function serveConnection(fd: number, service: RunService): Promise<void> {
  const rest: Promise<unknown>[] = [];
  await speak(fd, { service, leave: (each) => void rest.push(each.catch(service.onMistake)) });
  await Promise.all(rest);
}

async function speak(
  fd: number,
  { service, leave }: { readonly service: RunService } & Pick<HandedRun, "leave">,
): Promise<void> {
  using stack = new DisposableStack();
  const channel = stack.use(new LineChannel(fd));
  const poller = stack.use(new Poller());
  const peer = peerOf(fd);
  if (peer.uid !== Deno.uid()) return;
  const say = (message: ServerMessage) => channel.say(message);
  const signals = new StopSignals({ listen: false });
  const committed = Promise.withResolvers<void>();
  // Whoever waits for it hears of it.
  committed.promise.catch(() => {});
  const gone = new AbortController();
  const quit = new AbortController();
  const resized = new Set<() => void>();
  let asked: RunMessage | undefined;
  let askedAt = 0;
  let isGreeted = false;
  let isReady = false;
  let running: Promise<void> | undefined;
  let isDone = false;

  const refuse = (reason: string) => {
    say({ type: "refused", reason });
    isDone = true;
  };
  const accept = (message: RunMessage) => {
    const refusal = service.refusal(peer.pid);
    if (refusal !== undefined) return refuse(refusal);
    [asked, askedAt] = [message, performance.now()];
    say({ type: "taken" });
  };
  const begin = (message: RunMessage) => {
    const held = stack.use(new DisposableStack());
    const [stdin, stdout, stderr, ...others] = held.adopt(channel.takeFds(), closeAll);
    if (stdin === undefined || stdout === undefined || stderr === undefined || others.length > 0) {
      return refuse(`a run has ${STREAMS} streams`);
    }
    const { type: _, age, ...rest } = message;
    const streams = [stdin, stdout, stderr] as const;
    const run: HandedRun = {
      ...rest,
      startedAt: askedAt - age,
      streams,
      pid: peer.pid,
      signals,
      gone: gone.signal,
      quit: quit.signal,
      terminal: {
        size: () => terminalSize(streams),
        listen: (onResize) => {
          resized.add(onResize);
          return { [Symbol.dispose]: () => void resized.delete(onResize) };
        },
      },
      commit: () => {
        if (!isReady) say({ type: "ready" });
        isReady = true;
        poller.wake();
        return committed.promise;
      },
      leave,
    };
    running = service.perform(run).catch((error: unknown) => {
      if (!(error instanceof GoneError)) service.onMistake(error);
      return FAILED;
    }).then((code) => {
      // Whoever reads them has come to their ends by the time the other process has.
      held.dispose();
      say({ type: "exit", code: quit.signal.aborted ? QUIT : code });
      isDone = true;
      poller.wake();
    });
  };
  const take = (message: ClientMessage | undefined) => {
    if (isDone) return;
    if (!isGreeted) {
      isGreeted = message?.type === "hello";
      if (message?.type !== "hello" || message.program !== service.program) {
        refuse("the server is of another version");
      }
      return;
    }
    switch (message?.type) {
      case "run":
        return asked === undefined ? accept(message) : undefined;
      case "streams":
        return asked !== undefined && running === undefined ? begin(asked) : undefined;
      case "go":
        return isReady ? committed.resolve() : undefined;
      case "signal":
        if (message.signal !== "SIGQUIT") return signals.raise(message.signal);
        // It ends a run without a result.
        quit.abort();
        return signals.raise("SIGTERM");
      case "resized":
        return resized.forEach((onResize) => onResize());
      case "stopped":
        return signals.pause();
      case "continued":
        return signals.resume();
      case "hello":
      case undefined:
        return refuse("the server does not understand it");
      default:
        message satisfies never;
    }
  };

  const onClosing = () => {
    if (running === undefined) refuse("the server ends");
    poller.wake();
  };
  service.closing.addEventListener("abort", onClosing);
  stack.defer(() => service.closing.removeEventListener("abort", onClosing));

  while (!channel.isOver && (!isDone || channel.isOwing)) {
    const ready = await poller.wait(channel.interests, -1);
    for (const said of channel.hear(ready)) take(parseClientMessage(said));
  }
  if (running === undefined || isDone) return;
  // Nobody waits for it any more: it is ended as where the reader of its output has gone.
  committed.reject(new GoneError());
  gone.abort();
  signals.resume();
  signals.raise("SIGPIPE");
  await running;
}

function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeFd(fd);
}
