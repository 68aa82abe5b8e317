import { closeFd } from "../../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../../ffi/descriptors/poll.ts";
import { acceptUnix, listenUnix } from "../../../../ffi/descriptors/unix_socket.ts";
import { LineChannel } from "../../../../src/server/delegation/delegation_channel.ts";

/** The socket at which programs look for a server, in a folder of its own. */
interface RunSocket extends AsyncDisposable {
  /** What a program's environment has so that it finds the socket. */
  readonly env: { readonly XDG_RUNTIME_DIR: string };
}

/** Listens at such a socket, and speaks to the first client. */
export async function runSocket(
  speak: (
    client: LineChannel,
    test: { readonly poller: Poller; readonly isOver: () => boolean },
  ) => Promise<void>,
): Promise<RunSocket> {
  const runtime = await Deno.makeTempDir({ prefix: "x" });
  await Deno.mkdir(`${runtime}/claude-print`, { mode: 0o700 });
  const listener = listenUnix(`${runtime}/claude-print/run.sock`, { backlog: 8 });
  const poller = new Poller();
  let isOver = false;
  const speakToFirst = async () => {
    await poller.wait([{ fd: listener, read: true }], -1);
    const fd = isOver ? undefined : acceptUnix(listener);
    if (fd === undefined) return;
    using client = new LineChannel(fd);
    await speak(client, { poller, isOver: () => isOver });
  };
  const speaking = speakToFirst();
  return {
    env: { XDG_RUNTIME_DIR: runtime },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      poller.wake();
      await speaking;
      poller[Symbol.dispose]();
      closeFd(listener);
      await Deno.remove(runtime, { recursive: true });
    },
  };
}
