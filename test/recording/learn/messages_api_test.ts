import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { z } from "zod/mini";
import { type MessagesApi, startMessagesApi } from "../../../src/recording/learn/messages_api.ts";

const tool = { name: "Bash", input_schema: { type: "object" } };

type Content = string | readonly Readonly<Record<string, unknown>>[];

interface Asked {
  readonly messages?: readonly { readonly role: string; readonly content: Content }[];
  readonly stream?: boolean;
  readonly extra?: Readonly<Record<string, unknown>>;
}

function ask(api: MessagesApi, asked: string | Asked): Promise<Response> {
  const { messages, stream = true, extra = {} } = typeof asked === "string"
    ? { messages: [{ role: "user", content: asked }] }
    : asked;
  return fetch(`${api.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-claude-code-session-id": "session" },
    body: JSON.stringify({
      model: "scripted",
      max_tokens: 1000,
      stream,
      tools: [tool],
      messages,
      ...extra,
    }),
  });
}

const eventSchema = z.looseObject({
  type: z.string(),
  index: z.optional(z.number()),
  content_block: z.optional(z.looseObject({ type: z.string() })),
  delta: z.optional(z.looseObject({
    type: z.optional(z.string()),
    text: z.optional(z.string()),
    thinking: z.optional(z.string()),
    partial_json: z.optional(z.string()),
    stop_reason: z.optional(z.string()),
  })),
  message: z.optional(z.looseObject({ id: z.string() })),
  error: z.optional(z.looseObject({ type: z.string(), message: z.string() })),
});
type Event = z.infer<typeof eventSchema>;

async function events(response: Response): Promise<readonly Event[]> {
  return parseEvents(await response.text());
}

function parseEvents(stream: string): readonly Event[] {
  return stream.split("\n\n").filter((record) => record !== "").map((record) => {
    const [, name, data = ""] = /^event: (.*)\ndata: ([^]*)$/.exec(record) ?? [];
    const event = eventSchema.parse(JSON.parse(data));
    assertEquals(event.type, name);
    return event;
  });
}

/** The blocks of a streamed message and its stop reason. */
function assembled(events: readonly Event[]) {
  const blocks: { type: string; written: string }[] = [];
  for (const { content_block, delta } of events) {
    if (content_block !== undefined) blocks.push({ type: content_block.type, written: "" });
    const last = blocks.at(-1);
    if (last !== undefined && delta?.type !== undefined) {
      last.written += delta.text ?? delta.thinking ?? delta.partial_json ?? "";
    }
  }
  const stop = events.findLast(({ type }) => type === "message_delta")?.delta?.stop_reason;
  return { blocks: blocks.map(({ type, written }) => [type, written]), stop };
}

async function streamed(api: MessagesApi, asked: string | Asked) {
  return assembled(await events(await ask(api, asked)));
}

/** A message that came without a stream. */
async function message(api: MessagesApi, asked: Asked) {
  const counts = z.looseObject({
    output_tokens: z.number(),
    cache_read_input_tokens: z.number(),
    cache_creation_input_tokens: z.number(),
  });
  return z.looseObject({
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string(),
    usage: counts,
  }).parse(await (await ask(api, { ...asked, stream: false })).json());
}

const user = (content: Content) => ({ role: "user", content });

Deno.test("a stream has the events of the Messages API", async () => {
  await using api = startMessagesApi();
  const response = await ask(api, "Hi");
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertMatch(response.headers.get("request-id") ?? "", /^req_01/);
  const received = await events(response);
  assertEquals(received.map(({ type }) => type), [
    ...["message_start", "ping", "content_block_start", "content_block_delta"],
    ...["content_block_delta", "content_block_stop", "message_delta", "message_stop"],
  ]);
  assertEquals(assembled(received), {
    blocks: [["text", "Hello from the scripted API"]],
    stop: "end_turn",
  });
  const [other] = await events(await ask(api, "Hi"));
  assertEquals(received[0]?.message?.id === other?.message?.id, false);
});

Deno.test("a reply has the blocks of its script", async () => {
  await using api = startMessagesApi();
  const characters = "a🙂é漢🏳️‍🌈\u2028";
  const rows: readonly (readonly [string, readonly (readonly [string, string])[], string])[] = [
    [
      "[[think hm]] [[say one]] [[say two]] [[bash ls]] [[also tool T {}]]",
      [
        ["thinking", "hm"],
        ["text", "one"],
        ["text", "two"],
        ["tool_use", '{"command":"ls","description":"Run a command"}'],
        ["tool_use", "{}"],
      ],
      "tool_use",
    ],
    [`[[chunk 1]] [[say ${characters}]]`, [["text", characters]], "end_turn"],
    [
      "[[wait 1]] [[pace 1]] [[chunk 1]] [[say ab]] [[wait 1]] [[say c]]",
      [["text", "ab"], ["text", "c"]],
      "end_turn",
    ],
    ["[[say a]] [[stop max_tokens]]", [["text", "a"]], "max_tokens"],
    ["[[stop refusal]]", [], "refusal"],
  ];
  for (const [prompt, blocks, stop] of rows) {
    assertEquals<unknown>(await streamed(api, prompt), { blocks, stop });
  }
  const { content, stop_reason } = await message(api, {
    messages: [user("[[say a]] [[bash ls]]")],
  });
  assertEquals([content.map(({ type }) => type), stop_reason], [["text", "tool_use"], "tool_use"]);
});

Deno.test("each request of a turn gets the next reply", async () => {
  await using api = startMessagesApi({ defaultText: "out of script" });
  const messages: { role: string; content: Content }[] = [
    user("[[bash a]] [[bash b]] [[say c]]"),
  ];
  const answers: unknown[] = [];
  for (let round = 0; round < 4; round++) {
    const { blocks } = await streamed(api, { messages });
    answers.push(blocks[0]?.[1]);
    messages.push({ role: "assistant", content: [{ type: "text", text: "…" }] });
    messages.push(user([{ type: "tool_result", content: "ok" }]));
  }
  assertEquals(answers, [
    '{"command":"a","description":"Run a command"}',
    '{"command":"b","description":"Run a command"}',
    ...["c", "out of script"],
  ]);
  assertEquals(api.turns.map(({ round }) => round), [0, 1, 2, 3]);
});

Deno.test("usage depends on the conversation alone", async () => {
  await using api = startMessagesApi();
  const asked = (system: string) =>
    message(api, { messages: [user("[[say abcdefgh]]")], extra: { system } });
  const [first, second] = [await asked("short"), await asked("a longer system prompt")];
  assertEquals([first.usage, first.usage.output_tokens], [second.usage, 2]);
  // A request reads from the cache what an earlier one wrote.
  const began = await message(api, { messages: [user("Hello")] });
  const answer = { role: "assistant", content: "Hello you" };
  const went = await message(api, { messages: [user("Hello"), answer, user("More")] });
  assertEquals([began.usage.cache_read_input_tokens, went.usage.cache_read_input_tokens], [
    0,
    began.usage.cache_creation_input_tokens,
  ]);
  const counted = await fetch(`${api.url}/v1/messages/count_tokens`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [user("12345678")] }),
  });
  assertEquals(await counted.json(), { input_tokens: 12_005 });
  assertEquals(api.requests.at(-1)?.kind, "count_tokens");
});

Deno.test("scripted errors look like the API's", async () => {
  await using api = startMessagesApi();
  const types = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
  };
  for (const [status, type] of Object.entries(types)) {
    const response = await ask(api, `[[error ${status} Scripted]]`);
    assertEquals(response.status, Number(status));
    assertEquals(await response.json(), {
      type: "error",
      error: { type, message: "Scripted" },
      request_id: response.headers.get("request-id"),
    });
  }
  const limits = { "": [null, null], "no-retry": ["false", null], unified: [null, "rejected"] };
  for (const [flavour, expected] of Object.entries(limits)) {
    const response = await ask(api, `[[error 429 ${flavour}]]`);
    await response.body?.cancel();
    const names = ["x-should-retry", "anthropic-ratelimit-unified-status"];
    assertEquals(names.map((name) => response.headers.get(name)), expected);
  }
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const response = await ask(api, "[[error 529 x2]] [[say recovered]]");
    statuses.push(response.status);
    await response.body?.cancel();
  }
  assertEquals(statuses, [529, 529, 200]);
  const mistake = await ask(api, "[[sya hi]]");
  assertEquals(mistake.status, 400);
  assertMatch(await mistake.text(), /\[\[sya\]\] is no directive/);
});

Deno.test("a stream ends with an error or a cut connection", async () => {
  await using api = startMessagesApi();
  const received = await events(await ask(api, "[[say half]] [[error 529]]"));
  assertEquals(assembled(received), { blocks: [["text", "half"]], stop: undefined });
  assertEquals(received.at(-1)?.error, { type: "overloaded_error", message: "Overloaded" });
  for (const prompt of ["[[reset]]", "[[say half]] [[reset]]"]) {
    const response = await ask(api, prompt);
    await assertRejects(() => response.text(), TypeError);
  }
});

Deno.test("a reply that hangs ends with the API", async () => {
  for (const standstill of ["[[hang]]", "[[wait 3600000]]"]) {
    const api = startMessagesApi();
    const silent = ask(api, `${standstill} [[say never]]`);
    const stuck = await ask(api, `[[say half]] ${standstill} [[say never]]`);
    const reader = stuck.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = "";
    while (!received.includes("content_block_stop")) {
      received += (await reader?.read())?.value ?? "";
    }
    await api[Symbol.asyncDispose]();
    await assertRejects(async () => await (await silent).text());
    await assertRejects(async () => {
      while (!(await reader?.read())?.done);
    });
    assertEquals(assembled(parseEvents(received)), { blocks: [["text", "half"]], stop: undefined });
  }
});

Deno.test("a test's own reply comes before the script", async () => {
  await using api = startMessagesApi({
    reply: ({ prompt }) => prompt === "steered" ? [{ kind: "text", text: "by hand" }] : undefined,
  });
  assertEquals((await streamed(api, "steered")).blocks, [["text", "by hand"]]);
  assertEquals((await streamed(api, "[[say scripted]]")).blocks, [["text", "scripted"]]);
});

Deno.test("Claude Code's own questions are no turns", async () => {
  await using api = startMessagesApi();
  const title = await streamed(api, {
    messages: [user("<session>\n[[error 500]]\n</session>")],
    extra: {
      tools: [],
      output_config: { format: { type: "json_schema", schema: { properties: { title: {} } } } },
    },
  });
  assertEquals(title.blocks, [["text", '{"title":"Scripted title"}']]);
  await message(api, { messages: [user("quota")], extra: { max_tokens: 1, tools: [] } });
  assertEquals(api.turns, []);
  assertEquals(api.requests.map(({ kind }) => kind), ["auxiliary", "auxiliary"]);
});

Deno.test("requests are logged, unknown ones with 404", async () => {
  await using api = startMessagesApi();
  await (await ask(api, "Hi")).body?.cancel();
  const [request] = api.requests;
  const { kind, method, path, prompt, round, headers, body, text } = request ?? {};
  assertEquals([kind, method, path, prompt, round, headers?.["content-type"]], [
    ...["turn", "POST", "/v1/messages?beta=true", "Hi", 0, "application/json"],
  ]);
  assertEquals(body, JSON.parse(text ?? ""));
  for (const unknown of ["/api/claude_code/settings", "/api/oauth/profile"]) {
    const response = await fetch(`${api.url}${unknown}`);
    assertEquals(response.status, 404);
    await response.body?.cancel();
  }
  assertEquals((await fetch(api.url, { method: "HEAD" })).status, 200);
  assertEquals(api.requests.slice(1).map(({ method, path }) => `${method} ${path}`), [
    ...["GET /api/claude_code/settings", "GET /api/oauth/profile", "HEAD /"],
  ]);
});

Deno.test("logins are refreshed as scripted", async () => {
  await using api = startMessagesApi({
    oauth: (call) => call === 1 ? "server-error" : call === 2 ? "invalid-grant" : "new-tokens",
  });
  const tokens = z.looseObject({
    error: z.optional(z.string()),
    refresh_token: z.optional(z.string()),
  });
  const answers: unknown[] = [];
  for (let call = 0; call < 4; call++) {
    const response = await fetch(`${api.url}/v1/oauth/token`, {
      method: "POST",
      body: JSON.stringify({ grant_type: "refresh_token", refresh_token: "old" }),
    });
    const { error, refresh_token } = tokens.parse(await response.json());
    answers.push([response.status, error ?? refresh_token]);
  }
  assertEquals(answers, [
    [500, "server_error"],
    [400, "invalid_grant"],
    [200, "sk-ant-ort01-refreshed-1"],
    [200, "sk-ant-ort01-refreshed-2"],
  ]);
  assertEquals(api.refreshes, 2);
});
