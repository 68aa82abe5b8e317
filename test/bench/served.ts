import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import { runPrintMode } from "./print_mode.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_RATIO = 0.6;

/** How long a Claude Code has waited for its first message, in milliseconds: it has done with its start by then. */
const WAITED_MS = 3000;

/** How many callers there are at a time, and how many runs each of them makes one after the other. */
const CALLERS = 16;
const RUNS_OF_EACH = 2;

/**
 * Measures `claude-print -p` that a server carries out: alone, with a Claude Code that has waited for it, in turns with
 * `claude -p`; and how many of them are over in a second when many callers ask at once.
 */
export async function measureServed(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const own: number[] = [];
  const theirs: number[] = [];
  const { printMode } = world.homes;
  await using server = await startServer(world);
  // A Claude Code waits for a run once there has been one of its kind.
  await runServed(world, server);
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`runs in a server, round ${round} of ${options.runs}`);
    await server.untilReady();
    await sleep(WAITED_MS);
    const times = [await runServed(world, server), await runPrintMode(world.claude, printMode)];
    // What follows the start of a child is loaded in the first one.
    if (round === 0) continue;
    own.push(times[0] ?? NaN);
    theirs.push(times[1] ?? NaN);
  }
  const ratio = median(own) / median(theirs);
  const second = await measureSecondRun(world, options);
  options.onRound(`${CALLERS} callers`);
  await server.untilReady();
  const ownRate = await runsASecond(() => runServed(world, server));
  const otherRate = await runsASecond(() => runPrintMode(world.claude, printMode));
  return [
    {
      what: "claude-print -p, warm",
      value: `${median(own).toFixed(0)} ms`,
      against: `claude -p, ${median(theirs).toFixed(0)} ms`,
      ratio,
      target: { text: `<= ${MAX_RATIO} x`, ok: ratio <= MAX_RATIO },
    },
    second,
    {
      what: `${CALLERS} callers of a server`,
      value: `${ownRate.toFixed(2)} runs/s`,
      against: `claude -p, ${otherRate.toFixed(2)} runs/s`,
      ratio: ownRate / otherRate,
      target: { text: ">= 1 x", ok: ownRate >= otherRate },
    },
  ];
}

/**
 * Measures the second of two runs of which the first starts a server in the background, in turns with `claude -p`. In each
 * round there is no server at first.
 */
async function measureSecondRun(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<Row> {
  const own: number[] = [];
  const theirs: number[] = [];
  const { claudePrint, printMode } = world.homes;
  const env = { ...await runtimeEnv(claudePrint), CLAUDE_PRINT_SERVE: "auto" };
  const path = `${env.XDG_RUNTIME_DIR}/claude-print/http.sock`;
  for (let round = 1; round <= options.runs; round++) {
    options.onRound(`second runs, round ${round} of ${options.runs}`);
    await runServed(world, { env });
    while (await Deno.lstat(path).catch(() => undefined) === undefined) await sleep(50);
    using server = askServer(path);
    await server.untilReady();
    await sleep(WAITED_MS);
    own.push(await runServed(world, { env }));
    theirs.push(await runPrintMode(world.claude, printMode));
    await server.stop();
    while (await Deno.lstat(path).catch(() => undefined) !== undefined) await sleep(50);
  }
  await Deno.remove(env.XDG_RUNTIME_DIR, { recursive: true });
  const ratio = median(own.map((ms, round) => ms / (theirs[round] ?? NaN)));
  return {
    what: "the second run, with --warm",
    value: `${median(own).toFixed(0)} ms`,
    against: `claude -p, ${median(theirs).toFixed(0)} ms`,
    ratio,
    target: { text: "<= 1 x", ok: ratio <= 1 },
  };
}

/** How many runs are over in a second where each caller begins one when its last one is over. */
async function runsASecond(run: () => Promise<number>): Promise<number> {
  const begunAt = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    for (let done = 0; done < RUNS_OF_EACH; done++) await run();
  }));
  return CALLERS * RUNS_OF_EACH / ((performance.now() - begunAt) / 1000);
}

/** A server with one Claude Code that waits. */
interface Served extends AsyncDisposable {
  /** What has runs find it. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves once a Claude Code waits that can take a message. */
  readonly untilReady: () => Promise<void>;
}

/** The environment of a home, with a folder of its own for the sockets of a server. */
async function runtimeEnv({ path, env }: ThrowawayHome) {
  const folder = await Deno.makeTempDir({ dir: path, prefix: "x" });
  return { ...env, XDG_RUNTIME_DIR: folder };
}

/** Asks a server by its HTTP socket. */
function askServer(path: string) {
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  const ask = async (path: string, method = "GET") =>
    await (await fetch(`http://localhost${path}`, { client, method })).text();
  return {
    untilReady: async () => {
      while (!/_pool_children\{ready="true"\} [1-9]/u.test(await ask("/metrics"))) await sleep(50);
    },
    stop: () => ask("/v1/server", "DELETE"),
    [Symbol.dispose]: () => client.close(),
  };
}

async function startServer({ homes: { claudePrint } }: World): Promise<Served> {
  const env = await runtimeEnv(claudePrint);
  const [program = "", ...args] = CLAUDE_PRINT_CACHED;
  const child = new Deno.Command(program, {
    args: [...args, "serve"],
    cwd: claudePrint.project,
    clearEnv: true,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  // The first line is the socket on which it speaks HTTP.
  const [path = ""] = new TextDecoder().decode(value).split("\n");
  const server = askServer(path);
  return {
    env,
    untilReady: server.untilReady,
    [Symbol.asyncDispose]: async () => {
      server[Symbol.dispose]();
      child.kill("SIGTERM");
      await child.status;
      await reader.cancel();
      await Deno.remove(env.XDG_RUNTIME_DIR, { recursive: true });
    },
  };
}

/** Runs claude-print where it finds the server, and says how long it took, in milliseconds. */
async function runServed(
  { claude, homes: { claudePrint } }: World,
  { env }: Pick<Served, "env">,
): Promise<number> {
  const [program = "", ...own] = CLAUDE_PRINT_CACHED;
  const startedAt = performance.now();
  const { success, code, stdout, stderr } = await new Deno.Command(program, {
    args: [...own, "--claude-binary", claude, "-p", PROMPT],
    cwd: claudePrint.project,
    clearEnv: true,
    env: { ...env },
    stdin: "null",
  }).output();
  const wallMs = performance.now() - startedAt;
  if (!success || stdout.length === 0) {
    throw new Error(
      `claude-print failed with exit code ${code}: ${new TextDecoder().decode(stderr)}`,
    );
  }
  return wallMs;
}

const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));
