import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import type { ApiCassetteOptions } from "../../../src/recording/relay/api_cassette.ts";
import { parseFaults } from "../../../src/recording/relay/faults.ts";
import { passOn } from "../../../src/recording/relay/pass_on.ts";
import { startRelay } from "../../../src/recording/relay/relay_server.ts";
import { halfAnswer, openCassette } from "./open_cassette.ts";

/** A folder of exchanges, a fake API, and relays between the two. */
class Stage implements AsyncDisposable {
  readonly folder = `${Deno.makeTempDirSync()}/api`;
  readonly told: string[] = [];
  /** Bodies of the requests that reached the API. */
  readonly asked: string[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #upstream: URL;

  constructor(answer: (request: Request, body: string) => Response | Promise<Response>) {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        const body = await request.text();
        this.asked.push(body);
        return await answer(request, body);
      },
    );
    this.#stack.defer(() =>
      Deno.removeSync(this.folder.replace(/\/api$/u, ""), { recursive: true })
    );
    this.#stack.defer(() => server.shutdown());
    this.#upstream = new URL(`http://127.0.0.1:${server.addr.port}`);
  }

  /** Opens the folder, for replay by default. */
  open(
    { record = false, ...more }: Partial<Omit<ApiCassetteOptions, "record">> & {
      record?: boolean;
    } = {},
  ) {
    const client = this.#stack.adopt(Deno.createHttpClient({}), (client) => client.close());
    const api = openCassette(this.folder, {
      ...(record ? { record: passOn({ upstream: this.#upstream, client }) } : {}),
      redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
      tell: (line) => void this.told.push(line),
      ...more,
    });
    const { url } = this.#stack.use(startRelay({ answer: api.answer }));
    return { url, stats: api.stats };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const ask = (
  url: string,
  body: string,
  { session, ...init }: RequestInit & { session?: string } = {},
) =>
  fetch(`${url}/v1/messages?beta=true`, {
    method: "POST",
    body,
    ...init,
    headers: {
      "authorization": "Bearer sk-secret",
      ...(session === undefined ? {} : { "x-claude-code-session-id": session }),
    },
  });

/** Returns the body of a response as text. */
const said = async (...asked: Parameters<typeof ask>) => await (await ask(...asked)).text();

Deno.test("recorded status, headers and bytes are played", async () => {
  const binary = new Uint8Array([0x1f, 0x8b, 0, 255, 10]);
  await using stage = new Stage((_, body) =>
    body === "packed"
      ? new Response(binary, { headers: { "content-type": "application/octet-stream" } })
      : new Response(`{"said":"${body}"}`, {
        status: 404,
        headers: { "x-a": "b", "set-cookie": "c" },
      })
  );
  const recording = stage.open({ record: true });
  await said(recording.url, "one");
  await (await ask(recording.url, "packed")).bytes();
  await fetch(`${recording.url}/`, { method: "HEAD" });
  assertEquals(recording.stats(), {
    requests: 3,
    hits: 0,
    misses: 0,
    recorded: 3,
    unwritten: 0,
    unanswered: 0,
    injected: 0,
    exchanges: 3,
  });
  const played = stage.open();
  const one = await ask(played.url, "one");
  assertEquals([one.status, one.headers.get("x-a"), one.headers.get("set-cookie")], [
    404,
    "b",
    null,
  ]);
  assertEquals(await one.text(), '{"said":"one"}');
  assertEquals(await (await ask(played.url, "packed")).bytes(), binary);
  assertEquals((await fetch(`${played.url}/`, { method: "HEAD" })).status, 404);
  assertEquals([stage.asked.length, played.stats().hits, stage.told], [3, 3, []]);
});

Deno.test("no key is recorded, and another key matches", async () => {
  await using stage = new Stage(() => new Response("the key is sk-secret"));
  const recording = stage.open({ record: true });
  assertEquals(await said(recording.url, '{"key":"sk-secret"}'), "the key is sk-secret");
  for (const { name } of Deno.readDirSync(stage.folder)) {
    const text = Deno.readTextFileSync(`${stage.folder}/${name}`);
    assert(!text.includes("sk-secret") && !text.includes("authorization"), text);
    assertEquals((Deno.statSync(`${stage.folder}/${name}`).mode ?? 0) & 0o777, 0o600);
  }
  const played = stage.open({ redact: (text) => text.replaceAll("sk-other", "[redacted]") });
  const answer = await ask(played.url, '{"key":"sk-other"}');
  assertEquals(await answer.text(), "the key is [redacted]");
});

Deno.test("a stream is recorded and played in pieces", async () => {
  const pieces = ["event: a\n\n", "event: b\n\n"];
  const { promise: second, resolve } = Promise.withResolvers<void>();
  await using stage = new Stage(() =>
    new Response(
      ReadableStream.from(async function* () {
        yield new TextEncoder().encode(pieces[0]);
        await second;
        yield new TextEncoder().encode(pieces[1]);
      }()),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  const { url } = stage.open({ record: true });
  const body = (await ask(url, "{}")).body?.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await body?.read())?.value, pieces[0]);
  resolve();
  assertEquals((await body?.read())?.value, pieces[1]);
  assertEquals((await body?.read())?.done, true);
  for (const speed of [0, 1000]) {
    assertEquals(await said(stage.open({ speed }).url, "{}"), pieces.join(""));
  }
});

Deno.test("an answer that broke off breaks off again", async () => {
  await using stage = new Stage(halfAnswer);
  const half = async (url: string) => {
    const reader = (await ask(url, "{}")).body?.getReader();
    assertEquals(new TextDecoder().decode((await reader?.read())?.value), "half");
    await assertRejects(async () => void await reader?.read());
  };
  await half(stage.open({ record: true }).url);
  await half(stage.open().url);
});

Deno.test("a failed request is repeated and played in order", async () => {
  await using stage: Stage = new Stage(() =>
    stage.asked.length === 1 ? new Response("busy", { status: 529 }) : new Response("done")
  );
  const statuses = async (url: string, session: string) => {
    const all: number[] = [];
    for (let time = 0; time < 3; time++) {
      const answer = await ask(url, "{}", { session });
      all.push(answer.status);
      await answer.body?.cancel();
    }
    return all;
  };
  const recording = stage.open({ record: true });
  const first = await ask(recording.url, "{}", { session: "a" });
  await first.text();
  const second = await ask(recording.url, "{}", { session: "a" });
  await second.text();
  assertEquals([first.status, second.status, stage.asked.length], [529, 200, 2]);
  assertEquals(await statuses(stage.open().url, "b"), [529, 200, 200]);
});

Deno.test("concurrent equal requests reach the API once", async () => {
  const { promise: let_go, resolve } = Promise.withResolvers<void>();
  await using stage = new Stage(async () => {
    await let_go;
    return new Response("done");
  });
  const { url, stats } = stage.open({ record: true });
  const all = Array.from({ length: 8 }, (_, number) => ask(url, "{}", { session: `${number}` }));
  while (stats().requests < 8) await new Promise((done) => setTimeout(done, 1));
  resolve();
  assertEquals(
    await Promise.all(all.map(async (answer) => await (await answer).text())),
    Array(8).fill("done"),
  );
  assertEquals([stage.asked.length, stats().recorded, stats().hits], [1, 1, 7]);
});

Deno.test("an unrecorded request gets 503 with the nearest recording", async () => {
  await using stage = new Stage(() => new Response("done"));
  await said(stage.open({ record: true }).url, '{"a":[1,2]}');
  const { url, stats } = stage.open();
  const answer = await ask(url, '{"a":[1,3]}');
  assertEquals([answer.status, answer.headers.get("x-should-retry")], [503, "false"]);
  const { error: { message } } = await answer.json();
  assertStringIncludes(message, "Nothing is recorded of this POST /v1/messages: the nearest, ");
  assertStringIncludes(message, "differs first at /a/1, where 2 was recorded and 3 is asked");
  assertStringIncludes(message, "--on-miss record");
  assertEquals(stage.told, [message]);
  const other = await fetch(`${url}/v1/models`);
  assertStringIncludes((await other.json()).error.message, "nor of any like it");
  assertEquals([stats().misses, stage.asked.length], [2, 1]);
});

Deno.test("injected faults count model requests only", async () => {
  await using stage = new Stage(() => new Response("done"));
  const { url, stats } = stage.open({
    record: true,
    faults: parseFaults("529@1,reset@2,stall=1ms@3"),
  });
  await (await fetch(`${url}/v1/messages/count_tokens`, { method: "POST", body: "{}" })).text();
  const busy = await ask(url, "{}");
  assertEquals([busy.status, (await busy.json()).error.type], [529, "overloaded_error"]);
  await assertRejects(async () => await said(url, "{}"));
  assertEquals(await said(url, "{}"), "done");
  assertEquals([stats().injected, stats().recorded], [3, 2]);
});

Deno.test("an abandoned answer is recorded as far as it came", async () => {
  await using stage = new Stage(() =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("so far")),
      }),
    )
  );
  const { url, stats } = stage.open({ record: true });
  const reader = (await ask(url, "{}")).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  while (stats().recorded === 0) await new Promise((done) => setTimeout(done, 1));
  const again = (await ask(stage.open().url, "{}")).body?.getReader();
  assertEquals(new TextDecoder().decode((await again?.read())?.value), "so far");
  await assertRejects(async () => void await again?.read());

  // Another test may use a free port by now, so the port is one that only root can open.
  const upstream = new URL("http://127.0.0.1:1");
  using client = Deno.createHttpClient({});
  const down = openCassette(stage.folder, { record: passOn({ upstream, client }) });
  using relay = startRelay({ answer: down.answer });
  await assertRejects(async () => await said(relay.url, "other"));
  assertEquals([down.stats().recorded, down.stats().unanswered], [0, 1]);
});

Deno.test("an unwritable folder loses no answer", async () => {
  await using stage = new Stage(() => new Response("done"));
  const { url, stats } = stage.open({ folder: `${stage.folder}/api`, record: true });
  Deno.removeSync(stage.folder, { recursive: true });
  Deno.writeTextFileSync(stage.folder, "a file");
  assertEquals(await said(url, "{}"), "done");
  assertEquals([stats().unwritten, stage.told.length], [1, 1]);
  assertStringIncludes(stage.told[0] ?? "", "Cannot write the exchange: ");
  Deno.removeSync(stage.folder);
  Deno.mkdirSync(stage.folder);
  Deno.writeTextFileSync(`${stage.folder}/${"a".repeat(16)}-0.json`, "{");
  Deno.writeTextFileSync(`${stage.folder}/notes.json`, "{");
  assertThrows(
    () => stage.open(),
    CliError,
    `Cannot read the exchange ${stage.folder}/${"a".repeat(16)}-0.json`,
  );
  await new Deno.Command("mkfifo", { args: [`${stage.folder}/${"b".repeat(16)}-0.json`] }).output();
  Deno.removeSync(`${stage.folder}/${"a".repeat(16)}-0.json`);
  assertThrows(() => stage.open(), Error, "not a regular file");
});

Deno.test("two recorders can share a folder", async () => {
  await using stage: Stage = new Stage(() => new Response(`${stage.asked.length}`));
  const relays = [stage.open({ record: true }), stage.open({ record: true })];
  const texts = await Promise.all(relays.map(async ({ url }) => await said(url, "{}")));
  assertEquals(texts.toSorted(), ["1", "2"]);
  const names = Array.from(Deno.readDirSync(stage.folder), ({ name }) => name).toSorted();
  assertEquals(names.map((name) => name.slice(16)), ["-0.json", "-1.json"]);
});

Deno.test("a recorded answer is read when it is played", async () => {
  await using stage = new Stage((_, body) => new Response(`to ${body}`));
  const recording = stage.open({ record: true });
  await said(recording.url, "one");
  await said(recording.url, "two");
  const played = stage.open();
  assertEquals(await said(played.url, "one"), "to one");
  for (const { name } of Deno.readDirSync(stage.folder)) {
    await Deno.writeTextFile(`${stage.folder}/${name}`, "{}");
  }
  // A response that was replayed is cached.
  assertEquals(await said(played.url, "one"), "to one");
  const broken = await ask(played.url, "two");
  assertEquals([broken.status, broken.headers.get("x-should-retry")], [503, "false"]);
  assertStringIncludes(await broken.text(), "Cannot read the exchange ");
  assertStringIncludes(stage.told.join(), "Cannot read the exchange ");
  const { hits, misses } = played.stats();
  assertEquals([hits, misses], [2, 1]);
});

Deno.test("recording removes unfinished files, playing does not", async () => {
  await using stage = new Stage(() => new Response("fine"));
  await Deno.mkdir(stage.folder);
  const lost = `${stage.folder}/.${crypto.randomUUID()}`;
  await Deno.writeTextFile(lost, '{"format":1');
  stage.open();
  assertEquals([...Deno.readDirSync(stage.folder)].length, 1);
  stage.open({ record: true });
  assertEquals([...Deno.readDirSync(stage.folder)], []);
});

Deno.test("a missing cassette is refused unless it is recorded", async () => {
  await using stage = new Stage(() => new Response());
  assertThrows(
    () => stage.open(),
    CliError,
    `Cannot play ${stage.folder}: there is no such folder`,
  );
  stage.open({ record: true });
  assertEquals(stage.open().stats().exchanges, 0);
});

for (const match of ["exact", "normalized"] as const) {
  Deno.test(`${match}: bodies with equal checksums are told apart`, async () => {
    await using stage: Stage = new Stage((): Response =>
      stage.asked.length === 1
        ? new Response("not yet", { status: 529 })
        : new Response(`${stage.asked.length}`)
    );
    // Both have the same CRC-32, which is the key of the cache of requests.
    const [one, other] = ["plumless", "buckeroo"];
    const recording = stage.open({ record: true, hasBodies: true, match });
    const texts: string[] = [];
    for (const body of [one, one, one, other, one, other, one]) {
      texts.push(await said(recording.url, body));
    }
    assertEquals(texts, ["not yet", "2", "2", "3", "2", "3", "2"]);
    assertEquals(stage.asked, [one, one, other]);
    const played = stage.open({ hasBodies: true, match });
    for (const body of [one, other, one, "a third", "a third"]) {
      await said(played.url, body);
    }
    assertEquals([played.stats().hits, played.stats().misses], [3, 2]);
  });
}
