import openapi from "./openapi.json" with { type: "json" };
import {
  createConversation,
  heldConversation,
  listConversations,
  removeConversation,
  showConversation,
} from "./conversations.ts";
import { streamEvents } from "./events.ts";
import type { Call, Route } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";
import { z } from "zod/mini";
import { readBody, readJson } from "../body.ts";
import { problemBody, ProblemError, problemOf } from "../problem.ts";
import { tarOf } from "./tar.ts";
import { renderScreen } from "../../../driver/effects/render_screen.ts";
import { drawScreen } from "../../../recording/picture/draw_screen.ts";
import { checkPrompt } from "../../../cli/arguments/check_prompt.ts";
import { readListInput } from "../../../cli/arguments/list_line.ts";
import { isJsonObject } from "../../../json_object.ts";
import { unknownKey } from "../unknown_key.ts";
import type { OpenQuestion, Situation } from "../../conversations/conversation_state.ts";
import type { HeldConversation } from "../../conversations/held_conversation.ts";

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

/** Stops the turn under way, if there is one. */
async function interruptTurn(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  notWhenOver(held);
  await held.interrupt();
  return new Response(null, { status: 204 });
}

const MESSAGE = z.strictObject({
  content: z.union([
    z.string(),
    z.array(z.looseObject({ type: z.string() })).check(z.minLength(1), z.maxLength(1000)),
  ]),
  when: z._default(z.enum(["queue", "interrupt"]), "queue"),
  uuid: z.optional(z.uuid()),
});

/** Sends a message, which waits for the turn under way or ends it. */
async function sendMessage(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const { content, when, uuid = crypto.randomUUID() } = await readBody(MESSAGE, call);
  notWhenOver(held);
  const { last } = held.log;
  await held.send(content, { uuid, priority: when === "interrupt" ? "now" : "later" });
  // Whoever reads on behind this event misses nothing of what becomes of the message.
  return Response.json({ uuid, last_event_id: last }, { status: 202 });
}

/** The recording of a conversation, as far as it is, as a tar archive with the folder in it. */
function showCassette(call: Call<ServeContext>): Response {
  const { id, cassette } = heldConversation(call);
  if (cassette === undefined) {
    throw new ProblemError({
      status: 409,
      detail: "Cannot give the cassette: the conversation is not recorded",
      suggestion: 'Open one with "record": true in its profile',
    });
  }
  const pieces = tarOf(cassette, `${id}.cassette`);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void pieces.return(undefined),
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: {
      "content-type": "application/x-tar",
      "content-disposition": `attachment; filename="${id}.tar"`,
    },
  });
}

/** What Claude Code's terminal shows: as text, or as a picture for who asks for `?format=svg` or accepts nothing else. */
async function showScreen(call: Call<ServeContext>): Promise<Response> {
  const { terminal } = heldConversation(call);
  const format = formatOf(call);
  if (terminal === undefined) {
    throw new ProblemError({
      status: 409,
      detail: "Cannot show the screen: no Claude Code has been started yet",
      suggestion: "Send a message first, or wait a moment",
    });
  }
  const chunks = terminal.chunks();
  const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  if (format === "svg") {
    return new Response(await drawScreen(chunks, terminal.size), {
      headers: { ...headers, "content-type": "image/svg+xml" },
    });
  }
  const { lines } = await renderScreen(chunks, terminal.size);
  return new Response(`${lines.join("\n").trimEnd()}\n`, {
    headers: { ...headers, "content-type": "text/plain; charset=utf-8" },
  });
}

function formatOf({ request, url }: Call<ServeContext>): "text" | "svg" {
  const named = url.searchParams.get("format");
  if (named === "text" || named === "svg") return named;
  if (named === null) {
    return request.headers.get("accept")?.startsWith("image/svg+xml") ? "svg" : "text";
  }
  throw new ProblemError({
    status: 400,
    detail: `Cannot show the screen as ${JSON.stringify(named.slice(0, 100))}`,
    suggestion: "Ask for format=text or format=svg",
  });
}

/**
 * Types in a conversation's terminal what comes in the body, as it comes: the conversation is taken over as long as the
 * request lasts, and handed back by its end, whatever ends it.
 */
async function typeKeys(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const { request, gone } = call;
  const type = request.headers.get("content-type");
  // A page of the web can send anything else without being asked first.
  if (type !== "application/octet-stream") {
    throw new ProblemError({
      status: 415,
      detail: `Cannot type the body: it is ${type ?? "of no type"}, not application/octet-stream`,
      suggestion: "Send the header Content-Type: application/octet-stream",
    });
  }
  notWhenOver(held);
  using _taken = held.takeOver();
  const reader = request.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  gone.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true as const, value: undefined };
      if (done) break;
      notWhenOver(held);
      if (held.terminal === undefined) {
        throw new ProblemError({
          status: 409,
          detail: "Cannot type in the conversation: its Claude Code has not been started yet",
          suggestion: "Send a message first, or wait a moment",
        });
      }
      held.terminal.type(value);
    }
  } catch (error) {
    // Whoever was cut off reads no answer.
    if (error instanceof ProblemError) throw error;
  } finally {
    gone.removeEventListener("abort", cancel);
  }
  return new Response(null, { status: 204 });
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

const requestId = z.string().check(z.maxLength(1000));
const json = z.record(z.string(), z.unknown());

const ANSWER = z.union([
  z.strictObject({
    request_id: requestId,
    behavior: z.literal("allow"),
    updated_input: z.optional(json),
    updated_permissions: z.optional(z.array(json)),
  }),
  z.strictObject({
    request_id: requestId,
    behavior: z.literal("deny"),
    message: z._default(z.string(), "The user does not want this"),
    interrupt: z._default(z.boolean(), false),
  }),
  /** Of questions: the answers by the questions' words. */
  z.strictObject({ request_id: requestId, answers: z.record(z.string(), z.string()) }),
]);

type Answer = z.infer<typeof ANSWER>;

/** Answers what Claude Code asks: for a permission, a question of the model's, or about a plan. */
async function answerQuestion(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const answer = await readBody(ANSWER, call);
  notWhenOver(held);
  const question = held.state.questions.find((each) => each.requestId === answer.request_id);
  const response = question && decision(answer, question);
  if (response === undefined || !held.answer(answer.request_id, response)) {
    throw new ProblemError({
      status: 409,
      detail: `Cannot answer ${JSON.stringify(answer.request_id.slice(0, 100))}: ${
        question === undefined ? "nobody asks that any more" : "it is no question with answers"
      }`,
      suggestion: 'What is asked now is the "waiting" of GET /v1/conversations/{id}',
    });
  }
  return new Response(null, { status: 204 });
}

/** What the control protocol of the Agent SDKs calls it. */
function decision(answer: Answer, { kind, input }: OpenQuestion): unknown {
  if ("answers" in answer) {
    if (kind !== "question" || !isJsonObject(input)) return undefined;
    return { behavior: "allow", updatedInput: { ...input, answers: answer.answers } };
  }
  if (answer.behavior === "deny") {
    const { behavior, message, interrupt } = answer;
    return { behavior, message, interrupt };
  }
  const { behavior, updated_input, updated_permissions } = answer;
  return {
    behavior,
    ...(updated_input === undefined ? {} : { updatedInput: updated_input }),
    ...(updated_permissions === undefined ? {} : { updatedPermissions: updated_permissions }),
  };
}

/**
 * Refuses what only a conversation that goes on can take.
 *
 * @throws {ProblemError} when it is over, with what it ended by
 */
function notWhenOver({ state: { end } }: HeldConversation): void {
  if (end === undefined) return;
  const why = end.kind === "failed" ? problemOf(end.error).detail : "it has been ended";
  throw new ProblemError({
    status: 409,
    detail: `Cannot go on with the conversation: ${why}`,
    suggestion:
      'Begin another one; with its session_id as "resume" it goes on where this one ended',
  });
}
