import { assert, assertEquals } from "@std/assert";
import { createRedactor } from "../../src/redaction/redact.ts";
import { openApiCassette } from "../../src/relay/api_cassette.ts";
import type { Exchange } from "../../src/relay/exchanges/exchange.ts";
import { addExchange, readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { keyOf } from "../../src/relay/exchanges/request_key.ts";
import { recordExchanges } from "../../src/relay/record_exchanges.ts";
import type { RelayAnswer, RelayedRequest } from "../../src/relay/relay.ts";
import { createSlices, type Slices } from "../../src/relay/sliced_work.ts";

const SECRET = "swordfish-42";
const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: SECRET } });

const delta = (text: string) =>
  `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
const EVENTS = 6_000;
const LONG = [
  ...Array.from({ length: EVENTS }, (_, index) => delta(`word ${index}`)),
  delta("It is swor"),
  delta("dfish-42"),
  delta("In /ho"),
  delta("me/alice/acme."),
].join("");
const CLEAN = LONG.replace("It is swor", "It is [redacted]").replace('"dfish-42"', '""');
/** The same on behalf of nobody. */
const SCRUBBED = CLEAN.replace("alice/acme.", "user/xxxx.");

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
const never = new AbortController();
const text = async (response: Promise<Response>) => await (await response).text();

/** A folder with an exchange that was scrubbed: so is then what is added to it. */
function scrubbedFolder(folder: string): string {
  const { method, path, body } = request("scrubbed");
  const response = { status: 200, headers: [], chunks: [], whole: true };
  const exchange: Exchange = {
    at: 0,
    request: { method, path, body },
    response,
    scrubbed: ["traces"],
  };
  addExchange(folder, { exchange, key: keyOf(exchange.request) });
  return folder;
}

/** What is recorded of the long answer. */
function recordedIn(folder: string): readonly string[] {
  return [...readExchanges(folder)].filter(({ name, exchange }) =>
    name.endsWith(".json") && new TextDecoder().decode(exchange.request.body) === "long"
  ).map(({ exchange: { response: { chunks } } }) =>
    chunks.map(({ bytes }) => new TextDecoder().decode(bytes)).join("")
  );
}

interface Kind {
  readonly begin: (folder: string, slices: Slices) => RelayAnswer;
  readonly recorded: string;
  /** Fewer slices would be too long each. */
  readonly slices: number;
}

const recording = (folder: string, slices: Slices) =>
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
  }).answer;

const kinds: Readonly<Record<string, Kind>> = {
  "--record": {
    begin: (folder, slices) =>
      recordExchanges(upstream, {
        folder,
        redact,
        openFrom,
        slices,
        taken: () => {},
        tell: (line) => assertEquals(line, ""),
      }),
    recorded: CLEAN,
    slices: 10,
  },
  "--api-cassette": { begin: recording, recorded: CLEAN, slices: 10 },
  "--api-cassette with what was scrubbed": {
    begin: (folder, slices) => recording(scrubbedFolder(folder), slices),
    recorded: SCRUBBED,
    slices: 40,
  },
};

for (const [kind, { begin, recorded, slices: least }] of Object.entries(kinds)) {
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
    assert(turns > least, `${turns}`);
    await slices.settled();
    assertEquals(recordedIn(folder), [recorded]);
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => !name.endsWith(".json")), false);
    Deno.removeSync(home, { recursive: true });
  });

  Deno.test(`${kind}: a long answer is whole on the disk once all has been finished`, async () => {
    const home = Deno.makeTempDirSync();
    const folder = `${home}/api`;
    const slices = createSlices();
    const answer = begin(folder, slices);
    assertEquals(await text(answer(request("long"), never)), LONG);
    slices.finish();
    assertEquals(recordedIn(folder), [recorded]);
    Deno.removeSync(home, { recursive: true });
  });
}
