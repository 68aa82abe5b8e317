import { assertEquals, assertStringIncludes } from "@std/assert";
import { readExchanges } from "../../src/relay/exchanges/exchange_folder.ts";
import { recordExchanges } from "../../src/relay/record_exchanges.ts";
import type { RelayedRequest } from "../../src/relay/relay.ts";

const asked: RelayedRequest = {
  method: "POST",
  path: "/v1/messages",
  headers: new Headers({ "authorization": "sk-secret", "x-claude-code-session-id": "s" }),
  body: new TextEncoder().encode('{"key":"sk-secret"}'),
};
const redact = (text: string) => text.replaceAll("sk-secret", "[redacted]");

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
      redact,
      taken: (secrets) => void taken.push(secrets),
      tell: (line) => void told.push(line),
    },
  );
  const answers: string[] = [];
  for (let time = 0; time < 3; time++) {
    answers.push(await (await answer(asked, new AbortController().signal)).text());
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

Deno.test("who cannot be recorded is answered all the same", async () => {
  const home = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${home}/file`, "");
  const { answers, told, taken } = await recorded(`${home}/file/api`);
  assertEquals([answers.length, told.length, taken], [3, 3, []]);
  assertStringIncludes(told[0] ?? "", "Cannot write the exchange");
  Deno.removeSync(home, { recursive: true });
});
