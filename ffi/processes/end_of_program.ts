import { heedChildren } from "./own_signals.ts";
import { killGroup } from "./process.ts";

/** How a program is run. */
export interface ProgramToRun {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Its whole environment; that of this program by default. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads on stdin; nothing by default. */
  readonly input?: string;
  /** Once it is aborted the program is killed, with whatever it has started. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a program to its end, and gives what it has printed.
 *
 * @param path of the program, or its name
 * @throws what the signal is aborted with, after the program has been killed
 * @throws {Error} when it cannot be started
 */
export async function endOfProgram(
  path: string,
  { args, cwd, env, input, signal }: ProgramToRun,
): Promise<Deno.CommandOutput> {
  signal?.throwIfAborted();
  heedChildren();
  const child = new Deno.Command(path, {
    args: [...args],
    cwd,
    ...(env === undefined ? {} : { env: { ...env }, clearEnv: true }),
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  const kill = () => killGroup(child.pid, "SIGKILL");
  signal?.addEventListener("abort", kill);
  try {
    const ended = child.output();
    if (input !== undefined) {
      const writer = child.stdin.getWriter();
      // A program that ends at once is told of by how it ends.
      await writer.write(new TextEncoder().encode(input)).catch(() => {});
      await writer.close().catch(() => {});
    }
    return await ended;
  } finally {
    signal?.removeEventListener("abort", kill);
    signal?.throwIfAborted();
  }
}
