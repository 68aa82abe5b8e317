import { addExchange } from "../../src/recording/relay/exchange_folder.ts";
import { keyOf, normalizedBody } from "../../src/recording/relay/match_requests.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import { startRivals } from "./rivals.ts";
import type { Row } from "./row.ts";
import { serverOf } from "./server_of.ts";
import type { World } from "./world.ts";

/** How many requests a round makes of a fast server and of another one, and how many of them at a time. */
const REQUESTS = 1000;
const FEW_REQUESTS = 200;
const AT_ONCE = 8;

/** As large as a first request of Claude Code, and the answer to it. */
const MESSAGE = "a word and another. ".repeat(2500);
const REQUEST = JSON.stringify({
  model: "scripted",
  max_tokens: 1000,
  stream: true,
  messages: [{ role: "user", content: MESSAGE }],
});
const PIECE = "a word ";
const PIECES = 30;
const ANSWER = [
  { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant" } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ...Array(PIECES).fill({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: PIECE },
  }),
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: PIECES } },
  { type: "message_stop" },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const HEAD = { "content-type": "text/event-stream" };

/** A server with the same bytes and nothing else. */
const PLAIN = `
const [answer, head] = JSON.parse(Deno.args[0]);
const onListen = ({ port }) => console.log("http://127.0.0.1:" + port);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, async (request) => {
  await request.bytes();
  return new Response(answer, { headers: head });
});
`;

/** Measures what the relay answers from a cassette beside a server that only has the same bytes. */
export async function measureRelay(
  { homes: { claudePrint: { env, tmp } } }: World,
  { runs, onRound }: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const request = { method: "POST", path: "/v1/messages", body: bytes(REQUEST) };
  const chunks = [{ ms: 0, bytes: bytes(ANSWER) }];
  const response = { status: 200, headers: Object.entries(HEAD), chunks, whole: true };
  const cache = `${tmp}/bench`;
  addExchange(`${cache}/api`, { exchange: { at: 0, request, response }, key: keyOf(request) });
  await using relay = await serverOf([...CLAUDE_PRINT_CACHED, "relay", "--cache", cache], env);
  const script = `${cache}/plain.js`;
  await Deno.writeTextFile(script, PLAIN);
  await using plain = await serverOf(
    [
      Deno.execPath(),
      "run",
      "--allow-net",
      "--no-config",
      "--no-lock",
      script,
      JSON.stringify([ANSWER, HEAD]),
    ],
    env,
  );
  const rivals = await startRivals({
    path: request.path,
    request: REQUEST,
    message: MESSAGE,
    head: HEAD,
    answer: ANSWER,
    text: PIECE.repeat(PIECES),
    piece: PIECE.length,
  }, { folder: cache, env });
  await using stack = new AsyncDisposableStack();
  const contenders: readonly Contender[] = [
    { name: "relay", url: relay.url, requests: REQUESTS, rates: [], delays: [] },
    { name: "plain server", url: plain.url, requests: REQUESTS, rates: [], delays: [] },
    ...rivals.flatMap(({ name, server }) =>
      typeof server === "string"
        ? []
        : [{ name, url: stack.use(server).url, requests: FEW_REQUESTS, rates: [], delays: [] }]
    ),
  ];
  for (let round = 0; round <= runs; round++) {
    onRound(`relay, round ${round} of ${runs}`);
    for (const contender of contenders) await measure(contender, round > 0);
  }
  await stack.disposeAsync();
  await Deno.remove(cache, { recursive: true });
  const [own, other] = contenders as [Contender, Contender];
  const [rate, delay] = [median(own.rates), median(own.delays)];
  const added = delay - median(other.delays);
  const key = keyTime();
  return [
    {
      what: "requests a second, from a cassette",
      value: `${rate.toFixed(0)}/s`,
      against: `plain server, ${median(other.rates).toFixed(0)}/s`,
      ratio: rate / median(other.rates),
      target: { text: "0.7", ok: rate / median(other.rates) >= 0.7 },
    },
    {
      what: "one of them",
      value: `${delay.toFixed(2)} ms`,
      against: `plain server, ${median(other.delays).toFixed(2)} ms`,
      ratio: delay / median(other.delays),
      target: { text: "2 ms more", ok: added <= 2 },
    },
    ...rivals.map(({ name, server }): Row => {
      const rival = contenders.find((each) => each.name === name);
      if (rival === undefined) {
        return { what: `the same by ${name}`, value: "lacking", against: `${server}` };
      }
      const [rivalRate, rivalDelay] = [median(rival.rates), median(rival.delays)];
      return {
        what: "requests a second, from a cassette",
        value: `${rate.toFixed(0)}/s`,
        against: `${name}, ${rivalRate.toFixed(0)}/s, ${rivalDelay.toFixed(2)} ms`,
        ratio: rate / rivalRate,
        target: { text: "1, ahead", ok: rate > rivalRate && delay < rivalDelay },
      };
    }),
    {
      what: "what a new body of 1 MB is known by",
      value: `${key.normalized.toFixed(1)} ms`,
      against: `its SHA-256, ${key.exact.toFixed(1)} ms`,
      ratio: key.normalized / key.exact,
    },
  ];
}

/** A server, and what was measured of it. */
interface Contender {
  readonly name: string;
  readonly url: string;
  /** How many requests a round makes of it. */
  readonly requests: number;
  readonly rates: number[];
  readonly delays: number[];
}

/** One round with a server. */
async function measure(
  { url, requests, rates, delays }: Contender,
  counts: boolean,
): Promise<void> {
  const begun = performance.now();
  let left = requests;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await ask(url);
  }));
  const rate = requests / (performance.now() - begun) * 1000;
  const single: number[] = [];
  for (let time = 0; time < 100; time++) {
    const asked = performance.now();
    await ask(url);
    single.push(performance.now() - asked);
  }
  if (!counts) return;
  rates.push(rate);
  delays.push(median(single));
}

/** Asks, and sees that all pieces of the text come. */
async function ask(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/messages`, { method: "POST", body: REQUEST });
  const pieces = (await answer.text()).split(`"${PIECE}"`).length - 1;
  if (pieces !== PIECES) throw new Error(`${url} does not answer`);
}

/** How long it takes to compute the keys of a body of 1 MB, in milliseconds. */
function keyTime(): { readonly exact: number; readonly normalized: number } {
  const body = new TextEncoder().encode(REQUEST.repeat(20)).subarray(0, 1_000_000);
  const timed = (work: () => void) =>
    median(Array.from({ length: 9 }, () => {
      const begun = performance.now();
      work();
      return performance.now() - begun;
    }));
  return {
    exact: timed(() => keyOf({ method: "POST", path: "/v1/messages", body })),
    normalized: timed(() => normalizedBody(body, [])),
  };
}
