import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import type { Exchange } from "../../../src/recording/relay/exchange.ts";
import { addExchange, readExchanges } from "../../../src/recording/relay/exchange_folder.ts";
import { keyOf } from "../../../src/recording/relay/match_requests.ts";
import { recordAnswer, recordExchanges } from "../../../src/recording/relay/record_exchanges.ts";
import type { RelayAnswer, RelayedRequest } from "../../../src/recording/relay/relay_server.ts";
import { createSlicedWorker, type SlicedWorker } from "../../../src/recording/relay/sliced_work.ts";
import { tempFolder } from "../../temp_folder.ts";
import { openCassette } from "./open_cassette.ts";

const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });
const never = new AbortController();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const request = (body: string): RelayedRequest => ({
  method: "POST",
  path: "/v1/messages",
  headers: new Headers({ "authorization": "swordfish-42", "x-claude-code-session-id": "s" }),
  body: encoder.encode(body),
});

const delta = (text: string) =>
  `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
const STREAM_HEADERS = { "content-type": "text/event-stream" };

/** A folder for exchanges that does not exist yet. */
function scene() {
  const { path: home, [Symbol.dispose]: dispose } = tempFolder();
  const folder = `${home}/api`;
  return {
    home,
    folder,
    /** What is recorded: the request's body, the status, the answer and whether it is complete. */
    recorded: () =>
      [...readExchanges(folder)].map(({ exchange: { request, response } }) => ({
        asked: decoder.decode(request.body),
        status: response.status,
        said: response.chunks.map(({ bytes }) => decoder.decode(bytes)).join(""),
        whole: response.whole,
      })),
    [Symbol.dispose]: dispose,
  };
}

/** Records what an API answers. */
function recorder(folder: string, answer: RelayAnswer, { slices = createSlicedWorker() } = {}) {
  const told: string[] = [];
  const taken: number[] = [];
  const answerTo = recordExchanges(answer, {
    folder,
    slices,
    redact,
    openFrom,
    taken: (secrets) => void taken.push(secrets),
    tell: (line) => void told.push(line),
  });
  return { answerTo, told, taken };
}

/** Sends three requests. The first response is an error, and all contain a secret. */
async function threeAnswers(folder: string) {
  let count = 0;
  const { answerTo, told, taken } = recorder(folder, () => {
    const status = ++count === 1 ? 529 : 200;
    return Promise.resolve(new Response(`${count}: swordfish-42`, { status }));
  });
  const answers: string[] = [];
  for (let time = 0; time < 3; time++) {
    answers.push(await (await answerTo(request('{"key":"swordfish-42"}'), never)).text());
  }
  return { answers, told, taken };
}

Deno.test("equal requests are recorded in order, without secrets", async () => {
  using there = scene();
  const { answers, told, taken } = await threeAnswers(there.folder);
  assertEquals([told, taken], [[], [2, 2, 2]]);
  assertEquals(answers, ["1: swordfish-42", "2: swordfish-42", "3: swordfish-42"]);
  const asked = '{"key":"[redacted]"}';
  assertEquals(there.recorded(), [
    { asked, status: 529, said: "1: [redacted]", whole: true },
    { asked, status: 200, said: "2: [redacted]", whole: true },
    { asked, status: 200, said: "3: [redacted]", whole: true },
  ]);
  const sessions = [...readExchanges(there.folder)].map(({ exchange }) => exchange.conversation);
  assertEquals(sessions, ["s", "s", "s"]);
});

Deno.test("a folder that cannot be written costs no answer", async () => {
  using there = scene();
  Deno.writeTextFileSync(`${there.home}/file`, "");
  const { answers, told, taken } = await threeAnswers(`${there.home}/file/api`);
  assertEquals([answers.length, told.length, taken], [3, 3, []]);
  assertStringIncludes(told[0] ?? "", "Cannot write the exchange");
});

Deno.test("a broken stream is recorded as it came", async () => {
  using there = scene();
  let stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => void (stream = controller),
  });
  const { answerTo, told } = recorder(
    there.folder,
    () => Promise.resolve(new Response(body, { headers: STREAM_HEADERS })),
  );
  const reader = (await answerTo(request("{}"), never)).body?.getReader();
  const seen = () => there.recorded().map(({ said, whole }) => [said, whole]);
  const after = async (piece: string) => {
    stream?.enqueue(encoder.encode(piece));
    await reader?.read();
    return seen();
  };
  assertEquals(seen(), [["", false]]);
  assertEquals(await after("event: ping\nda"), [["event: ping\n", false]]);
  assertEquals(await after(`ta: {}\n\n${delta("Never say swordfi")}`), [
    ["event: ping\ndata: {}\n\n", false],
  ]);
  await after(delta("sh-42"));
  const all = `event: ping\ndata: {}\n\n${delta("Never say [redacted]")}${delta("")}${
    delta(" again")
  }`;
  assertEquals(await after(delta(" again")), [[all, false]]);
  stream?.close();
  await reader?.read();
  assertEquals([seen(), told], [[[all, true]], []]);
  assertEquals([...Deno.readDirSync(there.folder)].length, 1);
});

/** Passes a response to a recorder; returns what the recorder did. */
function recorderSteps(
  pieces: readonly string[],
  more: Partial<Parameters<typeof recordAnswer>[1]>,
): readonly string[] {
  const steps: string[] = [];
  const watcher = recordAnswer({
    request: { method: "POST", path: "/v1/messages", body: new Uint8Array() },
    conversation: undefined,
  }, {
    redact: (text) => text,
    openFrom: () => Infinity,
    slices: createSlicedWorker(),
    keep: ({ response: { chunks } }) => {
      steps.push(`kept ${chunks.length}`);
      return [];
    },
    lose: ({ message }) => void steps.push(message),
    end: () => void steps.push("end"),
    ...more,
  });
  watcher.onHead?.({ status: 200, headers: new Headers() });
  for (const piece of pieces) watcher.onBytes?.(encoder.encode(piece));
  watcher.onEnd?.({ whole: true });
  return steps;
}

Deno.test("a long or failed answer is reported and not kept", () => {
  const pieces = ["an", "sw", "er"];
  assertEquals(recorderSteps(pieces, { most: 6 }), ["kept 3", "end"]);
  assertEquals(recorderSteps(pieces, { most: 5 }), [
    "Cannot write the exchange: its answer has more than 5 bytes",
    "end",
  ]);
  const fail = () => {
    throw new Error("no such secret");
  };
  assertEquals(recorderSteps(pieces, { redact: fail }), [
    "Cannot write the exchange: no such secret",
    "end",
  ]);
});

/** A response with so many events that it is redacted in several slices. */
const LONG = [
  ...Array.from({ length: 3_000 }, (_, index) => delta(`word ${index}`)),
  ...["It is swor", "dfish-42", "In /ho", "me/alice/acme."].map(delta),
].join("");
const CLEAN = LONG.replace("It is swor", "It is [redacted]").replace('"dfish-42"', '""');
const SCRUBBED = CLEAN.replace("alice/acme.", "user/xxxx.");

const longOrShort: RelayAnswer = ({ body }) =>
  Promise.resolve(
    decoder.decode(body) === "long"
      ? new Response(LONG, { headers: STREAM_HEADERS })
      : new Response("short"),
  );

const recordedBy = (folder: string, slices: SlicedWorker) =>
  openCassette(folder, {
    ...{ record: longOrShort, redact, openFrom, slices },
    tell: (line) => assertEquals(line, ""),
  }).answer;

/** Ways to record, with the expected recording of the long response and the fewest slices. */
const WAYS: Readonly<
  Record<string, readonly [(folder: string, slices: SlicedWorker) => RelayAnswer, string, number]>
> = {
  "--record": [(folder, slices) => recorder(folder, longOrShort, { slices }).answerTo, CLEAN, 5],
  "--api-cassette": [recordedBy, CLEAN, 5],
  "a scrubbed --api-cassette": [
    (folder, slices) => {
      const { method, path, body } = request("scrubbed");
      const exchange: Exchange = {
        at: 0,
        request: { method, path, body },
        response: { status: 200, headers: [], chunks: [], whole: true },
        scrubbed: ["traces"],
      };
      addExchange(folder, { exchange, key: keyOf(exchange.request) });
      return recordedBy(folder, slices);
    },
    SCRUBBED,
    20,
  ],
};

for (const [way, [begin, expected, fewest]] of Object.entries(WAYS)) {
  for (const finishes of [false, true]) {
    const how = finishes ? "is complete on disk after finish()" : "is scrubbed while others ask";
    Deno.test(`${way}: a long answer ${how}`, async () => {
      using there = scene();
      const slices = createSlicedWorker();
      const answer = begin(there.folder, slices);
      const ask = async (body: string) => await (await answer(request(body), never)).text();
      // Files of unfinished exchanges have another ending.
      const recorded = () =>
        [...readExchanges(there.folder)].filter(({ name, exchange: { request } }) =>
          name.endsWith(".json") && decoder.decode(request.body) === "long"
        ).map(({ exchange: { response: { chunks } } }) =>
          chunks.map(({ bytes }) => decoder.decode(bytes)).join("")
        );
      assertEquals(await ask("long"), LONG);
      if (finishes) {
        slices.finish();
      } else {
        assertEquals(recorded(), []);
        assertEquals(await ask("other"), "short");
        assertEquals(recorded(), []);
        let turns = 0;
        for (; recorded().length === 0; turns++) await new Promise((done) => setTimeout(done, 0));
        assert(turns > fewest, `${turns}`);
        await slices.settled();
      }
      assertEquals(recorded(), [expected]);
      const names = Array.from(Deno.readDirSync(there.folder), ({ name }) => name);
      assertEquals(names.filter((name) => !name.endsWith(".json")), []);
    });
  }
}
