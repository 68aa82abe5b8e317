import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { acceptUnix, connectUnix, listenUnix } from "../../../ffi/descriptors/unix_socket.ts";
import { LineChannel } from "../../../src/serve/line_channel.ts";
import { isJsonObject } from "../../../src/json_object.ts";
import { until } from "../../standin/stand_in.ts";
import { poolCounts } from "./pool_counts.ts";
import { serve } from "./served.ts";

/** A moment of a hand-over: just before the server or its client gets a message, at its beginning, and at its end. */
export type Step = "connect" | "taken" | "streams" | "ready" | "go" | "exit" | "end";

/**
 * A server that is killed at a moment of a hand-over: somebody stands between it and its client, and passes on what both
 * say until then.
 *
 * @param options.step absent for one that nobody kills here
 * @param options.env its environment, but for where it is to be found
 * @param options.waits the profile of a Claude Code that waits in it before anybody comes, if one does
 */
export async function dyingServer(
  { step, env, waits }: {
    readonly step?: Step | undefined;
    readonly env: Readonly<Record<string, string>>;
    readonly waits?: {
      readonly args: readonly string[];
      readonly cwd: string;
      readonly env: Readonly<Record<string, string>>;
    } | undefined;
  },
) {
  const runtime = await Deno.makeTempDir({ prefix: "x" });
  const profile = { ...waits, env: { ...waits?.env, XDG_RUNTIME_DIR: runtime }, text: true };
  await Deno.writeTextFile(`${runtime}/profiles`, `${JSON.stringify(profile)}\n`);
  const pool = waits === undefined ? ["--warm", "0"] : ["--profiles", `${runtime}/profiles`];
  const server = await serve({ env, args: pool });
  if (waits !== undefined) {
    await until(async () => (await poolCounts(server.env)).ready === 1, "one waits");
  }
  await Deno.mkdir(`${runtime}/claude-print`, { mode: 0o700 });
  const listener = listenUnix(`${runtime}/claude-print/run.sock`, { backlog: 8 });
  const poller = new Poller();
  let isOpen = true;
  const stand = async () => {
    await poller.wait([{ fd: listener, read: true }], -1);
    const fd = isOpen ? acceptUnix(listener) : undefined;
    if (fd === undefined) return;
    using client = new LineChannel(fd);
    if (step === "connect") return server.kill("SIGKILL");
    using behind = new LineChannel(
      connectUnix(`${server.env.XDG_RUNTIME_DIR}/claude-print/run.sock`),
    );
    while (isOpen && !client.isOver && !behind.isOver) {
      const ready = await poller.wait([...client.interests, ...behind.interests], -1);
      for (const [from, to] of [[client, behind], [behind, client]] as const) {
        for (const message of from.hear(ready)) {
          const type = isJsonObject(message) ? `${message["type"]}` : "";
          if (type === step) return server.kill("SIGKILL");
          const fds = from.takeFds();
          to.say(message, { fds });
          for (const each of fds) closeFd(each);
          if (type === "exit" && step === "end") return server.kill("SIGKILL");
        }
      }
    }
  };
  const standing = stand();
  return {
    /** What a program's environment has so that it finds the server, through whoever stands between. */
    env: { XDG_RUNTIME_DIR: runtime },
    pid: server.pid,
    ended: server.ended,
    [Symbol.asyncDispose]: async () => {
      isOpen = false;
      poller.wake();
      await standing;
      poller[Symbol.dispose]();
      closeFd(listener);
      await server[Symbol.asyncDispose]();
      await Deno.remove(runtime, { recursive: true });
    },
  };
}
