import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Exchange } from "../../../src/relay/exchanges/exchange.ts";
import { createExchangeScrubber } from "../../../src/relay/exchanges/scrub_alike.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const bytes = (text: string) => encoder.encode(text);

const BODY = JSON.stringify({
  system: [{ type: "text", text: "Primary working directory: /work/acme-billing\nOS: Linux" }],
  messages: [{ role: "user", content: "Read /work/acme-billing/a.ts of alice@acme.io" }],
});

/** An exchange of somebody's. */
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

/** The texts that the deltas of a stream tell, each by its index. */
function told(stream: string): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [, data = ""] of stream.matchAll(/^data: (.*)$/gmu)) {
    const { index, delta } = JSON.parse(data);
    if (delta === undefined) continue;
    texts[index] = (texts[index] ?? "") + (delta.text ?? delta.partial_json);
  }
  return texts;
}

Deno.test("a path that is told in four deltas is found, and the deltas are cut where they were", () => {
  const stream = [
    'event: ping\ndata: {"type": "ping"}\n\n',
    delta(0, "text", "It is /home/al"),
    delta(1, "partial_json", '{"file_path":"/work/ac'),
    delta(0, "text", "ice/no"),
    delta(1, "partial_json", 'me-billing/a.ts"}'),
    delta(0, "text", "tes/to"),
    delta(0, "text", "day.md."),
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "content_block_stop", index: 1 }),
  ];
  const texts = textsOf(scrubbed(exchangeOf(stream)));
  assertEquals(texts.length, stream.length);
  assertEquals(told(texts.join("")), {
    0: "It is /home/user/xxxxx/xxxxx.xx.",
    1: '{"file_path":"/home/user/project/a.ts"}',
  });
  assertEquals(texts[0], stream[0]);
  assertEquals(texts[1], delta(0, "text", "It is /home/us"));
  assertEquals(texts[3], delta(0, "text", "er/xxx"));
});

Deno.test("pieces of the answer stay as many, wherever they were cut", () => {
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

Deno.test("a request is that of nobody, whoever made it, and so is an answer that is no stream", () => {
  const exchange = exchangeOf(['{"id":"1","error":{"message":"bad /home/al', 'ice"}}'], {
    type: "application/json",
  });
  const { request, response, scrubbed: parts } = scrubbed(exchange);
  assertEquals(JSON.parse(decoder.decode(request.body)), {
    system: [{ type: "text", text: "Primary working directory: /home/user/project\nOS: Linux" }],
    messages: [{ role: "user", content: "Read /home/user/project/a.ts of user@example.com" }],
  });
  assertEquals(
    response.chunks.map(({ bytes }) => decoder.decode(bytes)).join(""),
    '{"id":"1","error":{"message":"bad /home/user"}}',
  );
  assertEquals([response.chunks.length, parts], [2, ["traces"]]);
  const other = BODY.replaceAll("/work/acme-billing", "/builds/7/x").replace(
    "alice@acme.io",
    "bob@b.de",
  );
  assertEquals(scrubbed(exchangeOf([], { body: other })).request, request);
  const again = scrubbed(scrubbed(exchange));
  assertEquals(again, scrubbed(exchange));
});

Deno.test("prompts and answers are blanked where the API has them, and tools keep what they were given", () => {
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
  assertEquals(told(textsOf({ request, ...rest }).join("")), {
    0: "xx xx xxxx",
    1: '{"command":"ls"}',
  });
});

Deno.test("with prompts nothing of what the model is told of itself is left, and it is known again", () => {
  const billing = { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.330.548;" };
  const bodyOf = (text: string) => JSON.stringify({ system: [billing, { type: "text", text }] });
  const asked = (text: string) => {
    const { request } = scrubbed(exchangeOf([], { body: bodyOf(text) }), ["traces", "prompts"]);
    // As a cassette that is opened does with what was scrubbed before.
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

Deno.test("a header that says whose account it is says so no more", () => {
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

Deno.test("what was compressed is looked through, also where it has broken off", () => {
  const text = JSON.stringify({ text: "at /home/alice", more: "x".repeat(2000) });
  for (const [encoding, pack] of [["gzip", gzipSync], ["br", brotliCompressSync]] as const) {
    const one = exchangeOf([]);
    const packed = new Uint8Array(pack(bytes(text)));
    const of = (bytes: Uint8Array<ArrayBuffer>) =>
      scrubbed({
        ...one,
        response: {
          ...one.response,
          headers: [["content-encoding", encoding], ["content-type", "application/json"]],
          chunks: [{ ms: 3, bytes: bytes.slice(0, 10) }, { ms: 4, bytes: bytes.slice(10) }],
        },
      }).response;
    const { headers, chunks } = of(packed);
    assertEquals(headers, [["content-type", "application/json"]]);
    assertEquals(chunks.map(({ ms, bytes }) => [ms, decoder.decode(bytes)]), [
      [3, text.replace("/home/alice", "/home/user")],
    ]);
    const part = of(packed.slice(0, -12)).chunks.map(({ bytes }) => decoder.decode(bytes)).join("");
    if (encoding === "gzip") assertStringIncludes(part, '{"text":"at /home/user');
    assertEquals(of(bytes("no such thing")).chunks.length, 2);
  }
});

Deno.test("no request or answer is too deep, too strange or too long", () => {
  const deep = "[".repeat(100_000);
  for (const body of [deep, `${deep}1${"]".repeat(100_000)}`, "", "\ufeff{}", '{"__proto__":1}']) {
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
