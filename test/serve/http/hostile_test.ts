import { assert, assertEquals } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../../standin/stand_in.ts";
import { eventsOf, serveHere } from "./serve_here.ts";

const encoder = new TextEncoder();
const JSON_TYPE = { "content-type": "application/json" };

/** Says something to a socket, and goes away. */
async function blurt(path: string, text: string): Promise<void> {
  using connection = await Deno.connect({ transport: "unix", path });
  await connection.write(encoder.encode(text));
}

Deno.test("whoever reads slowly loses nothing and holds up nobody, and whoever talks nonsense does no harm", async () => {
  const text = "x".repeat(100_000);
  await using claude = await StandIn.set({ turns: [[{ text: `${text} {turn}` }]] });
  await using server = await serveHere(claude);
  const path = await server.open();
  using slow = await Deno.connect({ transport: "unix", path: server.socket });
  await slow.write(encoder.encode(`GET ${path}/events HTTP/1.0\r\nHost: localhost\r\n\r\n`));
  for (let turn = 1; turn <= 12; turn++) {
    await server.ask("POST", `${path}/messages`, { content: `${turn}` });
  }
  const fast = eventsOf(await server.request("GET", `${path}/events`));
  const results: string[] = [];
  for await (const { data } of fast) {
    if (data.type === "result") results.push(data.result);
    if (results.length === 12 || data.result?.endsWith(" 12")) break;
  }
  assertEquals(results.at(-1), `${text} 12`);

  // Requests that are cut off, that are none, and so many at once that some have to come again.
  const head = `POST ${path}/messages HTTP/1.1\r\nHost: localhost\r\n`;
  await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      [
        "GET / HT",
        head,
        `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"content":`,
        `${head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n`,
        "\0\x01\xff".repeat(1000),
        `GET /${"x".repeat(100_000)} HTTP/1.1\r\n`,
        "GET /healthz HTTP/1.1\r\nHost: [[\r\n\r\n",
      ][at % 7] ?? "").map((text) => blurt(server.socket, text)),
  );
  const statuses = new Map<number, number>();
  const asked = [
    () => server.request("GET", "/healthz"),
    () => server.request("GET", "/v1/conversations/none"),
    () => server.request("POST", `${path}/answers`, { body: "{", headers: JSON_TYPE }),
    () => server.request("PUT", path, { body: "{}", headers: JSON_TYPE }),
    () => server.request("GET", `${path}/events`, { headers: { "last-event-id": "-1" } }),
  ];
  await Promise.all(Array.from({ length: 800 }, async (_, at) => {
    const answer = await asked[at % asked.length]?.();
    await answer?.body?.cancel();
    const status = answer?.status ?? 0;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }));
  const known = [200, 400, 404, 405, 503];
  assert([...statuses.keys()].every((status) => known.includes(status)), `${[...statuses]}`);
  assertEquals((await server.ask("GET", path)).body.turns > 0, true);

  // What was said to the slow one is all there.
  await server.registry.get(path.split("/").at(-1) ?? "")?.close();
  const read = await new Response(slow.readable).text();
  const ids = [...read.matchAll(/^id: (\d+)$/gmu)].map(([, id]) => Number(id));
  assertEquals(ids, ids.map((_, at) => at + 1));
  assert(read.includes(`${text} 12`) && read.endsWith("event: end\ndata: {}\n\n"));
  assertEquals(server.mistakes, []);
});

Deno.test("a run ends when nobody waits for its result any more", async () => {
  await using claude = await StandIn.set({ hang: "stream", turns: [[{ text: "Never said." }]] });
  {
    await using server = await serveHere(claude);
    const gone = new AbortController();
    const run = server.request("POST", "/v1/run", {
      body: JSON.stringify({ prompt: "x", args: ["--claude-binary", claude.binary] }),
      headers: JSON_TYPE,
      signal: gone.signal,
    });
    await claude.untilNoted("prompt");
    assertEquals(server.registry.busy, 1);
    await run;
    gone.abort();
    await (await run).text().then(() => assert(false), () => {});
    await server.registry.drain();
    assertEquals(server.registry.busy, 0);
  }
  assertEquals(await leftovers(claude.home), []);
});
