import { stopIgnoringSigchld } from "./own_signals.ts";
import { killGroup } from "./process.ts";

/** How to run a program. */
interface ProgramToRun {
  readonly args: readonly string[];
  readonly cwd: string;
  /** The complete environment; by default the environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text on its stdin; empty by default. */
  readonly input?: string;
  /** An abort kills the program and all processes of its group. */
  readonly signal?: AbortSignal | undefined;
  /** The limit of stdout, and of stderr, in bytes; none by default. */
  readonly mostOutput?: number;
}

/**
 * Runs a program to its end and returns its output.
 *
 * @param path the path or name of the program
 * @throws the reason of the signal, after the program was killed
 * @throws {Error} if the program cannot be started. Also if it prints more than `mostOutput`, after it was killed
 */
export async function runToEnd(
  path: string,
  { args, cwd, env, input, signal, mostOutput = Infinity }: ProgramToRun,
): Promise<Deno.CommandOutput> {
  signal?.throwIfAborted();
  stopIgnoringSigchld();
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
    const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) =>
      readAll(stream, { most: mostOutput, kill });
    const ended = Promise.all([read(child.stdout), read(child.stderr), child.status]);
    if (input !== undefined) {
      const writer = child.stdin.getWriter();
      // The write fails if the program ends without reading. Its exit status shows the reason.
      await writer.write(new TextEncoder().encode(input)).catch(() => {});
      await writer.close().catch(() => {});
    }
    const [stdout, stderr, status] = await ended;
    if (stdout === undefined || stderr === undefined) {
      throw new Error(`${path} printed more than ${mostOutput} bytes`);
    }
    return { ...status, stdout, stderr };
  } finally {
    signal?.removeEventListener("abort", kill);
    signal?.throwIfAborted();
  }
}

/** Reads a stream to its end. Kills the program and returns undefined if it prints more than `most` bytes. */
async function readAll(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  { most, kill }: { readonly most: number; readonly kill: () => void },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const piece of stream) {
    length += piece.length;
    if (length <= most) pieces.push(piece);
    else kill();
  }
  return length > most ? undefined : new Uint8Array(await new Blob(pieces).arrayBuffer());
}
