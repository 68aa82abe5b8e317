import { assert, assertEquals, assertMatch } from "@std/assert";
import { Ajv } from "ajv";
import { AgentConversation, agentRoutes } from "../../../../src/server/http/agentapi.ts";
import { PROFILE_SCHEMA } from "../../../../src/server/server_profiles.ts";
import type { Scenario } from "../../../../fixtures/mock/scenario.ts";
import { StandIn } from "../../stand_in.ts";
import { eventsOf, type SentEvent, serveInProcess } from "./serve_in_process.ts";

/**
 * The shapes of what agentapi 0.11 answers, by its published OpenAPI file: JSON schemas in words of our own.
 *
 * That file closes each of its objects; what is said here beyond it stands in `claude_print`, which is taken out first.
 */

const closed = (
  properties: Readonly<Record<string, unknown>>,
  optional: readonly string[] = [],
) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

const text = { type: "string" };
const whole = { type: "integer" };
const role = { enum: ["agent", "user"] };
const status = { enum: ["running", "stable"] };
const time = {
  type: "string",
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`,
};

/** The bodies of the answers, and the data of the events by their names. */
const PUBLISHED_SHAPES = {
  status: closed({ agent_type: text, status }),
  messages: closed({
    messages: { type: "array", items: closed({ id: whole, role, content: text, time }) },
  }),
  message: closed({ ok: { type: "boolean" } }),
  message_update: closed({ id: whole, role, message: text, time }),
  status_change: closed({ agent_type: text, status }),
  problem: closed({
    type: text,
    title: text,
    status: whole,
    detail: text,
    instance: text,
    errors: {
      type: "array",
      items: closed({ location: text, message: text, value: {} }, ["location", "message", "value"]),
    },
  }, ["type", "title", "status", "detail", "instance", "errors"]),
} as const;

const ajv = new Ajv();

/** Holds something to a published shape, and gives it without what is said beyond that. */
function held(shape: keyof typeof PUBLISHED_SHAPES, value: unknown): unknown {
  const bare = JSON.parse(
    JSON.stringify(value, (name, each) => name === "claude_print" ? undefined : each),
  );
  const fits = ajv.validate(PUBLISHED_SHAPES[shape], bare);
  assert(fits, `${shape}: ${ajv.errorsText()}: ${JSON.stringify(bare)}`);
  return bare;
}

/** A server with agentapi's endpoints, and a Claude Code that exists for the test. */
async function scene(scenario: Partial<Scenario> = {}) {
  const stack = new AsyncDisposableStack();
  const claude = stack.use(await StandIn.set(scenario));
  const profile = PROFILE_SCHEMA.parse({ args: ["--claude-binary", claude.binary] });
  const server = stack.use(
    await serveInProcess(claude, {
      routes: async (registry) =>
        agentRoutes(stack.use(await AgentConversation.open(registry, profile))),
    }),
  );
  return {
    server,
    say: (content: string, type = "user") => server.ask("POST", "/message", { content, type }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Reads events until one of them is as is said. */
async function until(
  events: AsyncGenerator<SentEvent>,
  isLast: (event: SentEvent) => boolean,
): Promise<readonly SentEvent[]> {
  const seen: SentEvent[] = [];
  for (;;) {
    const { done, value } = await events.next();
    assert(done !== true, `the stream has ended: ${JSON.stringify(seen)}`);
    held(value.event as "message_update" | "status_change", value.data);
    seen.push(value);
    if (isLast(value)) return seen;
  }
}

const isStable = ({ event, data }: SentEvent) =>
  event === "status_change" && data.status === "stable";

Deno.test("an agentapi client receives the published shapes", async () => {
  await using there = await scene({
    turns: [
      [{ text: "Let me see.", tools: [{ name: "Bash", input: { command: "true" } }] }, {
        text: "One.",
      }],
      [{ text: "Two." }],
    ],
  });
  const { server, say } = there;
  const events = eventsOf(await server.request("GET", "/events"));
  await until(events, isStable);
  assertEquals(held("status", (await server.ask("GET", "/status")).body), {
    agent_type: "claude",
    status: "stable",
  });
  assertEquals(held("messages", (await server.ask("GET", "/messages")).body), { messages: [] });
  const sent = await say("First?");
  assertEquals([sent.status, held("message", sent.body)], [200, { ok: true }]);
  const first = await until(events, isStable);
  assertEquals(
    first.filter(({ event }) => event === "status_change").map(({ data }) => data.status),
    ["running", "stable"],
  );
  const [last] = first.filter(({ event }) => event === "message_update").slice(-1);
  assertEquals([last?.data.id, last?.data.role, last?.data.message], [
    1,
    "agent",
    "Let me see.\n\nOne.",
  ]);
  await say("Second?");
  await until(events, isStable);
  const { body } = await server.ask("GET", "/messages");
  held("messages", body);
  assertEquals(
    // deno-lint-ignore no-explicit-any -- their shape has been held
    body.messages.map(({ id, role, content }: any) => [id, role, content]),
    [[0, "user", "First?"], [1, "agent", "Let me see.\n\nOne."], [2, "user", "Second?"], [
      3,
      "agent",
      "Two.",
    ]],
  );
  const { claude_print: more } = body.messages[1];
  assertEquals(more.turn.subtype, "success");
  assertEquals(typeof more.turn.total_cost_usd, "number");
  assertEquals([more.tools[0].name, more.tools[0].status], ["Bash", "done"]);
  const { claude_print: state } = (await server.ask("GET", "/status")).body;
  assertEquals([state.state, state.turns, state.session_id], ["idle", 2, more.session_id]);
  // Who comes later is told all that there is.
  const late = eventsOf(await server.request("GET", "/events"));
  const told = await until(late, isStable);
  assertEquals(told.map(({ data }) => data.id ?? data.status), [0, 1, 2, 3, "stable"]);
  await late.return(undefined);
  await events.return(undefined);
});

Deno.test("a running agent refuses messages and takes keys", async () => {
  await using there = await scene({ turns: [[{ text: "Never.", ms: 3_600_000 }]] });
  const { server, say } = there;
  const events = eventsOf(await server.request("GET", "/events"));
  await until(events, isStable);
  assertEquals((await say("Work.")).status, 200);
  const refused = await say("More.");
  held("problem", refused.body);
  assertEquals(refused.status, 503);
  assertMatch(refused.body.detail, /the agent is running/u);
  const raw = await say("\x1b", "raw");
  assertEquals([raw.status, held("message", raw.body)], [200, { ok: true }]);
  await until(events, isStable);
  const { body } = await server.ask("GET", "/messages");
  assertEquals(body.messages.at(-1).claude_print.turn.is_error, true);
  await events.return(undefined);
});

Deno.test("an invalid message gets a problem document", async () => {
  await using there = await scene();
  const { server } = there;
  for (const body of [{}, { content: 7, type: "user" }, { content: "x", type: "loud" }, [], "x"]) {
    const { status, body: problem } = await server.ask("POST", "/message", body);
    held("problem", problem);
    assertEquals(status, 422);
  }
  assertEquals((await server.ask("POST", "/messages")).status, 405);
});

Deno.test("the next message reopens an ended conversation", async () => {
  await using there = await scene({ turns: [[{ text: "Again." }]] });
  const { server, say } = there;
  const events = eventsOf(await server.request("GET", "/events"));
  await until(events, isStable);
  await say("One.");
  await until(events, isStable);
  const { id } = (await server.ask("GET", "/status")).body.claude_print;
  assertEquals((await server.ask("DELETE", `/v1/conversations/${id}`)).status, 204);
  assertEquals((await say("Two.")).status, 200);
  await until(events, ({ event, data }) => event === "message_update" && data.id === 3);
  assert((await server.ask("GET", "/status")).body.claude_print.id !== id);
  await events.return(undefined);
});
