import { join } from "node:path";
import { z } from "zod/mini";
import { DEFAULT_WINDOW_SIZE } from "../../ffi/terminal/pty.ts";
import { parseArguments } from "../../src/cli/arguments/parse_arguments.ts";
import { type PreparedRun, prepareRun } from "../../src/run/prepare_run.ts";
import { PROMPT } from "./prompt.ts";
import type { World } from "./world.ts";

/** A child for `bare_tui.py`; one without a FIFO is only read until it ends. */
export interface BareSession {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: string;
  readonly fifo?: string;
  /** The child's config dir, whose status file tells when it is idle. */
  readonly config?: string;
}

/** What became of it: milliseconds from the first spawn, and the bytes read from its terminal. */
export type BareOutcome = z.infer<typeof outcomeSchema>;

const outcomeSchema = z.object({
  spawned: z.number(),
  stop: z.nullable(z.number()),
  exited: z.number(),
  status: z.number(),
  bytes: z.number(),
});

const PROGRAM = join(import.meta.dirname ?? ".", "bare_tui.py");

/** The version of the python3 on PATH; `undefined` when there is none that the bench can use. */
export async function pythonVersion(): Promise<string | undefined> {
  const script = "import os, sys; os.pidfd_open; print('%d.%d.%d' % sys.version_info[:3])";
  try {
    const { success, stdout } = await new Deno.Command("python3", {
      args: ["-c", script],
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
}

/** Runs all the sessions at once under `bare_tui.py`. */
export async function runBareSessions(
  sessions: readonly BareSession[],
): Promise<readonly BareOutcome[]> {
  const child = new Deno.Command("python3", {
    args: ["-I", "-S", PROGRAM],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(
    sessions.map((session) => ({ ...session, ...DEFAULT_WINDOW_SIZE })),
  )));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Cannot run the bare TUI: bare_tui.py failed");
  return z.array(outcomeSchema).parse(JSON.parse(new TextDecoder().decode(stdout)));
}

/** What claude-print leaves out of Claude Code's own start by its settings. */
const LEFT_OUT: readonly string[] = ["enabledPlugins", "spinnerTipsOverride"];

/**
 * Runs bare TUIs at once, each with the sandbox, arguments and environment claude-print would give it, and says
 * how long they took from the first spawn to the last Stop and to the last end, in milliseconds.
 *
 * The sandboxes are made before, and Python is running before: neither counts.
 *
 * @param options.asItComes whether Claude Code does all that it does of itself at its start, as where a user starts it
 * @throws {Error} when one of them does not come to its Stop
 */
export async function runBareTui(
  world: World,
  count: number,
  options: { readonly asItComes?: boolean } = {},
): Promise<{ readonly wallMs: number; readonly stopMs: number }> {
  using stack = new DisposableStack();
  const sessions: BareSession[] = [];
  for (let made = 0; made < count; made++) {
    const prepared = await prepare(world);
    const { binary, args, env, sandbox } = prepared;
    stack.use(sandbox);
    dropSettings(sandbox.settingsPath, options.asItComes === true ? LEFT_OUT : []);
    const { project: cwd } = world.homes.bareTui;
    const { stdinPath: stdin = "/dev/null", fifoPath: fifo, configDir: config } = sandbox;
    sessions.push({ binary, args, env, cwd, stdin, fifo, config });
  }
  const outcomes = await runBareSessions(sessions);
  const stops = outcomes.map(({ stop, status }) => {
    if (stop === null) throw new Error(`The bare TUI ended before Stop, with status ${status}`);
    return stop;
  });
  return {
    wallMs: Math.max(...outcomes.map(({ exited }) => exited)),
    stopMs: Math.max(...stops),
  };
}

/**
 * Takes settings away, and the hook by which claude-print keeps its child at the end: it waits for an answer, which
 * nobody gives here.
 */
function dropSettings(settingsPath: string, names: readonly string[]): void {
  const { hooks: { SessionEnd: _, ...hooks }, ...settings } = JSON.parse(
    Deno.readTextFileSync(settingsPath),
  );
  const kept = Object.entries(settings).filter(([name]) => !names.includes(name));
  Deno.writeTextFileSync(settingsPath, JSON.stringify({ ...Object.fromEntries(kept), hooks }));
}

/** What claude-print would start for the bench's prompt. */
async function prepare({ claude, homes: { bareTui } }: World): Promise<PreparedRun> {
  const command = await parseArguments(["-p", "--claude-binary", claude, PROMPT]);
  if (command.kind !== "run") throw new Error("The bench's command line is no run");
  return await prepareRun({
    ...command.request,
    prompt: PROMPT,
    cwd: bareTui.project,
    env: bareTui.env,
    frames: false,
    retries: false,
  });
}
