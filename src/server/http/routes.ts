import { z } from "zod/mini";
import openapi from "./openapi.json" with { type: "json" };
import {
  answerQuestion,
  createConversation,
  interruptTurn,
  listConversations,
  removeConversation,
  sendMessage,
  showConversation,
} from "./conversation_routes.ts";
import { showCassette, showScreen, streamEvents, typeKeys } from "./conversation_streams.ts";
import type { Call, Route } from "./serve_http.ts";
import { readBody } from "./request_body.ts";
import { problemBody, ProblemError, toProblem } from "../problems.ts";
import { checkPrompt, readListInput } from "../../cli/arguments/check_prompt.ts";
import type { Activity } from "../conversations/conversation_state.ts";

const ALL = "/v1/conversations";
const ONE = `${ALL}/{id}`;

/** All routes except the page and those of agentapi. */
export const ROUTES: readonly Route[] = [
  { method: "POST", path: ALL, handle: createConversation },
  { method: "GET", path: ALL, handle: listConversations },
  { method: "GET", path: ONE, handle: showConversation },
  { method: "DELETE", path: ONE, handle: removeConversation },
  { method: "POST", path: `${ONE}/messages`, handle: sendMessage },
  { method: "GET", path: `${ONE}/events`, handle: streamEvents },
  { method: "POST", path: `${ONE}/answers`, handle: answerQuestion },
  { method: "POST", path: `${ONE}/interrupt`, handle: interruptTurn },
  { method: "GET", path: `${ONE}/screen`, handle: showScreen },
  { method: "GET", path: `${ONE}/cassette`, handle: showCassette },
  { method: "POST", path: `${ONE}/keys`, handle: typeKeys },
  { method: "POST", path: "/v1/run", handle: answerRun },
  { method: "GET", path: "/v1/server", handle: getServer },
  { method: "DELETE", path: "/v1/server", handle: stopServer },
  { method: "GET", path: "/healthz", isPublic: true, handle: getHealth },
  { method: "GET", path: "/openapi.json", handle: () => Response.json(openapi) },
  { method: "GET", path: "/metrics", handle: getMetrics },
];

function getHealth({ context: { version } }: Call): Response {
  return Response.json({ status: "ok", version });
}

/** Reports on the server, for a person. */
function getServer({ context }: Call): Response {
  const { version, registry, pool, startedAt, delegated, listening } = context;
  return Response.json({
    version,
    pid: Deno.pid,
    started_at: new Date(startedAt).toISOString(),
    state: registry.isDraining ? "stopping" : "running",
    ...listening(),
    conversations: registry.openConversations,
    runs: registry.activeCount - registry.openConversations + delegated.running,
    limit: registry.limit,
    warm_children: (pool?.children ?? []).map(({ isReady, startedAt, cwd }) => ({
      state: isReady ? "ready" : "starting",
      since: new Date(startedAt).toISOString(),
      cwd,
    })),
  });
}

/** Ends the server: when the running work is done, or with `?now=true` immediately. */
function stopServer({ context: { stop }, url, gone }: Call): Response {
  const now = url.searchParams.get("now") ?? "false";
  if (!["true", "false"].includes(now)) {
    throw new ProblemError({
      status: 400,
      detail: `Cannot stop the server: now is ${JSON.stringify(now.slice(0, 100))}`,
      suggestion: "Write it as ?now=true, or leave it out",
    });
  }
  // The server also ends its connections, so the answer has to be sent first.
  gone.addEventListener("abort", () => stop({ now: now === "true" }), { once: true });
  return new Response(null, { status: 202 });
}

/** A prompt, or an object with it. `id` is the client's own; the answer repeats it in `input`. */
const RUN_BODY = z.union([
  z.string(),
  z.strictObject({
    prompt: z.string(),
    args: z.optional(z.array(z.string())),
    id: z.optional(z.unknown()),
  }),
]);

/**
 * Runs one prompt. The body is a line of `--jsonl`, the answer is the line that `--jsonl` prints for it.
 *
 * The answer begins when the child has started. An earlier error is a problem, a later one is in the line. The run ends
 * when its client disconnects.
 */
async function answerRun(call: Call): Promise<Response> {
  const { context: { registry }, url } = call;
  const input = await readBody(RUN_BODY, call);
  const { prompt, args } = readListInput(input);
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
  const unknown = [...url.searchParams.keys()].find((key) => key !== "cwd");
  if (unknown !== undefined) {
    throw new ProblemError({
      status: 422,
      detail: `Cannot run the prompt: the URL takes no ${JSON.stringify(unknown.slice(0, 100))}`,
      suggestion: "Give it only the folder: ?cwd=/path",
    });
  }
  const cwd = url.searchParams.get("cwd") ?? undefined;
  const gone = new AbortController();
  const begun = Promise.withResolvers<void>();
  const running = registry.run(prompt, { args, cwd, gone: gone.signal, onBegun: begun.resolve });
  await Promise.race([running, begun.promise]);
  const line = async () => {
    try {
      const { frame, exitCode } = await running;
      return { line: 1, input, exit_code: exitCode, result: frame };
    } catch (error) {
      const problem = toProblem(error);
      const { exitCode = 2 } = problem;
      return { line: 1, input, exit_code: exitCode, result: null, problem: problemBody(problem) };
    }
  };
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      controller.enqueue(new TextEncoder().encode(`${JSON.stringify(await line())}\n`));
      controller.close();
    },
    cancel: () => gone.abort(),
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

const STATES: readonly Activity["kind"][] = [
  ...["starting", "idle", "working", "waiting", "ended", "failed"] as const,
];

/** Reports on the server in the text format of Prometheus. */
function getMetrics({ context: { registry, pool, startedAt, delegated } }: Call): Response {
  const { opened, runs, refused, turns, costUsd } = registry.counts;
  const conversations = registry.list();
  const states = STATES.map((state) => {
    const { length } = conversations.filter(({ state: { activity } }) => activity.kind === state);
    return [`{state="${state}"}`, length] as const;
  });
  const profiles = pool?.entries ?? [];
  const { waited, started } = pool?.counts ?? { waited: 0, started: 0 };
  const waiting = profiles.reduce((sum, each) => sum + each.waiting, 0);
  const ready = profiles.reduce((sum, each) => sum + each.ready, 0);
  const text = [
    gauge("conversations", "Conversations by state.", states),
    gauge("conversations_limit", "Most conversations and runs at once.", registry.limit),
    counter("conversations_opened_total", "Conversations opened.", opened),
    counter("runs_total", "Runs of one prompt that have a result.", runs),
    counter("refused_total", "Conversations and runs refused at the limit.", refused),
    counter("turns_total", "Turns that have ended.", turns),
    counter("cost_usd_total", "Cost of those turns in US dollars, as far as known.", costUsd),
    gauge("pool_profiles", "Profiles with warm children.", profiles.length),
    gauge("pool_children", "Warm children, by whether they are ready.", [
      ['{ready="false"}', waiting - ready],
      ['{ready="true"}', ready],
    ]),
    counter("handed_over_total", "Runs that command lines delegated.", delegated.total),
    gauge("handed_over", "Delegated runs that have not ended.", delegated.running),
    counter("pool_held_total", "Runs and conversations by whether their child was warm.", [
      ['{child="waited"}', waited],
      ['{child="started"}', started],
    ]),
    gauge("start_time_seconds", "When the server started, since the epoch.", startedAt / 1000),
  ].join("");
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4" } });
}

/** One number, or one number for each set of labels. */
type Values = number | readonly (readonly [labels: string, value: number])[];

function gauge(name: string, help: string, values: Values): string {
  return formatMetric({ name: `claude_print_${name}`, type: "gauge", help, values });
}

function counter(name: string, help: string, values: Values): string {
  return formatMetric({ name: `claude_print_${name}`, type: "counter", help, values });
}

function formatMetric({ name, type, help, values }: {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly values: Values;
}): string {
  const rows = typeof values === "number" ? [["", values] as const] : values;
  const lines = rows.map(([labels, value]) => `${name}${labels} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}
