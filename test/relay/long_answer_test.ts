import { assert, assertEquals } from "@std/assert";
import { createRedactor } from "../../src/redaction/redact.ts";
import { openApiCassette } from "../../src/relay/api_cassette.ts";
import { readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { recordExchanges } from "../../src/relay/record_exchanges.ts";
import type { RelayAnswer, RelayedRequest } from "../../src/relay/relay.ts";
import { createSlices } from "../../src/relay/sliced_work.ts";

const SECRET = "swordfish-42";
const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: SECRET } });

const delta = (text: string) =>
  `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
const EVENTS = 6_000;
const LONG = [
  ...Array.from({ length: EVENTS }, (_, index) => delta(`word ${index}`)),
  delta("It is swor"),
  delta("dfish-42"),
].join("");
const CLEAN = LONG.replace("It is swor", "It is [redacted]").replace('"dfish-42"', '""');

const request = (body: string): RelayedRequest => ({
  method: "POST",
  path: "/v1/messages",
  headers: new Headers(),
  body: new TextEncoder().encode(body),
});
/** Answers with a stream of very many events, which comes at once, or in short. */
const upstream: RelayAnswer = ({ body }) =>
  Promise.resolve(
    new TextDecoder().decode(body) === "long"
      ? new Response(LONG, { headers: { "content-type": "text/event-stream" } })
      : new Response("short"),
  );
const never = new AbortController().signal;
const text = async (response: Promise<Response>) => await (await response).text();

/** What is recorded of the long answer. */
function recordedIn(folder: string): readonly string[] {
  return [...readExchanges(folder)].filter(({ name, exchange }) =>
    name.endsWith(".json") && new TextDecoder().decode(exchange.request.body) === "long"
  ).map(({ exchange: { response: { chunks } } }) =>
    chunks.map(({ bytes }) => new TextDecoder().decode(bytes)).join("")
  );
}

const kinds: Readonly<
  Record<string, (folder: string, slices: ReturnType<typeof createSlices>) => RelayAnswer>
> = {
  "--record": (folder, slices) =>
    recordExchanges(upstream, {
      folder,
      redact,
      openFrom,
      slices,
      taken: () => {},
      tell: (line) => assertEquals(line, ""),
    }),
  "--api-cassette": (folder, slices) =>
    openApiCassette({
      folder,
      match: "exact",
      ignored: [],
      record: upstream,
      speed: 0,
      faults: new Map(),
      redact,
      openFrom,
      slices,
      tell: (line) => assertEquals(line, ""),
    }).answer,
};

for (const [kind, begin] of Object.entries(kinds)) {
  Deno.test(`${kind}: while secrets are taken out of a long answer, it has gone to who asked, and others are answered`, async () => {
    const home = Deno.makeTempDirSync();
    const folder = `${home}/api`;
    const slices = createSlices();
    const answer = begin(folder, slices);
    assertEquals(await text(answer(request("long"), never)), LONG);
    assertEquals(recordedIn(folder), []);
    assertEquals(await text(answer(request("other"), never)), "short");
    assertEquals(recordedIn(folder), []);
    // What is left goes on by itself, slice by slice.
    let turns = 0;
    while (recordedIn(folder).length === 0) {
      await new Promise((done) => setTimeout(done, 0));
      turns++;
    }
    assert(turns > 5, `${turns}`);
    assertEquals(recordedIn(folder), [CLEAN]);
    assertEquals([...Deno.readDirSync(folder)].length, 2);
    Deno.removeSync(home, { recursive: true });
  });

  Deno.test(`${kind}: a long answer is whole on the disk once all has been finished`, async () => {
    const home = Deno.makeTempDirSync();
    const folder = `${home}/api`;
    const slices = createSlices();
    const answer = begin(folder, slices);
    assertEquals(await text(answer(request("long"), never)), LONG);
    slices.finish();
    assertEquals(recordedIn(folder), [CLEAN]);
    Deno.removeSync(home, { recursive: true });
  });
}
