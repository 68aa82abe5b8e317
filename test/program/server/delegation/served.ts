import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../../start_program.ts";

/** A server that runs for a test. */
export interface Served extends AsyncDisposable {
  readonly pid: number;
  /** What a program's environment has so that it finds the server. */
  readonly env: { readonly XDG_RUNTIME_DIR: string };
  /** The path of its HTTP socket. */
  readonly httpSocket: string;
  readonly kill: (signal: Deno.Signal) => void;
  readonly ended: Promise<ProgramOutput>;
}

/** Starts a server and waits until it listens. */
export async function serve(
  {
    args = ["--warm", "0"],
    env: own = {},
    cwd = "/",
    wrap = (command) => command,
    stdin,
    ...options
  }: {
    readonly args?: readonly string[];
    /** What it knows of a home; by default there is nothing in it. */
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    /** Makes another command out of the one that would be run. */
    readonly wrap?: (command: readonly string[]) => readonly string[];
    /** Where temporary files are, if the server is to be found there, and not in a folder of its own. */
    readonly inTemp?: string;
    /** What it reads on stdin, by what its clients have in their environment. */
    readonly stdin?: (env: Served["env"]) => string;
    /** Takes what it says first. */
    readonly onStdout?: (text: string) => void;
  } = {},
): Promise<Served> {
  const runtime = await Deno.makeTempDir({ prefix: "x" });
  const { inTemp, onStdout = () => {} } = options;
  const env = { XDG_RUNTIME_DIR: inTemp === undefined ? runtime : "" };
  const { promise: listens, resolve } = Promise.withResolvers<void>();
  const { child, ended } = startProgram(wrap([...CLAUDE_PRINT, "serve", ...args]), {
    env: {
      PATH: "/usr/bin:/bin",
      DENO_DIR: await denoDir(),
      HOME: runtime,
      TMPDIR: inTemp ?? runtime,
      ...own,
      ...env,
    },
    cwd,
    stdin: stdin?.(env),
    onStdout: (text) => {
      if (!text.endsWith("\n")) return;
      onStdout(text);
      resolve();
    },
  });
  const failed = ended.then(({ stderr }) => {
    throw new Error(`The server has ended: ${stderr}`);
  });
  failed.catch(() => {});
  try {
    await Promise.race([listens, failed]);
  } catch (error) {
    await Deno.remove(runtime, { recursive: true });
    throw error;
  }
  let isOver = false;
  ended.then(() => isOver = true);
  return {
    pid: child.pid,
    env,
    httpSocket: inTemp === undefined
      ? `${runtime}/claude-print/http.sock`
      : `${inTemp}/claude-print-${Deno.uid()}/serve/http.sock`,
    kill: (signal) => child.kill(signal),
    ended,
    [Symbol.asyncDispose]: async () => {
      if (!isOver) child.kill("SIGTERM");
      await ended;
      await Deno.remove(runtime, { recursive: true });
    },
  };
}
