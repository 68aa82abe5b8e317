/**
 * Many runs that a server carries out, of many profiles and of many callers at once, while callers, children and the
 * server itself are killed: every caller gets its own answer or a named error, its transcript is whole, the server does
 * not grow, and nothing is left.
 *
 * Flags: `--runs`, `--profiles`, `--parallel`, and `--seed`, which makes the same plan again.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { leftovers, processesOf } from "../leftovers.ts";
import { StandIn } from "../standin/stand_in.ts";
import { type Program, startProgram } from "../start_program.ts";
import { concurrently } from "./concurrently.ts";
import { randomNumbers } from "./random_numbers.ts";

/** How much is run. */
export interface ServeSoakOptions {
  readonly runs: number;
  readonly profiles: number;
  /** How many callers there are at a time. */
  readonly parallel: number;
  /** A whole number from which everything random follows. */
  readonly seed: number;
}

/** What came of it. */
export interface ServeSoakReport {
  readonly answered: number;
  /** Errors that a caller was told of by name, after something of its run was killed. */
  readonly named: number;
  readonly killed: {
    readonly callers: number;
    readonly children: number;
    readonly servers: number;
  };
  readonly failures: readonly string[];
  readonly leftovers: readonly string[];
  /** How much the last server has grown since its first answers, in bytes. */
  readonly memoryGrowth: number;
}

/** After how many answers a server has all that it needs. */
const WARM_UP = 10;

const PAGE_BYTES = 4096;

/** Runs it all. */
export async function serveSoak(options: ServeSoakOptions): Promise<ServeSoakReport> {
  const { runs, profiles, parallel, seed } = options;
  await using claude = await StandIn.set({ turns: [[{ text: "You said: {prompt}" }]] });
  // Its servers are its own, also where one carries out what all tests run.
  const { XDG_RUNTIME_DIR: _, ...env } = claude.home.env;
  const cwd = claude.home.project;
  const random = randomNumbers(seed);
  const failures: string[] = [];
  const killed = { callers: 0, children: 0, servers: 0 };
  const prompts: string[] = [];
  let named = 0;
  let server = await started(env, cwd);
  let first = 0;
  let answersOfServer = 0;
  let isRestarting = false;
  const restart = async () => {
    isRestarting = true;
    const { child, ended } = server;
    child.kill("SIGKILL");
    killed.servers++;
    await ended;
    server = await started(env, cwd);
    answersOfServer = 0;
    isRestarting = false;
  };
  const killChild = async () => {
    const pids = processesOf(claude.home.path)
      .map((process) => Number(/^process (\d+):/u.exec(process)?.[1]));
    const starts = new Set((await claude.journal("start")).map(({ pid }) => pid));
    const alive = pids.filter((pid) => starts.has(pid));
    const pid = alive[Math.floor(random() * alive.length)];
    if (pid === undefined) return;
    try {
      Deno.kill(pid, "SIGKILL");
      killed.children++;
    } catch {
      // It has just ended.
    }
  };
  const plans = Array.from({ length: runs }, (_, index) => ({
    prompt: `prompt ${index} of ${seed}`,
    profile: `You are number ${Math.floor(random() * profiles)}.`,
    killAt: index % 5 === 4 ? random() * 1500 : undefined,
    killsChild: index % 50 === 15,
    restarts: index === Math.floor(runs / 3) || index === Math.floor((2 * runs) / 3),
  }));
  let restarting: Promise<void> = Promise.resolve();
  await concurrently(plans, {
    limit: parallel,
    each: async ({ prompt, profile, killAt, killsChild, restarts }) => {
      if (restarts) restarting = restarting.then(restart);
      const command = [...CLAUDE_PRINT, "--claude-binary", claude.binary];
      const { child, ended } = startProgram(
        [...command, "--timeout", "60", "--append-system-prompt", profile, "-p", prompt],
        { env, cwd },
      );
      let wasKilled = false;
      const timer = killAt === undefined ? undefined : setTimeout(() => {
        try {
          child.kill("SIGKILL");
          wasKilled = true;
        } catch {
          // It has just ended by itself.
        }
      }, killAt);
      if (killsChild) await killChild();
      const { code, stdout, stderr } = await ended;
      clearTimeout(timer);
      if (wasKilled && code === 137) killed.callers++;
      else if (code === 0 && stdout === `You said: ${prompt}\n`) {
        prompts.push(prompt);
        answersOfServer++;
        if (answersOfServer === WARM_UP && !isRestarting) first = residentBytes(server.child.pid);
      } else if (isOwnOrNothing(stdout, prompt) && /^claude-print: Cannot .+\n/mu.test(stderr)) {
        named++;
      } else failures.push(`exit code ${code}: ${stdout}${stderr}`);
    },
  });
  await restarting;
  const last = answersOfServer > WARM_UP ? residentBytes(server.child.pid) : first;
  server.child.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  if (code !== 0) failures.push(`serve: exit code ${code}: ${stderr}`);
  const most = killed.children + killed.servers * parallel;
  if (named > most) failures.push(`${named} errors for ${most} runs of which something was killed`);
  const swept = await startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd }).ended;
  if (swept.code !== 0) failures.push(`sweep: ${swept.stdout}${swept.stderr}`);
  const transcripts = [...claude.transcripts().values()];
  for (const prompt of prompts) {
    const whole = transcripts.filter((text) => text.includes(`You said: ${prompt}"`));
    if (whole.length !== 1) failures.push(`${whole.length} transcripts have "${prompt}"`);
  }
  return {
    answered: prompts.length,
    named,
    killed,
    failures,
    leftovers: await leftovers(claude.home),
    memoryGrowth: Math.max(0, last - first),
  };
}

/** A server may be killed once the answer is printed, but not yet how the run has ended. */
function isOwnOrNothing(stdout: string, prompt: string): boolean {
  return stdout === "" || stdout === `You said: ${prompt}\n`;
}

/** Starts a server, and waits until it listens. */
async function started(env: Readonly<Record<string, string>>, cwd: string): Promise<Program> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const program = startProgram([...CLAUDE_PRINT, "serve", "--max", "4"], {
    env,
    cwd,
    onStdout: () => resolve(),
  });
  const failed = program.ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
  // That it ends later is what is waited for.
  failed.catch(() => {});
  await Promise.race([promise, failed]);
  return program;
}

function residentBytes(pid: number): number {
  const [, pages = "0"] = Deno.readTextFileSync(`/proc/${pid}/statm`).split(" ");
  return Number(pages) * PAGE_BYTES;
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, { string: ["runs", "profiles", "parallel", "seed"] });
  const options = {
    runs: Number(args.runs ?? 1000),
    profiles: Number(args.profiles ?? 20),
    parallel: Number(args.parallel ?? 16),
    seed: Number(args.seed ?? Date.now() % 2 ** 31),
  };
  const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  print(`seed               ${options.seed}`);
  const report = await serveSoak(options);
  const { callers, children, servers } = report.killed;
  print(`runs               ${options.runs}, ${options.parallel} at a time`);
  print(`answered           ${report.answered}`);
  print(`named errors       ${report.named}`);
  print(`killed             ${callers} callers, ${children} children, ${servers} servers`);
  print(`failures           ${report.failures.length}`);
  print(`leftovers          ${report.leftovers.length}`);
  print(`memory growth      ${(report.memoryGrowth / 1e6).toFixed(1)} MB of the last server`);
  for (const line of [...report.failures, ...report.leftovers].slice(0, 10)) print(`- ${line}`);
  Deno.exit(report.failures.length + report.leftovers.length === 0 ? 0 : 1);
}
