import { TextLineStream } from "@std/streams/text-line-stream";
import type { JsonObject } from "../../json_object.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import type { LoggedRequest } from "./messages_api.ts";
import { openScene, type Scene, type SceneOptions, type Subject } from "./subject.ts";

/** One run of a measured Claude Code. */
interface ProgramRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One run of `claude -p`. */
export interface PrintRun extends ProgramRun {
  /** The JSON objects of stdout, one a line. */
  readonly frames: readonly JsonObject[];
  /** The requests to the scripted API. */
  readonly requests: readonly LoggedRequest[];
}

/** The caller's end of a run with streamed input. */
export interface Caller {
  readonly send: (message: JsonObject) => void;
  /** Closes stdin. */
  readonly close: () => void;
}

export interface RunOptions {
  readonly args: readonly string[];
  /** The text of stdin; empty by default. */
  readonly stdin?: string;
  /**
   * Talks to the program: `start` begins, and `answer` takes each JSON object of stdout. Stdin stays open until
   * `close`.
   */
  readonly talk?: {
    readonly start: (caller: Caller) => void;
    readonly answer: (frame: JsonObject, caller: Caller) => void;
  };
  /** The maximum time without output, in milliseconds; by default a minute. */
  readonly silenceMs?: number;
}

/** An answer takes a second, on a busy machine ten. */
const SILENCE_MS = 60_000;

/**
 * Runs the measured Claude Code in a scene. Kills all its processes once it has ended, has printed nothing for too
 * long, or the subject's signal aborts.
 *
 * @throws the signal's reason, or an error that names the run without output
 */
export async function runProgram(
  subject: Subject,
  scene: Scene,
  options: RunOptions,
): Promise<ProgramRun> {
  const { args, stdin, talk, silenceMs = SILENCE_MS } = options;
  subject.signal.throwIfAborted();
  const child = new Deno.Command(subject.binary, {
    args: [...args],
    cwd: scene.project,
    env: scene.env,
    clearEnv: true,
    stdin: stdin === undefined && talk === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    // The session id finds all its processes.
    detached: true,
  }).spawn();
  let isLate = false;
  const arm = () =>
    setTimeout(() => {
      isLate = true;
      scene.kill();
    }, silenceMs);
  let timer = arm();
  const stdout = child.stdout.pipeThrough(
    new TransformStream({
      transform: (chunk: Uint8Array<ArrayBuffer>, controller) => {
        clearTimeout(timer);
        timer = arm();
        controller.enqueue(chunk);
      },
    }),
  );
  try {
    const [printed, stderr, { code }] = await Promise.all([
      talk === undefined
        ? new Response(stdout).text()
        : converse({ stdin: child.stdin, stdout }, talk),
      new Response(child.stderr).text(),
      // Background processes of a tool keep the pipes open.
      child.status.finally(scene.kill),
      ...(stdin === undefined ? [] : [write(child.stdin, stdin)]),
    ]);
    subject.signal.throwIfAborted();
    if (isLate) {
      throw new Error(`claude ${args.join(" ")} has printed nothing for ${silenceMs} ms`);
    }
    return { code, stdout: printed, stderr };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs `claude -p` once, in a scene of its own or a given one.
 *
 * Puts `--output-format stream-json --verbose` before the arguments, unless they have an output format.
 */
export async function runPrint(
  subject: Subject,
  { scene, ...options }: RunOptions & SceneOptions & { readonly scene?: Scene },
): Promise<PrintRun> {
  await using own = scene === undefined ? await openScene(subject, options) : undefined;
  const place = scene ?? own;
  if (place === undefined) throw new Error("There is no scene");
  const format = options.args.includes("--output-format")
    ? []
    : ["--output-format", "stream-json", "--verbose"];
  const before = place.requests.length;
  const run = await runProgram(subject, place, {
    ...options,
    args: ["-p", ...format, ...options.args],
  });
  const frames = run.stdout.split("\n").map(parseJsonObject).filter((frame) => frame !== undefined);
  return { ...run, frames, requests: place.requests.slice(before) };
}

/** Writes stdin. Ignores a program that has closed it. */
async function write(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  await new Response(text).body?.pipeTo(stdin).catch(() => {});
}

async function converse(
  child: Pick<Deno.ChildProcess, "stdin"> & {
    readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  },
  { start, answer }: NonNullable<RunOptions["talk"]>,
): Promise<string> {
  const writer = child.stdin.getWriter();
  const caller: Caller = {
    send: (message) => {
      writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {});
    },
    close: () => {
      writer.close().catch(() => {});
    },
  };
  start(caller);
  let text = "";
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TextLineStream(),
  );
  for await (const line of lines) {
    text += `${line}\n`;
    const frame = parseJsonObject(line);
    if (frame !== undefined) answer(frame, caller);
  }
  caller.close();
  return text;
}
