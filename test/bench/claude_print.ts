import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { PROMPT } from "./prompt.ts";
import type { World } from "./world.ts";

/** What one run of claude-print took. */
export interface ClaudePrintRun {
  /** From its start to its end, in milliseconds. */
  readonly wallMs: number;
  /** The most memory its own process held, in MB of 1 000 000 bytes; its children do not count. */
  readonly peakMb: number;
}

/** What such a run tells of itself. */
export interface TracedRun {
  /** From its start to the Stop hook's news, in milliseconds. */
  readonly stopMs: number;
  /** From that news to the order to go, in milliseconds. */
  readonly endingMs: number;
}

/** How often the process is asked for its peak; the kernel's high-water mark forgets nothing in between. */
const MEMORY_TICK_MS = 5;

/**
 * Runs claude-print from this checkout as its user would, or another program that does the same.
 *
 * @param options.program what to start in place of the sources
 * @param options.watchMemory whether the peak is looked for, which costs some time
 * @throws {Error} when the run fails
 */
export async function runClaudePrint(
  world: World,
  options: {
    readonly args?: readonly string[];
    readonly program?: readonly string[];
    readonly watchMemory?: boolean;
  } = {},
): Promise<ClaudePrintRun> {
  const startedAt = performance.now();
  const child = start(world, options.args, options.program);
  let peakMb = 0;
  const memory = options.watchMemory === true
    ? setInterval(() => peakMb = peakOf(child.pid) ?? peakMb, MEMORY_TICK_MS)
    : undefined;
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.status,
  ]);
  const wallMs = performance.now() - startedAt;
  clearInterval(memory);
  requireAnswer(status, stdout, stderr);
  return { wallMs, peakMb };
}

/**
 * Runs it under `--trace`, for which it loads more than its user has it load.
 *
 * @throws {Error} when the run fails
 */
export async function traceClaudePrint(world: World): Promise<TracedRun> {
  const startedAt = performance.now();
  const child = start(world, ["--trace"]);
  const [stdout, { stopMs, text }, status] = await Promise.all([
    new Response(child.stdout).text(),
    readTrace(child.stderr, startedAt),
    child.status,
  ]);
  requireAnswer(status, stdout, text);
  if (stopMs === undefined) throw new Error(`claude-print has told of no Stop hook:\n${text}`);
  return { stopMs, endingMs: tracedAt(text, "ending:") - tracedAt(text, "hook Stop") };
}

function start(
  world: World,
  args: readonly string[] = [],
  [program = "", ...own]: readonly string[] = CLAUDE_PRINT_CACHED,
): Deno.ChildProcess {
  const { env, project } = world.homes.claudePrint;
  return new Deno.Command(program, {
    args: [...own, "--claude-binary", world.claude, "-p", ...args, PROMPT],
    cwd: project,
    clearEnv: true,
    env: { ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

function requireAnswer({ success, code }: Deno.CommandStatus, stdout: string, stderr: string) {
  if (success && stdout !== "") return;
  throw new Error(`claude-print failed with exit code ${code}:\n${stderr}${stdout}`);
}

/** Reads what `--trace` says, and when it told of Stop. */
async function readTrace(stream: ReadableStream<Uint8Array>, startedAt: number) {
  let text = "";
  let stopMs: number | undefined;
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (stopMs === undefined && text.includes("hook Stop\n")) {
      stopMs = performance.now() - startedAt;
    }
  }
  return { text, stopMs };
}

/** When something was traced, in milliseconds. */
function tracedAt(text: string, what: string): number {
  const line = text.split("\n").find((line) => line.includes(`ms] ${what}`));
  return Number(/^\[ *(\d+) ms\]/u.exec(line ?? "")?.[1]);
}

/** `VmHWM` of proc_pid_status(5); `undefined` when the process is gone. */
function peakOf(pid: number): number | undefined {
  try {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/mu.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
    return kibibytes === null ? undefined : Number(kibibytes[1]) * 1024 / 1_000_000;
  } catch {
    return undefined;
  }
}
