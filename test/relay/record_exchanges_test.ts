import { assertEquals, assertStringIncludes } from "@std/assert";
import { createRedactor } from "../../src/redaction/redact.ts";
import { readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { recordExchanges } from "../../src/relay/record_exchanges.ts";
import { createSlices } from "../../src/relay/sliced_work.ts";
import type { RelayedRequest } from "../../src/relay/relay.ts";

const asked: RelayedRequest = {
  method: "POST",
  path: "/v1/messages",
  headers: new Headers({ "authorization": "sk-secret", "x-claude-code-session-id": "s" }),
  body: new TextEncoder().encode('{"key":"sk-secret"}'),
};
const redact = (text: string) => text.replaceAll("sk-secret", "[redacted]");

/** Knows a word for a secret. */
function createRedactorOf(secret: string) {
  const { text, openFrom } = createRedactor({ env: { A_TOKEN: secret } });
  return { redact: text, openFrom };
}

/** Asks several times, and says what was answered, what was told, and what is recorded. */
async function recorded(folder: string) {
  let count = 0;
  const told: string[] = [];
  const taken: number[] = [];
  const answer = recordExchanges(
    () =>
      Promise.resolve(new Response(`${++count}: sk-secret`, { status: count === 1 ? 529 : 200 })),
    {
      folder,
      slices: createSlices(),
      redact,
      openFrom: () => Infinity,
      taken: (secrets) => void taken.push(secrets),
      tell: (line) => void told.push(line),
    },
  );
  const answers: string[] = [];
  for (let time = 0; time < 3; time++) {
    answers.push(await (await answer(asked, new AbortController())).text());
  }
  return { answers, told, taken };
}

Deno.test("what is recorded beside a run is asked anew each time, and kept in its order, without secrets", async () => {
  const home = Deno.makeTempDirSync();
  const folder = `${home}/api`;
  const { answers, told, taken } = await recorded(folder);
  assertEquals([told, taken], [[], [2, 2, 2]]);
  assertEquals(answers, ["1: sk-secret", "2: sk-secret", "3: sk-secret"]);
  const text = new TextDecoder();
  assertEquals(
    [...readExchanges(folder)].map(({ exchange: { request, response, conversation } }) => [
      text.decode(request.body),
      response.status,
      response.chunks.map(({ bytes }) => text.decode(bytes)).join(""),
      conversation,
    ]),
    [
      ['{"key":"[redacted]"}', 529, "1: [redacted]", "s"],
      ['{"key":"[redacted]"}', 200, "2: [redacted]", "s"],
      ['{"key":"[redacted]"}', 200, "3: [redacted]", "s"],
    ],
  );
  Deno.removeSync(home, { recursive: true });
});

Deno.test("of a stream of events there is at each moment what has come of it, as one that has broken off", async () => {
  const home = Deno.makeTempDirSync();
  const folder = `${home}/api`;
  let stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => void (stream = controller),
  });
  const headers = { "content-type": "text/event-stream" };
  const answer = recordExchanges(() => Promise.resolve(new Response(body, { headers })), {
    folder,
    slices: createSlices(),
    ...createRedactorOf("swordfish-42"),
    taken: () => {},
    tell: (line) => assertEquals(line, ""),
  });
  const response = await answer(asked, new AbortController());
  const reader = response.body?.getReader();
  const text = new TextDecoder();
  const seen = () =>
    [...readExchanges(folder)].map(({ exchange: { response: { chunks, whole } } }) => [
      chunks.map(({ bytes }) => text.decode(bytes)).join(""),
      whole,
    ]);
  const delta = (text: string) =>
    `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
  const [one, two, three] = [delta("Never say swordfi"), delta("sh-42"), delta(" again")];
  const now = async (piece: string) => {
    stream?.enqueue(new TextEncoder().encode(piece));
    await reader?.read();
    return seen();
  };
  assertEquals(seen(), [["", false]]);
  assertEquals(await now("event: ping\nda"), [["event: ping\n", false]]);
  assertEquals(await now(`ta: {}\n\n${one}`), [["event: ping\ndata: {}\n\n", false]]);
  const all = `event: ping\ndata: {}\n\n${delta("Never say [redacted]")}${delta("")}${three}`;
  await now(two);
  assertEquals(await now(three), [[all, false]]);
  stream?.close();
  await reader?.read();
  assertEquals(seen(), [[all, true]]);
  assertEquals([...Deno.readDirSync(folder)].length, 1);
  Deno.removeSync(home, { recursive: true });
});

Deno.test("who cannot be recorded is answered all the same", async () => {
  const home = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${home}/file`, "");
  const { answers, told, taken } = await recorded(`${home}/file/api`);
  assertEquals([answers.length, told.length, taken], [3, 3, []]);
  assertStringIncludes(told[0] ?? "", "Cannot write the exchange");
  Deno.removeSync(home, { recursive: true });
});
