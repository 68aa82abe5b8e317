import fc from "fast-check";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { Exchange, ScrubbedPart } from "../../../src/recording/relay/exchange.ts";
import { createExchangeScrubber } from "../../../src/recording/relay/scrub_exchange.ts";
import { addExchange, readExchanges } from "../../../src/recording/relay/exchange_folder.ts";
import { keyOf } from "../../../src/recording/relay/match_requests.ts";
import type { RelayAnswer } from "../../../src/recording/relay/relay_server.ts";
import { tempFolder } from "../../temp_folder.ts";
import { openCassette } from "./open_cassette.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const bytes = (text: string) => encoder.encode(text);

const BODY = JSON.stringify({
  system: [{ type: "text", text: "Primary working directory: /work/acme-billing\nOS: Linux" }],
  messages: [{ role: "user", content: "Read /work/acme-billing/a.ts of alice@acme.io" }],
});

/** An exchange of a user with a name, a home folder and a project. */
function exchangeOf(
  chunks: readonly string[],
  { type = "text/event-stream", body = BODY }: { readonly type?: string; readonly body?: string } =
    {},
): Exchange {
  return {
    at: 0,
    request: { method: "POST", path: "/v1/messages?beta=true", body: bytes(body) },
    response: {
      status: 200,
      headers: [["content-type", type]],
      chunks: chunks.map((text, ms) => ({ ms, bytes: bytes(text) })),
      whole: true,
    },
  };
}

function scrubbed(
  exchange: Exchange,
  parts: readonly ("traces" | "prompts" | "answers")[] = ["traces"],
): Exchange {
  const scrubber = createExchangeScrubber({ parts, known: { homes: ["/home/alice"] } });
  scrubber.learn(exchange);
  return scrubber.exchange(exchange);
}

const textsOf = ({ response: { chunks } }: Exchange) =>
  chunks.map(({ bytes }) => decoder.decode(bytes));

const event = (value: unknown) =>
  `event: ${(value as { readonly type: string }).type}\ndata: ${JSON.stringify(value)}\n\n`;
const delta = (index: number, field: string, text: string) =>
  event({ type: "content_block_delta", index, delta: { type: `${field}_delta`, [field]: text } });

/** Joins the deltas of a stream, by the index of their block. */
function joinedDeltas(stream: string): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [, data = ""] of stream.matchAll(/^data: (.*)$/gmu)) {
    const { index, delta } = JSON.parse(data);
    if (delta === undefined) continue;
    texts[index] = (texts[index] ?? "") + (delta.text ?? delta.partial_json);
  }
  return texts;
}

Deno.test("a path is scrubbed across deltas of a stream", () => {
  const stream = [
    'event: ping\ndata: {"type": "ping"}\n\n',
    delta(0, "text", "It is /home/al"),
    delta(1, "partial_json", '{"file_path":"/work/ac'),
    delta(0, "text", "ice/no"),
    delta(1, "partial_json", 'me-billing/a.ts"}'),
    delta(0, "text", "tes/to"),
    delta(0, "text", "day.md."),
    ...[0, 1, 2].map((index) => event({ type: "content_block_stop", index })),
    ': at /home/alice\rdata: ["at /home/alice"] \r\n',
  ];
  const texts = textsOf(scrubbed(exchangeOf(stream)));
  assertEquals(texts.length, stream.length);
  assertEquals(joinedDeltas(texts.join("")), {
    0: "It is /home/user/xxxxx/xxxxx.xx.",
    1: '{"file_path":"/home/user/project/a.ts"}',
  });
  assertEquals(texts[0], stream[0]);
  assertEquals(texts[1], delta(0, "text", "It is /home/us"));
  assertEquals(texts[3], delta(0, "text", "er/xxx"));
  assertEquals(texts.at(-1), ': at /home/user\rdata: ["at /home/user"] \r\n');
});

Deno.test("an answer keeps its number of pieces", () => {
  const stream = [
    delta(0, "text", "é /home/al"),
    delta(0, "text", "ice/x"),
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "error", error: { message: "no /home/alice/y" } }),
  ].join("");
  const all = bytes(stream);
  const [whole = ""] = textsOf(scrubbed(exchangeOf([stream])));
  assertEquals(whole.includes("alice"), false);
  fc.assert(
    fc.property(fc.array(fc.nat(all.length), { maxLength: 8 }), (places) => {
      const cuts = [0, ...places.toSorted((a, b) => a - b), all.length];
      const chunks = cuts.slice(1).map((end, ms) => ({ ms, bytes: all.slice(cuts[ms], end) }));
      const one = exchangeOf([]);
      const { response } = scrubbed({ ...one, response: { ...one.response, chunks } });
      assertEquals(response.chunks.map(({ ms }) => ms), chunks.map(({ ms }) => ms));
      const joined = response.chunks.flatMap(({ bytes }) => [...bytes]);
      assertEquals(decoder.decode(new Uint8Array(joined)), whole);
    }),
    { numRuns: 50 },
  );
});

Deno.test("requests and plain answers name nobody", () => {
  const answer = ['{"full_name":"Al Ice","error":{"message":"bad /home/al', 'ice"}}'];
  const exchange = exchangeOf(answer, { type: "application/json" });
  const { request, response, scrubbed: parts } = scrubbed(exchange);
  assertEquals(JSON.parse(decoder.decode(request.body)), {
    system: [{ type: "text", text: "Primary working directory: /home/user/project\nOS: Linux" }],
    messages: [{ role: "user", content: "Read /home/user/project/a.ts of user@example.com" }],
  });
  assertEquals(
    response.chunks.map(({ bytes }) => decoder.decode(bytes)).join(""),
    '{"full_name":"xx xxx","error":{"message":"bad /home/user"}}',
  );
  assertEquals([response.chunks.length, parts], [2, ["traces"]]);
  const other = BODY.replaceAll("/work/acme-billing", "/builds/7/x").replace(
    "alice@acme.io",
    "bob@b.de",
  );
  assertEquals(scrubbed(exchangeOf([], { body: other })).request, request);
  const again = scrubbed(scrubbed(exchange));
  assertEquals(again, scrubbed(exchange));
  assertEquals(scrubbed(again, ["prompts"]).scrubbed, ["traces", "prompts"]);
  assertEquals(scrubbed(exchange, []), exchange);
});

Deno.test("prompts and answers are blanked, tool calls are not", () => {
  const body = JSON.stringify({
    messages: [
      { role: "user", content: [{ type: "text", text: "Pay Bob" }] },
      {
        role: "assistant",
        content: [{ type: "text", text: "Sure" }, { type: "tool_use", input: { command: "ls" } }],
      },
      { role: "user", content: [{ type: "tool_result", content: "files" }] },
    ],
  });
  const stream = [
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    delta(0, "text", "He is pa"),
    delta(0, "text", "id"),
    delta(1, "partial_json", '{"command":"ls"}'),
    event({
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", name: "Agent" },
    }),
    delta(2, "partial_json", '{"prompt":"Pay'),
    delta(2, "partial_json", ' Bob"}'),
  ];
  const { request, ...rest } = scrubbed(exchangeOf(stream, { body }), ["prompts", "answers"]);
  assertEquals(JSON.parse(decoder.decode(request.body)).messages, [
    { role: "user", content: [{ type: "text", text: "xxx xxx" }] },
    {
      role: "assistant",
      content: [{ type: "text", text: "xxxx" }, { type: "tool_use", input: { command: "ls" } }],
    },
    { role: "user", content: [{ type: "tool_result", content: "files" }] },
  ]);
  assertEquals(joinedDeltas(textsOf({ request, ...rest }).join("")), {
    0: "xx xx xxxx",
    1: '{"command":"ls"}',
    2: '{"prompt":"xxx xxx"}',
  });
});

Deno.test("system prompts are blanked with prompts", () => {
  const billing = { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.330.548;" };
  const bodyOf = (text: string) => JSON.stringify({ system: [billing, { type: "text", text }] });
  const asked = (text: string) => {
    const { request } = scrubbed(exchangeOf([], { body: bodyOf(text) }), ["traces", "prompts"]);
    // An opened cassette scrubs requests in the same way.
    const again = scrubbed({ ...exchangeOf([]), request }, ["traces", "prompts"]).request;
    assertEquals(again, request);
    return JSON.parse(decoder.decode(request.body)).system;
  };
  const text = "It is Wednesday, November 25, 2026. Write to noreply@anthropic.com of /tmp/abc/d.";
  assertEquals(asked(text), [
    billing,
    {
      type: "text",
      text: "xx xx Wednesday, November 25, 2026. xxxxx xx xxxxxxx@xxxxxxxxx.xxx xx /tmp/xxx/x.",
    },
  ]);
});

Deno.test("account headers are blanked", () => {
  const one = exchangeOf([]);
  const headers = [
    ["anthropic-organization-id", "66666666-7777-4888-8999-0000000000ab"],
    ["request-id", "66666666-7777-4888-8999-0000000000ab"],
  ] as const;
  assertEquals(scrubbed({ ...one, response: { ...one.response, headers } }).response.headers, [
    ["anthropic-organization-id", "00000000-0000-0000-0000-000000000000"],
    ["request-id", "66666666-7777-4888-8999-0000000000ab"],
  ]);
});

Deno.test("compressed answers are scrubbed, broken ones too", () => {
  const text = JSON.stringify({ text: "at /home/alice", more: "x".repeat(2000) });
  const rows = [
    ["GZIP ", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const;
  for (const [encoding, pack] of rows) {
    const one = exchangeOf([]);
    const packed = new Uint8Array(pack(bytes(text)));
    const of = (bytes: Uint8Array<ArrayBuffer>) =>
      scrubbed({
        ...one,
        response: {
          ...one.response,
          headers: [
            ...[["Content-Encoding", encoding], ["Content-Length", "9"]] as const,
            ["content-type", "application/json"],
          ],
          chunks: [{ ms: 3, bytes: bytes.slice(0, 10) }, { ms: 4, bytes: bytes.slice(10) }],
        },
      }).response;
    const { headers, chunks } = of(packed);
    assertEquals(headers, [["content-type", "application/json"]]);
    assertEquals(chunks.map(({ ms, bytes }) => [ms, decoder.decode(bytes)]), [
      [3, text.replace("/home/alice", "/home/user")],
    ]);
    const part = of(packed.slice(0, -12)).chunks.map(({ bytes }) => decoder.decode(bytes)).join("");
    if (encoding !== "br") assertStringIncludes(part, '{"text":"at /home/user');
    for (const kept of [bytes("no such thing"), new Uint8Array(pack(bytes('{"text":1}')))]) {
      const { headers, chunks } = of(kept);
      assertEquals([headers.length, chunks.flatMap(({ bytes }) => [...bytes])], [3, [...kept]]);
    }
  }
});

Deno.test("hostile requests and answers are scrubbed", () => {
  const deep = "[".repeat(100_000);
  const nested = `${deep}1${"]".repeat(100_000)}`;
  for (const body of [deep, nested, "", "\ufeff{}", '{"__proto__":1}', '{ "a": 1 }']) {
    for (const type of ["application/json", "text/event-stream"]) {
      const { request, response } = scrubbed(exchangeOf([`data: ${body}\n`], { body, type }));
      assertEquals(decoder.decode(request.body), body.replace("\ufeff", ""));
      assertEquals(response.chunks.length, 1);
    }
  }
  const binary = new Uint8Array([0xff, 0, 0xfe]);
  const one = exchangeOf([]);
  const chunks = [{ ms: 0, bytes: binary }];
  assertEquals(scrubbed({ ...one, response: { ...one.response, chunks } }).response.chunks, chunks);
});

/** A request of Claude Code in a project folder. */
function requestFrom(cwd: string, home: string, prompt = "Look around"): string {
  return JSON.stringify({
    model: "claude",
    system: [{ type: "text", text: `Primary working directory: ${cwd}\nMemory: ${home}/.claude/` }],
    messages: [{ role: "user", content: prompt }, { role: "user", content: `${cwd}/src/a.ts` }],
  });
}

/** Opens a folder of scrubbed exchanges; returns how it answers a request from another folder. */
async function scene(
  parts: readonly ScrubbedPart[],
  use: (
    ask: (body: string, of: { readonly cwd?: string; readonly home: string }) => Promise<string>,
    folder: string,
  ) => Promise<void>,
  record?: RelayAnswer,
): Promise<void> {
  using folder = tempFolder();
  const scrubber = createExchangeScrubber({ parts, known: {} });
  const recorded = exchangeOf(["data: 1\n\n"], { body: requestFrom("/work/acme", "/home/alice") });
  scrubber.learn(recorded);
  const exchange = scrubber.exchange(recorded);
  addExchange(folder.path, { exchange, key: keyOf(exchange.request) });
  await use(async (body, { cwd, home }) => {
    const { answer } = openCassette(folder.path, {
      match: "normalized",
      redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
      known: { homes: [home], ...(cwd === undefined ? {} : { projects: [cwd] }) },
      ...(record === undefined ? {} : { record }),
    });
    const request = { ...exchangeOf([], { body }).request, headers: new Headers() };
    const response = await answer(request, new AbortController());
    return `${response.status} ${await response.text()}`;
  }, folder.path);
}

Deno.test("a scrubbed cassette answers other users in other folders", async () => {
  await scene(["traces"], async (ask) => {
    const bob = { cwd: "/builds/42/app", home: "/Users/bob" };
    assertEquals(
      await ask(requestFrom("/work/acme", "/home/alice"), { home: "/home/alice" }),
      "200 data: 1\n\n",
    );
    assertEquals(await ask(requestFrom(bob.cwd, bob.home), bob), "200 data: 1\n\n");
    assertEquals(await ask(requestFrom(bob.cwd, "/root"), { home: "/root" }), "200 data: 1\n\n");
    assertMatch(await ask(requestFrom(bob.cwd, bob.home, "Look away"), bob), /^503 .*Look a/u);
    assertMatch(await ask(requestFrom(bob.cwd, `${bob.home}/else`), bob), /^503 /u);
  });
});

Deno.test("a cassette without prompts answers prompts of equal shape", async () => {
  await scene(["traces", "prompts"], async (ask) => {
    const bob = { cwd: "/builds/42/app", home: "/Users/bob" };
    assertEquals(await ask(requestFrom(bob.cwd, bob.home, "Jump abroad"), bob), "200 data: 1\n\n");
    assertMatch(await ask(requestFrom(bob.cwd, bob.home, "Look"), bob), /^503 /u);
  });
});

Deno.test("an unscrubbed cassette distinguishes folders", async () => {
  await scene([], async (ask) => {
    assertMatch(
      await ask(requestFrom("/work/other", "/home/alice"), { home: "/home/alice" }),
      /^503 /u,
    );
  });
});

/** An API that answers with this stream. */
const streams = (text: string): RelayAnswer => () =>
  Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } }));

Deno.test("an exchange added to a scrubbed cassette is scrubbed", async () => {
  await scene(["traces"], async (ask, folder) => {
    const bob = { cwd: "/builds/42/app", home: "/home/bob" };
    await ask(requestFrom(bob.cwd, bob.home, "More"), bob);
    const files = [...readExchanges(folder)].map(({ name }) =>
      Deno.readTextFileSync(`${folder}/${name}`)
    );
    assertEquals(files.length, 2);
    assertEquals(files.filter((text) => /bob|builds|sk-secret/u.test(text)), []);
    assertEquals(files.every((text) => text.includes('"traces"')), true);
  }, streams("data: /home/bob/x sk-secret\n\n"));
});

Deno.test("a secret in deltas is not recorded", async () => {
  const said = ["the key is sk-", "sec", "ret, keep it"].map((text) => delta(0, "text", text));
  await scene([], async (ask, folder) => {
    assertEquals(await ask("{}", { home: "/home/bob" }), `200 ${said.join("")}`);
    const [recorded] = readExchanges(folder).filter(({ exchange }) =>
      exchange.request.body.length === 2
    );
    const text = new TextDecoder().decode(recorded?.exchange.response.chunks[0]?.bytes);
    const kept = ["the key is [redacted]", "", ", keep it"].map((text) => delta(0, "text", text));
    assertEquals(text, kept.join(""));
  }, streams(said.join("")));
});
