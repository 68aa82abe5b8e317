import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { peerOf } from "../../../ffi/descriptors/unix_socket.ts";
import { terminalSize } from "../../driver/effects/terminal_size.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { LineChannel } from "../line_channel.ts";
import type { ServerMessage } from "../server_message.ts";
import { type ClientMessage, parseClientMessage, type RunMessage } from "./client_message.ts";
import { GoneError, type HandedRun } from "./handed_run.ts";

/** How runs that are handed over are carried out. */
export interface RunService {
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
export async function serveConnection(fd: number, service: RunService): Promise<void> {
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
