import { addExchange } from "../../src/relay/exchanges/exchange_folder.ts";
import { keyOf, normalizedBody } from "../../src/relay/exchanges/request_key.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** How many requests a round makes, and how many of them at a time. */
const REQUESTS = 1000;
const AT_ONCE = 8;

/** As large as a first request of Claude Code, and the answer to it. */
const REQUEST = JSON.stringify({ model: "scripted", text: "a word and another. ".repeat(2500) });
const ANSWER = 'event: content_block_delta\ndata: {"delta":{"text":"a word"}}\n\n'.repeat(60);
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
  await using relay = await serverOf([...CLAUDE_PRINT, "relay", "--cache", cache], env);
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
  const servers = [relay, plain] as const;
  const rates: [number[], number[]] = [[], []];
  const delays: [number[], number[]] = [[], []];
  for (let round = 0; round <= runs; round++) {
    onRound(`relay, round ${round} of ${runs}`);
    for (const [index, { url }] of servers.entries()) {
      const begun = performance.now();
      let left = REQUESTS;
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) await ask(url);
      }));
      const rate = REQUESTS / (performance.now() - begun) * 1000;
      const single: number[] = [];
      for (let time = 0; time < 100; time++) {
        const asked = performance.now();
        await ask(url);
        single.push(performance.now() - asked);
      }
      if (round === 0) continue;
      rates[index === 0 ? 0 : 1].push(rate);
      delays[index === 0 ? 0 : 1].push(median(single));
    }
  }
  await Deno.remove(cache, { recursive: true });
  const [rate, plainRate] = [median(rates[0]), median(rates[1])];
  const [delay, plainDelay] = [median(delays[0]), median(delays[1])];
  const key = keyTime();
  return [
    {
      what: "requests a second, from a cassette",
      value: `${rate.toFixed(0)}/s`,
      against: `plain server, ${plainRate.toFixed(0)}/s`,
      ratio: rate / plainRate,
      target: { text: "0.7", ok: rate / plainRate >= 0.7 },
    },
    {
      what: "one of them",
      value: `${delay.toFixed(2)} ms`,
      against: `plain server, ${plainDelay.toFixed(2)} ms`,
      ratio: delay / plainDelay,
      target: { text: "2 ms more", ok: delay - plainDelay <= 2 },
    },
    {
      what: "what a new body of 1 MB is known by",
      value: `${key.normalized.toFixed(1)} ms`,
      against: `its SHA-256, ${key.exact.toFixed(1)} ms`,
      ratio: key.normalized / key.exact,
    },
  ];
}

async function ask(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/messages`, { method: "POST", body: REQUEST });
  if (await answer.text() !== ANSWER) throw new Error(`${url} does not answer`);
}

/** Starts a program whose first line is its base URL. */
async function serverOf(
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: { ...env },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  return {
    url: value.trim(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
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
