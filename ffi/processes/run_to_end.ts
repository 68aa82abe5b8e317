import { stopIgnoringSigchld } from "./own_signals.ts";
import { killGroup } from "./process.ts";

/** How a program is run. */
interface ProgramToRun {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Its whole environment; that of this program by default. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads on stdin; nothing by default. */
  readonly input?: string;
  /** Once it is aborted the program is killed, with whatever it has started. */
  readonly signal?: AbortSignal | undefined;
  /** Most that it may print to stdout, and to stderr, in bytes; any amount by default. */
  readonly mostOutput?: number;
}

/**
 * Runs a program to its end, and gives what it has printed.
 *
 * @param path of the program, or its name
 * @throws what the signal is aborted with, after the program has been killed
 * @throws {Error} when it cannot be started, or prints more than it may, after it has been killed
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
      // A program that ends at once is told of by how it ends.
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

/** Reads a stream to its end; undefined where there is more than there may be, and the program is killed. */
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
