import { CLAUDE_PRINT } from "../claude_print.ts";
import { loadInProcess, STARTS_PROGRAM } from "../in_process.ts";
import type { ConversationInside } from "../run_in_process.ts";
import type { ProgramOutput } from "../start_program.ts";
import { type JsonObject, parseFrames } from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

/** Whoever speaks with a program on its stdin and hears what it prints. */
export interface Caller {
  /** Says something to the model. */
  readonly say: (text: string, more?: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Sends an object as a line, or text as it is. */
  readonly send: (line: unknown) => Promise<void>;
  /** Waits until so many lines that hold a text have been printed; of a program that has ended none is awaited. */
  readonly heard: (text: string, times?: number) => Promise<void>;
  /** All frames that have been printed. */
  readonly frames: () => readonly JsonObject[];
  /** Answers every question of the control protocol from now on: with an error, or not at all for undefined. */
  readonly answer: (by: (question: JsonObject) => unknown) => void;
  /** Waits until a request with such a text has reached the API. */
  readonly asked: (text: string) => Promise<void>;
  /** The folder that the program works in. */
  readonly folder: string;
  /** The pid of the program; this process's own, if that is none. */
  readonly pid: number;
}

type Script = (caller: Caller) => Promise<void>;

/** Whoever is spoken with. */
interface Spoken extends ConversationInside {
  readonly pid: number;
}

const FORMATS = [
  ...["--input-format", "stream-json"],
  ...["--output-format", "stream-json", "--verbose"],
];

/** How long anything is waited for: on a busy machine a start takes many seconds. */
const PATIENCE_MS = 120_000;

/**
 * Holds a conversation with `claude-print`, whose stdin ends when the script does: inside this process, which takes half of
 * the CPU time of a program.
 */
export async function hold(
  real: RealClaude,
  script: Script,
  args: readonly string[] = [],
): Promise<ProgramOutput> {
  if (STARTS_PROGRAM) return await holdWithProgram(real, script, args);
  const { converseInProcess } = await loadInProcess();
  const { home: { env, project: cwd } } = real;
  const words = ["--claude-binary", real.binary, ...FORMATS, ...args];
  const spoken = await converseInProcess(words, { env, cwd });
  return await speak({ ...spoken, pid: Deno.pid }, { real, script });
}

/** The same with the program, for what it is to its child and its caller. */
export async function holdWithProgram(
  real: RealClaude,
  script: Script,
  args: readonly string[] = [],
): Promise<ProgramOutput> {
  const command = [...CLAUDE_PRINT, "--claude-binary", real.binary, ...FORMATS, ...args];
  return await speak(started(command, { real }), { real, script });
}

/** The same with `claude -p` itself. */
export async function holdWithClaude(
  real: RealClaude,
  script: Script,
  args: readonly string[] = [],
): Promise<ProgramOutput> {
  const env = { TMPDIR: `${real.home.path}/t` };
  const command = [real.binary, "-p", ...FORMATS, ...args];
  return await speak(started(command, { real, env }), { real, script });
}

function started(
  [program = "", ...args]: readonly string[],
  { real, env }: { readonly real: RealClaude; readonly env?: Readonly<Record<string, string>> },
): Spoken {
  const child = new Deno.Command(program, {
    args,
    cwd: real.home.project,
    clearEnv: true,
    env: { ...real.home.env, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const end = async () => {
    const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
    return { code, stderr };
  };
  const { pid, stdin, stdout } = child;
  return { pid, stdin, stdout, ended: end(), stop: () => child.kill("SIGTERM") };
}

async function speak(
  spoken: Spoken,
  { real, script }: { readonly real: RealClaude; readonly script: Script },
): Promise<ProgramOutput> {
  const begunWith = real.api.turns.length;
  let stdout = "";
  let hasEnded = false;
  const stirred = new Set<() => void>();
  const stir = () => {
    for (const wake of stirred) wake();
  };
  const listening = async () => {
    for await (const text of spoken.stdout.pipeThrough(new TextDecoderStream())) {
      const begun = stdout.lastIndexOf("\n") + 1;
      stdout += text;
      for (const line of stdout.slice(begun, stdout.lastIndexOf("\n") + 1).split("\n")) {
        if (line.startsWith('{"type":"control_request"')) await answerTo(JSON.parse(line));
      }
      stir();
    }
    hasEnded = true;
    stir();
  };
  const until = async (is: () => boolean, what: string) => {
    const deadline = performance.now() + PATIENCE_MS;
    while (!is() && !hasEnded) {
      if (performance.now() > deadline) {
        spoken.stop();
        throw new Error(`Cannot wait any longer for ${what}. So far:\n${stdout.slice(-4000)}`);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      stirred.add(resolve);
      // Nothing tells of a request but the API's own list.
      const timer = setTimeout(resolve, 20);
      await promise;
      clearTimeout(timer);
      stirred.delete(resolve);
    }
  };
  const stdin = spoken.stdin.getWriter();
  const send = async (line: unknown) => {
    const text = typeof line === "string" ? line : `${JSON.stringify(line)}\n`;
    // A program that has ended hears nothing.
    await stdin.write(new TextEncoder().encode(text)).catch(() => {});
  };
  let answers: (question: JsonObject) => unknown = () => undefined;
  const answerTo = async (frame: { readonly request_id: string; readonly request: JsonObject }) => {
    const response = answers(frame.request);
    if (response === undefined) return;
    const said = response instanceof Error
      ? { subtype: "error", error: response.message }
      : { subtype: "success", response };
    await send({
      type: "control_response",
      response: { ...said, request_id: frame.request_id },
    });
  };
  const speaking = async () => {
    await script({
      answer: (by) => answers = by,
      folder: real.home.project,
      pid: spoken.pid,
      frames: () => parseFrames(stdout.slice(0, stdout.lastIndexOf("\n") + 1)),
      send,
      say: async (text, more = {}) =>
        await send({
          type: "user",
          message: { role: "user", content: [{ type: "text", text }] },
          ...more,
        }),
      heard: async (text, times = 1) =>
        await until(
          () => stdout.split("\n").filter((line) => line.includes(text)).length >= times,
          `${times} of ${text}`,
        ),
      asked: async (text) =>
        await until(
          () => real.api.turns.slice(begunWith).some((request) => request.text.includes(text)),
          `a request with ${text}`,
        ),
    });
    await stdin.close().catch(() => {});
  };
  const [{ code, stderr }] = await Promise.all([spoken.ended, listening(), speaking()]);
  return { code, stdout, stderr };
}
