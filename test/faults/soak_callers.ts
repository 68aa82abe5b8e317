import { CLAUDE_PRINT } from "../claude_print.ts";
import { eventsOf } from "../serve/http/serve_here.ts";
import type { StandIn } from "../standin/stand_in.ts";
import { startProgram } from "../start_program.ts";

/** The prompt of a caller, and when the caller is killed. */
export interface Wish {
  readonly prompt: string;
  /** Text that makes the profile unique. */
  readonly profile: string;
  /** When it is killed, in milliseconds from its start; undefined for never. */
  readonly killAt: number | undefined;
}

/** The outcome of a caller. */
export type Outcome =
  | { readonly kind: "killed" }
  /** The caller got the answers to its prompts. */
  | { readonly kind: "answered"; readonly prompts: readonly string[] }
  /** The caller got an error that names the cause. */
  | { readonly kind: "named" }
  | { readonly kind: "failed"; readonly why: string };

/** Whoever wants something of a server. */
export type Caller = (wish: Wish) => Promise<Outcome>;

/** The answer to a prompt. */
export const ANSWER = "You said: {prompt}";

/** The ways to a server: the command line, a run over HTTP, and a conversation over HTTP. */
export function soakCallers(
  claude: StandIn,
  { env, untilThere, overHttpAlone }: {
    readonly env: Readonly<Record<string, string>>;
    /** Whether all callers use HTTP. */
    readonly overHttpAlone: boolean;
    /** Resolves as soon as there is a server: who speaks HTTP has no other way. */
    readonly untilThere: () => Promise<void>;
  },
) {
  const socket = `${claude.home.tmp}/claude-print-${Deno.uid()}/serve/http.sock`;
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket } });
  const flags = (profile: string) => [
    ...["--claude-binary", claude.binary, "--timeout", "600"],
    ...["--append-system-prompt", profile],
  ];
  const ask = async (
    method: string,
    path: string,
    { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
  ) =>
    await fetch(`http://localhost${path}`, {
      ...{ method, client },
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });

  const commandLine: Caller = async ({ prompt, profile, killAt }) => {
    const { child, ended } = startProgram(
      [...CLAUDE_PRINT, ...flags(profile), "-p", prompt],
      { env, cwd: claude.home.project },
    );
    let wasKilled = false;
    const timer = killAt === undefined ? undefined : setTimeout(() => {
      try {
        child.kill("SIGKILL");
        wasKilled = true;
      } catch {
        // The process has just ended.
      }
    }, killAt);
    const { code, stdout, stderr } = await ended;
    clearTimeout(timer);
    if (wasKilled && code === 137) return { kind: "killed" };
    const isOwn = stdout === `${answerTo(prompt)}\n`;
    const isTold = stderr === "" || /^claude-print: Warning: /u.test(stderr);
    if (code === 0 && isOwn && isTold) return { kind: "answered", prompts: [prompt] };
    // A server may be killed once the answer is printed, but not yet how the run has ended; mistakes come with a stack.
    const isNamed = /^claude-print: \S/mu.test(stderr) && !/^ {4}at /mu.test(stderr);
    if (code !== 0 && (isOwn || stdout === "") && isNamed) return { kind: "named" };
    return failed(`exit code ${code}: ${stdout}${stderr}`);
  };

  const run: Caller = async ({ prompt, profile, killAt }) => {
    await untilThere();
    using kill = killer(killAt);
    return await overHttp(kill.signal, async () => {
      const answer = await ask("POST", "/v1/run", {
        body: { prompt, args: flags(profile) },
        signal: kill.signal,
      });
      const body = await answer.json();
      if (body.result?.result === answerTo(prompt)) return { kind: "answered", prompts: [prompt] };
      return namedBy(body.problem ?? body, body.result);
    });
  };

  const conversation: Caller = async ({ prompt, profile, killAt }) => {
    let path: string | undefined;
    const prompts = [prompt, `${prompt} again`];
    await untilThere();
    using kill = killer(killAt);
    try {
      return await overHttp(kill.signal, async () => {
        // Whoever goes before it knows the id has it end by nothing but a look at the list.
        const opened = await ask("POST", "/v1/conversations", {
          body: { profile: { args: flags(profile) } },
        });
        const body = await opened.json();
        if (opened.status !== 201) return namedBy(body);
        path = `/v1/conversations/${body.id}`;
        const { signal } = kill;
        await using events = eventsOf(await ask("GET", `${path}/events`, { signal }));
        for (const content of prompts) {
          const sent = await ask("POST", `${path}/messages`, { body: { content }, signal });
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
      // A server that is killed has forgotten it.
      if (path !== undefined) await ask("DELETE", path).then((it) => it.body?.cancel(), () => {});
    }
  };

  return {
    callers: overHttpAlone
      ? [run, conversation] as const
      : [commandLine, commandLine, run, conversation] as const,
    [Symbol.dispose]: () => client.close(),
  };
}

function answerTo(prompt: string): string {
  return ANSWER.replace("{prompt}", prompt);
}

function failed(why: string): Outcome {
  return { kind: "failed", why };
}

/** Aborts what a caller waits for once it is killed. */
export function killer(killAt: number | undefined) {
  const gone = new AbortController();
  const timer = killAt === undefined ? undefined : setTimeout(() => gone.abort(), killAt);
  return { signal: gone.signal, [Symbol.dispose]: () => clearTimeout(timer) };
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

/** Why there is no answer, as a problem or a result that is an error has it. */
function namedBy(
  problem: { readonly detail?: unknown },
  result?: { readonly is_error?: unknown },
): Outcome {
  if (typeof problem.detail === "string" && !/mistake/u.test(problem.detail)) {
    return { kind: "named" };
  }
  return result?.is_error === true
    ? { kind: "named" }
    : failed(JSON.stringify({ problem, result }));
}
