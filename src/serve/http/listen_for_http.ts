import { CliError } from "../../cli_error.ts";
import type { FileReserve } from "./file_reserve.ts";

/** Where HTTP is listened for, and how it is answered. */
export interface ListeningOptions {
  readonly at:
    | { readonly path: string }
    | { readonly hostname: string; readonly port: number };
  readonly handler: (
    request: Request,
    info: { readonly completed: Promise<void> },
  ) => Promise<Response>;
  /** Files that are given up where connections have taken all others. */
  readonly reserve: FileReserve;
  /** Takes what is a mistake of this program, and why nobody was listened to for a while. */
  readonly onMistake: (error: unknown) => void;
}

/** A server of HTTP. */
export interface HttpServer {
  /** The port, where it has one. */
  readonly port: number | undefined;
  /** Takes no more requests, and resolves when those under way are answered. */
  readonly close: () => Promise<void>;
  /** Cuts whatever is under way. */
  readonly cut: () => void;
}

/** How long nobody is listened to after a crowd, in milliseconds, and how often it is looked whether there is one. */
const RESTING_MS = 100;
const LOOK_MS = 1000;

/** A server of Deno's, and what ends it. */
interface Listening {
  readonly listening: Deno.HttpServer<Deno.Addr>;
  readonly stopped: AbortController;
  isOver: boolean;
}

/**
 * Listens for HTTP. Deno takes connections without end, and ends where it can take none, as where there can be no more
 * open files. Then, and where there are too many connections, those go that have no request under way, what is under way
 * goes on, and others are listened to again once there is room.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function listenForHttp(options: ListeningOptions): HttpServer {
  const { at, handler, reserve, onMistake } = options;
  let isOver = false;
  let server: Listening;
  /** Those before, as long as they answer what was under way. */
  const leaving = new Set<Promise<void>>();
  const listen = (address: ListeningOptions["at"]) => {
    // A server that has ended is done with its signal.
    const stopped = new AbortController();
    const shared = { signal: stopped.signal, onListen: () => {} };
    const listening = "path" in address
      ? Deno.serve({ ...address, ...shared }, handler)
      : Deno.serve({ ...address, ...shared }, handler);
    if ("path" in address) Deno.chmodSync(address.path, 0o600);
    server = { listening, stopped, isOver: false };
    const own = server;
    listening.finished.then(() => own.isOver = true, (error: unknown) => {
      own.isOver = true;
      if (isOver) return;
      reserve.release();
      const why = (error as Error).message.replace(/^Error: /u, "");
      onMistake(new CliError(`Cannot take connections: ${why}`));
      leave(own);
    });
    return listening;
  };
  const leave = ({ listening }: Listening) => {
    const left = listening.shutdown().catch(() => {}).finally(() => leaving.delete(left));
    leaving.add(left);
    again();
  };
  let resting: ReturnType<typeof setTimeout> | undefined;
  const again = () => {
    resting = setTimeout(() => {
      if (isOver) return;
      try {
        if (!reserve.fill()) return again();
        if ("path" in at) removeSocket(at.path);
        listen("path" in at ? at : { ...at, port });
      } catch {
        again();
      }
    }, RESTING_MS);
  };
  const first = listen(at);
  const port = "port" in first.addr ? first.addr.port : 0;
  const looking = setInterval(() => {
    if (server.isOver || !reserve.isCrowded) return;
    onMistake(new CliError("Cannot hold so many connections: those that ask for nothing are cut"));
    server.isOver = true;
    leave(server);
  }, LOOK_MS);
  Deno.unrefTimer(looking);
  const end = () => {
    isOver = true;
    clearTimeout(resting);
    clearInterval(looking);
  };
  return {
    port: "path" in at ? undefined : port,
    close: async () => {
      end();
      const own = server;
      if (!own.isOver) await own.listening.shutdown();
      own.isOver = true;
      await Promise.all(leaving);
    },
    // Deno 2.9.6 takes the signal of a server that is over for a mistake.
    cut: () => {
      end();
      if (!server.isOver) server.stopped.abort();
    },
  };
}

function removeSocket(path: string): void {
  try {
    // What somebody else has put there meanwhile is theirs, and in the way.
    if (Deno.lstatSync(path).isSocket) Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
