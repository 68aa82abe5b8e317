import { assertEquals, assertMatch } from "@std/assert";
import type { Exchange, ScrubbedPart } from "../../src/relay/exchanges/exchange.ts";
import { addExchange, readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { keyOf } from "../../src/relay/exchanges/request_key.ts";
import { createExchangeScrubber } from "../../src/relay/exchanges/scrub_alike.ts";
import { openApiCassette } from "../../src/relay/api_cassette.ts";
import type { RelayAnswer } from "../../src/relay/relay.ts";

const HEADERS = [["content-type", "text/event-stream"]] as const;

/** What Claude Code asks in a folder of somebody's. */
function asked(cwd: string, home: string, prompt = "Look around"): string {
  return JSON.stringify({
    model: "claude",
    system: [{ type: "text", text: `Primary working directory: ${cwd}\nMemory: ${home}/.claude/` }],
    messages: [{ role: "user", content: prompt }, { role: "user", content: `${cwd}/src/a.ts` }],
  });
}

function exchangeOf(body: string, answer: string): Exchange {
  const bytes = new TextEncoder();
  return {
    at: 0,
    request: { method: "POST", path: "/v1/messages", body: bytes.encode(body) },
    response: {
      status: 200,
      headers: HEADERS,
      chunks: [{ ms: 0, bytes: bytes.encode(answer) }],
      whole: true,
    },
  };
}

/** A folder of exchanges without these parts, and what it says to a request of somebody in a folder. */
async function scene(
  parts: readonly ScrubbedPart[],
  use: (
    ask: (body: string, of: { readonly cwd?: string; readonly home: string }) => Promise<string>,
    folder: string,
  ) => Promise<void>,
  record?: RelayAnswer,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    const scrubber = createExchangeScrubber({ parts, known: {} });
    const recorded = exchangeOf(asked("/work/acme", "/home/alice"), "data: 1\n\n");
    scrubber.learn(recorded);
    const exchange = scrubber.exchange(recorded);
    addExchange(folder, { exchange, key: keyOf(exchange.request) });
    await use(async (body, { cwd, home }) => {
      const { answer } = openApiCassette({
        folder,
        match: "normalized",
        ignored: [],
        speed: 0,
        faults: new Map(),
        redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
        openFrom: () => Infinity,
        known: { homes: [home], ...(cwd === undefined ? {} : { projects: [cwd] }) },
        tell: () => {},
        ...(record === undefined ? {} : { record }),
      });
      const request = {
        method: "POST",
        path: "/v1/messages",
        headers: new Headers(),
        body: new TextEncoder().encode(body),
      };
      const response = await answer(request, new AbortController());
      return `${response.status} ${await response.text()}`;
    }, folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("a scrubbed cassette of the API answers whoever asks the same, in whatever folder", async () => {
  await scene(["traces"], async (ask) => {
    const bob = { cwd: "/builds/42/app", home: "/Users/bob" };
    assertEquals(
      await ask(asked("/work/acme", "/home/alice"), { home: "/home/alice" }),
      "200 data: 1\n\n",
    );
    assertEquals(await ask(asked(bob.cwd, bob.home), bob), "200 data: 1\n\n");
    assertEquals(await ask(asked(bob.cwd, "/root"), { home: "/root" }), "200 data: 1\n\n");
    assertMatch(await ask(asked(bob.cwd, bob.home, "Look away"), bob), /^503 .*Look a/u);
    assertMatch(await ask(asked(bob.cwd, `${bob.home}/else`), bob), /^503 /u);
  });
});

Deno.test("one without prompts answers prompts of the same shape", async () => {
  await scene(["traces", "prompts"], async (ask) => {
    const bob = { cwd: "/builds/42/app", home: "/Users/bob" };
    assertEquals(await ask(asked(bob.cwd, bob.home, "Jump abroad"), bob), "200 data: 1\n\n");
    assertMatch(await ask(asked(bob.cwd, bob.home, "Look"), bob), /^503 /u);
  });
});

Deno.test("one that nothing was taken out of tells folders apart as before", async () => {
  await scene([], async (ask) => {
    assertMatch(await ask(asked("/work/other", "/home/alice"), { home: "/home/alice" }), /^503 /u);
  });
});

Deno.test("what is recorded into a scrubbed cassette is scrubbed as the rest of it", async () => {
  const record: RelayAnswer = () =>
    Promise.resolve(
      new Response("data: /home/bob/x sk-secret\n\n", {
        headers: { "content-type": "text/event-stream" },
      }),
    );
  await scene(["traces"], async (ask, folder) => {
    const bob = { cwd: "/builds/42/app", home: "/home/bob" };
    await ask(asked(bob.cwd, bob.home, "More"), bob);
    const files = [...readExchanges(folder)].map(({ name }) =>
      Deno.readTextFileSync(`${folder}/${name}`)
    );
    assertEquals(files.length, 2);
    assertEquals(files.filter((text) => /bob|builds|sk-secret/u.test(text)), []);
    assertEquals(files.every((text) => text.includes('"traces"')), true);
  }, record);
});

Deno.test("a secret that is told in deltas is not written down", async () => {
  const delta = (text: string) =>
    `data: ${
      JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
    }\n\n`;
  const said = [delta("the key is sk-"), delta("sec"), delta("ret, keep it")];
  const record: RelayAnswer = () =>
    Promise.resolve(
      new Response(said.join(""), { headers: { "content-type": "text/event-stream" } }),
    );
  await scene([], async (ask, folder) => {
    assertEquals(await ask("{}", { home: "/home/bob" }), `200 ${said.join("")}`);
    const [recorded] = readExchanges(folder).filter(({ exchange }) =>
      exchange.request.body.length === 2
    );
    const text = new TextDecoder().decode(recorded?.exchange.response.chunks[0]?.bytes);
    assertEquals(text, [delta("the key is [redacted]"), delta(""), delta(", keep it")].join(""));
  }, record);
});
