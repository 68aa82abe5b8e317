import { assertEquals, assertMatch } from "@std/assert";
import { readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { startApiRelay } from "../../src/run/api_relay.ts";
import type { RunOrder } from "../../src/run/plan/run_order.ts";
import { PLAIN_ORDER } from "./plain_order.ts";

const sessionId = "11111111-2222-4333-8444-555555555555";

/** What is asked and answered in a folder of exchanges. */
function recorded(folder: string): readonly string[] {
  const text = new TextDecoder();
  return [...readExchanges(folder)].map(({ exchange: { request, response } }) =>
    `${text.decode(request.body)} ${
      response.chunks.map(({ bytes }) => text.decode(bytes)).join("")
    }`
  );
}

Deno.test("a recorded run has what its API says, whoever says it, without any secret of the run", async () => {
  const home = Deno.makeTempDirSync();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => new Response(`${await request.text()}, swordfish`),
  );
  const taken: number[] = [];
  const url = `http://127.0.0.1:${server.addr.port}`;
  const order: RunOrder = { ...PLAIN_ORDER, cwd: home, env: { ANTHROPIC_BASE_URL: url } };
  const ask = async (more: Partial<RunOrder>) => {
    using relay = startApiRelay({ ...order, ...more }, { settings: [], sessionId });
    relay.hide({
      redact: (text) => text.replaceAll("swordfish", "[redacted]"),
      openFrom: () => Infinity,
      taken: (secrets) => void taken.push(secrets),
    });
    const base = `${relay.variables["ANTHROPIC_BASE_URL"]}`;
    assertMatch(base, /^http:\/\/127\.0\.0\.1:\d+\/[\da-f-]{36}$/u);
    const address = `${base}/v1/messages`;
    const answer = await fetch(address, { method: "POST", body: "a swordfish" });
    assertEquals(relay.troubles(), []);
    return await answer.text();
  };
  assertEquals(await ask({ record: "one" }), "a swordfish, swordfish");
  assertEquals(recorded(`${home}/one/api`), ["a [redacted] a [redacted], [redacted]"]);
  assertEquals(taken, [3]);

  const cassette = { folder: `${home}/api-alone`, onMiss: "record", allowUpstream: true } as const;
  await ask({ apiCassette: cassette });
  await server.shutdown();
  const played = { record: `${home}/two`, apiCassette: { ...cassette, onMiss: "fail" } } as const;
  assertEquals(await ask(played), "a swordfish, swordfish");
  assertEquals(recorded(`${home}/two/api`), ["a [redacted] a [redacted], [redacted]"]);

  const same = { record: "api-alone/", apiCassette: { ...cassette, onMiss: "fail" } } as const;
  await ask(same);
  assertEquals(recorded(`${home}/api-alone/api`).length, 1);
  Deno.removeSync(home, { recursive: true });
});
