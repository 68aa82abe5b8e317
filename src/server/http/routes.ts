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
import type { Call, Route, ServeContext } from "./serve_http.ts";
import { readJson, unknownKey } from "./request_body.ts";
import { problemBody, problemOf } from "../problems.ts";
import { checkPrompt, readListInput } from "../../cli/arguments/check_prompt.ts";
import { isJsonObject } from "../../json_object.ts";
import type { Situation } from "../conversations/conversation_state.ts";

const ALL = "/v1/conversations";
const ONE = `${ALL}/{id}`;

/** All that the server answers. */
export const ROUTES: readonly Route<ServeContext>[] = [
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
  { method: "GET", path: "/healthz", isOpen: true, handle: health },
  { method: "GET", path: "/openapi.json", handle: () => Response.json(openapi) },
  { method: "GET", path: "/metrics", handle: metrics },
];

/** Whether the server is there, and what it is. */
function health({ context: { version } }: Call<ServeContext>): Response {
  return Response.json({ status: "ok", version });
}

/** What a body may hold; `id` is the client's own, and comes back in `input`. */
const KEYS: readonly string[] = ["prompt", "args", "id"];

/**
 * One prompt in, its result out: as a line of `--jsonl` and what is printed for it.
 *
 * What keeps it from being run is a problem. Once there is a Claude Code for it the answer begins. The run ends when its
 * client goes away.
 */
async function answerRun(call: Call<ServeContext>): Promise<Response> {
  const { context: { registry }, url } = call;
  const input = JSON.parse(await readJson(call));
  requireKnownKeys(input);
  const { prompt, args } = readListInput(input);
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
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
      const problem = problemOf(error);
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

/** @throws {ProblemError} where there is a key that means nothing, such as the name of a flag */
function requireKnownKeys(input: unknown): void {
  if (!isJsonObject(input)) return;
  const unknown = Object.keys(input).filter((key) => !KEYS.includes(key));
  if (unknown.length > 0) throw unknownKey(unknown, { place: "it", known: KEYS });
}

const STATES: readonly Situation["kind"][] = [
  ...["starting", "idle", "working", "waiting", "ended", "failed"] as const,
];

/** What the server does, in the text format of Prometheus. */
function metrics(
  { context: { registry, pool, startedAt, handedOver } }: Call<ServeContext>,
): Response {
  const { opened, runs, refused, turns, costUsd } = registry.counts;
  const held = registry.list();
  const states = STATES.map((state) => {
    const { length } = held.filter(({ state: { activity } }) => activity.kind === state);
    return `claude_print_conversations{state="${state}"} ${length}\n`;
  });
  const entries = pool?.entries ?? [];
  const { waited, started } = pool?.counts ?? { waited: 0, started: 0 };
  const waiting = entries.reduce((sum, entry) => sum + entry.waiting, 0);
  const ready = entries.reduce((sum, entry) => sum + entry.ready, 0);
  const text = [
    metric("conversations", "gauge", "Conversations by what they are at."),
    ...states,
    metric("conversations_limit", "gauge", "Conversations and runs that there may be at once."),
    `claude_print_conversations_limit ${registry.most}\n`,
    metric("conversations_opened_total", "counter", "Conversations opened."),
    `claude_print_conversations_opened_total ${opened}\n`,
    metric("runs_total", "counter", "Runs of one prompt that have come to a result."),
    `claude_print_runs_total ${runs}\n`,
    metric("refused_total", "counter", "Conversations and runs for which there was no room."),
    `claude_print_refused_total ${refused}\n`,
    metric("turns_total", "counter", "Turns that have ended."),
    `claude_print_turns_total ${turns}\n`,
    metric(
      "cost_usd_total",
      "counter",
      "What they have cost, in US dollars, as far as it is known.",
    ),
    `claude_print_cost_usd_total ${costUsd}\n`,
    metric("pool_profiles", "gauge", "Profiles for which children wait."),
    `claude_print_pool_profiles ${entries.length}\n`,
    metric("pool_children", "gauge", "Children that wait, and those of them that are ready."),
    `claude_print_pool_children{ready="false"} ${waiting - ready}\n`,
    `claude_print_pool_children{ready="true"} ${ready}\n`,
    metric("handed_over_total", "counter", "Runs of the command line that were handed over."),
    `claude_print_handed_over_total ${handedOver.total}\n`,
    metric("handed_over", "gauge", "Those of them that are under way."),
    `claude_print_handed_over ${handedOver.underWay}\n`,
    metric(
      "pool_held_total",
      "counter",
      "Runs and conversations by whether their child had waited or was started for them.",
    ),
    `claude_print_pool_held_total{child="waited"} ${waited}\n`,
    `claude_print_pool_held_total{child="started"} ${started}\n`,
    metric("start_time_seconds", "gauge", "When the server was started, since the epoch."),
    `claude_print_start_time_seconds ${startedAt / 1000}\n`,
  ].join("");
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4" } });
}

function metric(name: string, type: "gauge" | "counter", help: string): string {
  return `# HELP claude_print_${name} ${help}\n# TYPE claude_print_${name} ${type}\n`;
}
