/**
 * Many runs that a server carries out, of many profiles and of many callers at once, while callers, children and the
 * server itself are killed: every caller gets its own answer or a named error, its transcript is whole, the server does
 * not grow, and nothing is left.
 *
 * Flags: `--runs`, `--profiles`, `--parallel`, `--http` for callers that all speak HTTP, and `--seed`, which makes the
 * same plan again.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { leftovers, processesOf } from "../leftovers.ts";
import { StandIn } from "../standin/stand_in.ts";
import { type Program, startProgram } from "../start_program.ts";
import { concurrently } from "./concurrently.ts";
import { randomNumbers } from "./soak.ts";
import { ANSWER, killer, type Outcome, soakCallers } from "./soak_callers.ts";

/** The size of a soak. */
export interface ServeSoakOptions {
  readonly runs: number;
  readonly profiles: number;
  /** How many callers there are at a time. */
  readonly parallel: number;
  /** A whole number from which everything random follows. */
  readonly seed: number;
  /** Whether all callers speak HTTP; half of them do by default. */
  readonly overHttpAlone?: boolean;
}

/** The report of a soak. */
export interface ServeSoakReport {
  readonly answered: number;
  /** Errors that name the cause, after a part of the run was killed. */
  readonly named: number;
  readonly killed: {
    readonly callers: number;
    readonly children: number;
    readonly servers: number;
  };
  readonly failures: readonly string[];
  readonly leftovers: readonly string[];
  /** Growth of the last server in the second half of its work, in bytes; absent for a short soak. */
  readonly memoryGrowth: number | undefined;
}

/** When the server is killed, as parts of all runs: the last one has most of them, so that one that grows is seen. */
const RESTARTS = [1 / 8, 1 / 4];

/** The fewest callers of a server for which its growth is measured. */
const LEAST_WORK = 150;
/** Memory of a process goes up and down: V8 and the allocator give back late what they have. */
const FLUCTUATION = 32_000_000;

const PAGE_BYTES = 4096;

/** How long a caller may wait for an answer or an error, and a server for its end, in milliseconds. */
const PATIENCE_MS = 600_000;

export async function serveSoak(options: ServeSoakOptions): Promise<ServeSoakReport> {
  const { runs, profiles, parallel, seed, overHttpAlone = false } = options;
  await using claude = await StandIn.set({ turns: [[{ text: ANSWER }]] });
  // Its servers are its own, also where one carries out what all tests run.
  const { XDG_RUNTIME_DIR: _, ...env } = claude.home.env;
  const cwd = claude.home.project;
  const random = randomNumbers(seed);
  const failures: string[] = [];
  const killed = { callers: 0, children: 0, servers: 0 };
  const prompts: string[] = [];
  let named = 0;
  let server = await started(env, cwd);
  let restarting: Promise<void> = Promise.resolve();
  using ways = soakCallers(claude, { env, overHttpAlone, untilThere: () => restarting });
  const restart = async () => {
    const { child, ended } = server;
    child.kill("SIGKILL");
    killed.servers++;
    failures.push(...mistakesIn((await ended).stderr));
    server = await started(env, cwd);
  };
  const killChild = async () => {
    // Another process may have the pid by now. No caller has a mode on its command line.
    const pids = processesOf(claude.home.path)
      .filter((process) => process.includes(" --permission-mode="))
      .map((process) => Number(/^process (\d+):/u.exec(process)?.[1]));
    const starts = new Set((await claude.journal("start")).map(({ pid }) => pid));
    const alive = pids.filter((pid) => starts.has(pid));
    const pid = alive[Math.floor(random() * alive.length)];
    if (pid === undefined) return;
    try {
      Deno.kill(pid, "SIGKILL");
      killed.children++;
    } catch {
      // The process has just ended.
    }
  };
  const restartsAt = RESTARTS.map((part) => Math.floor(runs * part));
  const middle = Math.floor((runs + (restartsAt.at(-1) ?? 0)) / 2);
  const plans = Array.from({ length: runs }, (_, index) => ({
    index,
    caller: ways.callers[index % ways.callers.length] ?? ways.callers[0],
    prompt: `prompt ${index} of ${seed}`,
    profile: `You are number ${Math.floor(random() * profiles)}.`,
    killAt: index % 5 === 4 ? random() * 1500 : undefined,
    killsChild: index % 50 === 15,
  }));
  let grown = 0;
  await concurrently(plans, {
    limit: parallel,
    each: async ({ index, caller, killsChild, ...wish }) => {
      if (restartsAt.includes(index)) restarting = restarting.then(restart);
      if (index === middle) {
        // A server that is being replaced cannot be measured.
        await restarting;
        grown = residentBytes(server.child.pid);
      }
      if (killsChild) await killChild();
      const outcome = await inTime(caller(wish), wish.prompt);
      if (outcome.kind === "killed") killed.callers++;
      else if (outcome.kind === "named") named++;
      else if (outcome.kind === "failed") failures.push(outcome.why);
      else prompts.push(...outcome.prompts);
    },
  });
  await restarting;
  const memoryGrowth = runs - middle < LEAST_WORK
    ? undefined
    : residentBytes(server.child.pid) - grown;
  if (memoryGrowth !== undefined && memoryGrowth > FLUCTUATION) {
    failures.push(`the last server has grown by ${memoryGrowth} bytes in ${runs - middle} runs`);
  }
  server.child.kill("SIGTERM");
  using drained = killer(PATIENCE_MS);
  drained.signal.addEventListener("abort", () => {
    failures.push("the server does not come to its end");
    server.child.kill("SIGKILL");
  });
  const { code, stderr } = await server.ended;
  failures.push(...mistakesIn(stderr));
  if (code !== 0) failures.push(`serve: exit code ${code}: ${stderr}`);
  const most = killed.children + killed.servers * parallel;
  if (named > most) failures.push(`${named} errors for ${most} runs of which something was killed`);
  const swept = await startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd }).ended;
  if (swept.code !== 0) failures.push(`sweep: ${swept.stdout}${swept.stderr}`);
  failures.push(...incomplete(claude, { prompts, most: killed.children }));
  return {
    answered: prompts.length,
    named,
    killed,
    failures,
    leftovers: await leftovers(claude.home),
    memoryGrowth,
  };
}

/** The outcome of a caller, or a failure after a time limit. */
async function inTime(outcome: Promise<Outcome>, prompt: string): Promise<Outcome> {
  using late = killer(PATIENCE_MS);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  late.signal.addEventListener("abort", () => {
    resolve({ kind: "failed", why: `nothing is heard of "${prompt}" any more` });
  });
  return await Promise.race([outcome, promise]);
}

/** Messages of a server about killed children. */
const OF_KILLED =
  /^claude-print: (?:A Claude Code that waited in |.* (?:of its answer and was killed|was killed behind its answer))/u;

/** Other messages on the server's stderr. */
function mistakesIn(stderr: string): readonly string[] {
  return stderr.split("\n")
    .filter((line) => line !== "" && !OF_KILLED.test(line))
    .map((line) => `serve: ${line}`);
}

/**
 * Answers that are not in one transcript. A child that is killed right after its answer takes along what it has not
 * written yet: Claude Code keeps lines for a tenth of a second.
 */
function incomplete(
  claude: StandIn,
  { prompts, most }: { readonly prompts: readonly string[]; readonly most: number },
): readonly string[] {
  const transcripts = [...claude.transcripts().values()];
  const counts = prompts.map((prompt) =>
    [
      prompt,
      transcripts.filter((text) => text.includes(`${ANSWER.replace("{prompt}", prompt)}"`)).length,
    ] as const
  );
  const missing = counts.filter(([, count]) => count === 0);
  return counts.filter(([, count]) => count > 1 || (count === 0 && missing.length > most))
    .map(([prompt, count]) => `${count} transcripts have "${prompt}"`);
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
  failed.catch(() => {});
  await Promise.race([promise, failed]);
  return program;
}

function residentBytes(pid: number): number {
  const [, pages = "0"] = Deno.readTextFileSync(`/proc/${pid}/statm`).split(" ");
  return Number(pages) * PAGE_BYTES;
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, {
    string: ["runs", "profiles", "parallel", "seed"],
    boolean: ["http"],
  });
  const options = {
    runs: Number(args.runs ?? 1000),
    profiles: Number(args.profiles ?? 20),
    parallel: Number(args.parallel ?? 16),
    seed: Number(args.seed ?? Date.now() % 2 ** 31),
    overHttpAlone: args.http,
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
  const growth = report.memoryGrowth;
  const grown = growth === undefined ? "not measured" : `${(growth / 1e6).toFixed(1)} MB`;
  print(`memory growth      ${grown} of the last server`);
  for (const line of [...report.failures, ...report.leftovers].slice(0, 10)) print(`- ${line}`);
  Deno.exit(report.failures.length + report.leftovers.length === 0 ? 0 : 1);
}
