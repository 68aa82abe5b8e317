/**
 * Many runs of many profiles and callers in a server, while callers, children and the server are killed. Every caller gets
 * its own answer or an error that names the cause, its transcript is complete, the server does not grow, and nothing is
 * left.
 *
 * Flags: `--runs`, `--profiles`, `--parallel`, and `--seed`, which repeats a plan.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers, processesOf } from "../../leftovers.ts";
import { eventsOf } from "../../program/server/http/serve_in_process.ts";
import { StandIn } from "../../program/stand_in.ts";
import { type Program, startProgram } from "../../start_program.ts";
import { concurrently } from "../../concurrently.ts";
import { endWith, killAfter, randomNumbers } from "./soak.ts";
import { socketClient } from "../../program/server/http/socket_client.ts";

/** The size of a soak. */
export interface ServeSoakOptions {
  readonly runs: number;
  readonly profiles: number;
  /** How many callers there are at a time. */
  readonly parallel: number;
  readonly seed: number;
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

/** When the server is killed, as parts of all runs. */
const RESTARTS = [1 / 8, 1 / 4];

/** The fewest callers of a server for which its growth is measured. */
const LEAST_WORK = 150;

/** Memory of a process goes up and down: V8 and the allocator release it late. */
const FLUCTUATION = 32_000_000;
const PAGE_BYTES = 4096;

/** How long a caller may wait for an answer, and a server for its end, in milliseconds. */
const PATIENCE_MS = 600_000;

const ANSWER = "You said: {prompt}";
const answerTo = (prompt: string) => ANSWER.replace("{prompt}", prompt);

/** The prompt of a caller, and when the caller is killed. */
interface Wish {
  readonly prompt: string;
  /** Text that makes the profile unique. */
  readonly profile: string;
  /** In milliseconds from the start; undefined for never. */
  readonly killAt: number | undefined;
}

/** The outcome of a caller: killed, answered, an error that names the cause, or a failure. */
type Outcome =
  | { readonly kind: "killed" }
  | { readonly kind: "named" }
  | { readonly kind: "answered"; readonly prompts: readonly string[] }
  | { readonly kind: "failed"; readonly why: string };

type Caller = (wish: Wish) => Promise<Outcome>;

const failed = (why: string): Outcome => ({ kind: "failed", why });

/** Aborts a signal after some milliseconds; never for undefined. */
function abortAfter(ms: number | undefined) {
  const gone = new AbortController();
  const timer = ms === undefined ? undefined : setTimeout(() => gone.abort(), ms);
  return { signal: gone.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Callers by the command line, and by a run and a conversation over HTTP. */
function callersOf(
  claude: StandIn,
  { env, untilThere }: {
    readonly env: Readonly<Record<string, string>>;
    /** Waits for a server, which callers over HTTP need. */
    readonly untilThere: () => Promise<void>;
  },
) {
  const socket = `${claude.home.tmp}/claude-print-${Deno.uid()}/serve/http.sock`;
  const client = socketClient(socket);
  const flags = (profile: string) => [
    ...["--claude-binary", claude.binary, "--timeout", "600", "--append-system-prompt", profile],
  ];
  const ask = (method: string, path: string, body?: unknown, signal: AbortSignal | null = null) =>
    client.request(method, path, {
      ...{ signal, headers: { "content-type": "application/json" } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const commandLine: Caller = async ({ prompt, profile, killAt }) => {
    const { child, ended } = startProgram(
      [...CLAUDE_PRINT, ...flags(profile), "-p", prompt],
      { env, cwd: claude.home.project },
    );
    using kill = killAfter(killAt, child);
    const { code, stdout, stderr } = await ended;
    if (kill.done() && code === 137) return { kind: "killed" };
    const isOwn = stdout === `${answerTo(prompt)}\n`;
    const isClean = stderr === "" || /^claude-print: Warning: /u.test(stderr);
    if (code === 0 && isOwn && isClean) return { kind: "answered", prompts: [prompt] };
    // A server may be killed after the answer and before the exit code. Mistakes have a stack trace.
    const isNamed = /^claude-print: \S/mu.test(stderr) && !/^ {4}at /mu.test(stderr);
    if (code !== 0 && (isOwn || stdout === "") && isNamed) return { kind: "named" };
    return failed(`exit code ${code}: ${stdout}${stderr}`);
  };

  const run: Caller = async ({ prompt, profile, killAt }) => {
    await untilThere();
    using kill = abortAfter(killAt);
    return await overHttp(kill.signal, async () => {
      const body = { prompt, args: flags(profile) };
      const answer = await (await ask("POST", "/v1/run", body, kill.signal)).json();
      if (answer.result?.result === answerTo(prompt)) {
        return { kind: "answered", prompts: [prompt] };
      }
      return namedBy(answer.problem ?? answer, answer.result);
    });
  };

  const conversation: Caller = async ({ prompt, profile, killAt }) => {
    let path: string | undefined;
    const prompts = [prompt, `${prompt} again`];
    await untilThere();
    using kill = abortAfter(killAt);
    const { signal } = kill;
    try {
      return await overHttp(signal, async () => {
        // A caller that is gone before it knows the id cannot close the conversation.
        const opened = await ask("POST", "/v1/conversations", {
          profile: { args: flags(profile) },
        });
        const body = await opened.json();
        if (opened.status !== 201) return namedBy(body);
        path = `/v1/conversations/${body.id}`;
        await using events = eventsOf(await ask("GET", `${path}/events`, undefined, signal));
        for (const content of prompts) {
          const sent = await ask("POST", `${path}/messages`, { content }, signal);
          if (sent.status !== 202) return namedBy(await sent.json());
          await sent.body?.cancel();
          for (;;) {
            const { done, value } = await events.next();
            if (done === true) return failed(`the events of ${prompt} end before its result`);
            if (value.event === "end") return { kind: "named" };
            if (value.data.type !== "result") continue;
            if (value.data.result !== answerTo(content)) return namedBy({}, value.data);
            break;
          }
        }
        return { kind: "answered", prompts };
      });
    } finally {
      // A server that was killed does not know the conversation.
      if (path !== undefined) await ask("DELETE", path).then((it) => it.body?.cancel(), () => {});
    }
  };

  return {
    callers: [commandLine, commandLine, run, conversation] as const,
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** A broken connection tells an HTTP caller that the server is gone. */
async function overHttp(gone: AbortSignal, talk: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await talk();
  } catch (error) {
    if (gone.aborted) return { kind: "killed" };
    return /^(?:error (?:sending|reading|decoding)|fetch failed)|connection/u.test(
        (error as Error).message,
      )
      ? { kind: "named" }
      : failed(`${(error as Error).stack}`);
  }
}

/** Whether a problem or a result names the cause of an error. */
function namedBy(
  problem: { readonly detail?: unknown },
  result?: { readonly is_error?: unknown },
): Outcome {
  const isNamed = typeof problem.detail === "string" && !/mistake/u.test(problem.detail);
  return isNamed || result?.is_error === true
    ? { kind: "named" }
    : failed(JSON.stringify({ problem, result }));
}

export async function serveSoak(
  { runs, profiles, parallel, seed }: ServeSoakOptions,
): Promise<ServeSoakReport> {
  await using claude = await StandIn.set({ turns: [[{ text: ANSWER }]] });
  // The soak has its own servers.
  const { XDG_RUNTIME_DIR: _, ...env } = claude.home.env;
  const cwd = claude.home.project;
  const random = randomNumbers(seed);
  const failures: string[] = [];
  const killed = { callers: 0, children: 0, servers: 0 };
  const prompts: string[] = [];
  let named = 0;
  let server = await started(env, cwd);
  let restarting: Promise<void> = Promise.resolve();
  using ways = callersOf(claude, { env, untilThere: () => restarting });

  const restart = async () => {
    server.child.kill("SIGKILL");
    killed.servers++;
    failures.push(...mistakesIn((await server.ended).stderr));
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
  let before = 0;
  await concurrently(plans, {
    limit: parallel,
    each: async ({ index, caller, killsChild, ...wish }) => {
      if (restartsAt.includes(index)) restarting = restarting.then(restart);
      if (index === middle) {
        // A server that is being replaced cannot be measured.
        await restarting;
        before = residentBytes(server.child.pid);
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
    : residentBytes(server.child.pid) - before;
  if (memoryGrowth !== undefined && memoryGrowth > FLUCTUATION) {
    failures.push(`the last server has grown by ${memoryGrowth} bytes in ${runs - middle} runs`);
  }
  server.child.kill("SIGTERM");
  using drained = abortAfter(PATIENCE_MS);
  drained.signal.addEventListener("abort", () => {
    failures.push("the server does not end");
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
  const left = await leftovers(claude.home);
  return { answered: prompts.length, named, killed, failures, leftovers: left, memoryGrowth };
}

/** The outcome of a caller, or a failure after a time limit. */
async function inTime(outcome: Promise<Outcome>, prompt: string): Promise<Outcome> {
  using late = abortAfter(PATIENCE_MS);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  late.signal.addEventListener("abort", () => resolve(failed(`"${prompt}" has no outcome`)));
  return await Promise.race([outcome, promise]);
}

/** Messages of a server about killed children. */
const OF_KILLED =
  /^claude-print: (?:A Claude Code that waited in |.* (?:of its answer and was killed|was killed after its answer))/u;

/** Other messages on the server's stderr. */
function mistakesIn(stderr: string): readonly string[] {
  return stderr.split("\n")
    .filter((line) => line !== "" && !OF_KILLED.test(line))
    .map((line) => `serve: ${line}`);
}

/**
 * Answers that are not in exactly one transcript. A child that is killed right after its answer may lose lines: Claude Code
 * writes them after a tenth of a second.
 */
function incomplete(
  claude: StandIn,
  { prompts, most }: { readonly prompts: readonly string[]; readonly most: number },
): readonly string[] {
  const transcripts = [...claude.transcripts().values()];
  const counts = prompts.map((prompt) => ({
    prompt,
    count: transcripts.filter((text) => text.includes(`${answerTo(prompt)}"`)).length,
  }));
  const missing = counts.filter(({ count }) => count === 0).length;
  return counts.filter(({ count }) => count > 1 || (count === 0 && missing > most))
    .map(({ prompt, count }) => `${count} transcripts have "${prompt}"`);
}

/** Starts a server, and waits until it listens. */
async function started(env: Readonly<Record<string, string>>, cwd: string): Promise<Program> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const command = [...CLAUDE_PRINT, "serve", "--max", "4"];
  const program = startProgram(command, { env, cwd, onStdout: () => resolve() });
  const exit = program.ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
  exit.catch(() => {});
  await Promise.race([promise, exit]);
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
  const { answered, named, killed, memoryGrowth, ...report } = await serveSoak(options);
  const { callers, children, servers } = killed;
  endWith({
    ...{ ...options, answered, named },
    killed: `${callers} callers, ${children} children, ${servers} servers`,
    growth: memoryGrowth === undefined ? "not measured" : `${(memoryGrowth / 1e6).toFixed(1)} MB`,
  }, [...report.failures, ...report.leftovers]);
}
