import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";

/** A server that says what a test has it say, at the socket of a user's server. */
export interface FakeServer extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the socket. */
  readonly folder: string;
  /** Runs `claude-print` where that server is the user's. */
  readonly run: (...args: string[]) => Promise<ProgramOutput>;
}

/** Starts a server. */
export async function fakeServer(
  answer: (request: Request, path: string) => Response | Promise<Response>,
): Promise<FakeServer> {
  const runtime = await Deno.makeTempDir();
  const folder = `${runtime}/claude-print`;
  await Deno.mkdir(folder, { mode: 0o700 });
  const server = Deno.serve(
    { path: `${folder}/http.sock`, onListen: () => {} },
    (request) => answer(request, new URL(request.url).pathname),
  );
  const env = {
    PATH: "/usr/bin:/bin",
    DENO_DIR: await denoDir(),
    XDG_RUNTIME_DIR: runtime,
    TERM: "xterm-256color",
    // A socket is asked whatever these say.
    HTTP_PROXY: "http://127.0.0.1:1",
    NO_PROXY: "localhost,*",
  };
  return {
    env,
    folder,
    run: (...args) => startProgram([...CLAUDE_PRINT, ...args], { env, cwd: "/" }).ended,
    [Symbol.asyncDispose]: async () => {
      await server.shutdown();
      await Deno.remove(runtime, { recursive: true });
    },
  };
}

/** A conversation as a server tells of it. */
export function toldOf(
  id: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    id,
    state: "idle",
    since: new Date(Date.now() - 3_600_000 * 5).toISOString(),
    turns: 2,
    total_cost_usd: 0.5,
    last_event_id: 2,
    cwd: "/home/me",
    ...more,
  };
}
