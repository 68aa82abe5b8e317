import type { Interactive } from "./interactive.ts";
import { openScene, type Scene, type SceneOptions, type Subject } from "./subject.ts";

/** Our end of the socket by which Claude Code takes the replies of `claude agents`. */
export interface Talk extends Disposable {
  /** Sends a prompt. */
  readonly send: (text: string) => Promise<void>;
}

const SECRET = "secret of one measurement";

/** A scene whose interactive Claude Code listens at a socket for prompts. */
export async function openSocketScene(
  subject: Subject,
  options: SceneOptions = {},
): Promise<Scene & { readonly socketPath: string }> {
  const scene = await openScene(subject, options);
  const socketPath = `${scene.path}/s`;
  const env = {
    ...scene.env,
    CLAUDE_CODE_SANDBOXED: "1",
    CLAUDE_BG_BACKEND: "daemon",
    CLAUDE_BG_RENDEZVOUS_SOCK: socketPath,
    CLAUDE_BG_RV_AUTH: SECRET,
  };
  return { ...scene, env, socketPath };
}

/** Connects to the socket as soon as it is there; undefined if it never is. */
export async function connect(
  interactive: Interactive,
  socketPath: string,
): Promise<Talk | undefined> {
  let connection: Deno.UnixConn | undefined;
  await interactive.until(async () => {
    connection = await Deno.connect({ transport: "unix", path: socketPath }).catch(() => undefined);
    return connection !== undefined;
  });
  if (connection === undefined) return undefined;
  const open = connection;
  const send = async (line: Readonly<Record<string, unknown>>) => {
    let bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    while (bytes.length > 0) bytes = bytes.subarray(await open.write(bytes));
  };
  await send({ role: "claude-print", auth: SECRET });
  return {
    send: (text) => send({ type: "reply", text, nextTurn: true }),
    [Symbol.dispose]: () => open.close(),
  };
}
