import { assert, assertEquals, assertMatch } from "@std/assert";
import { Pool } from "../../../src/server/pool/pool.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { eventsOf, serveInProcess } from "../../program/server/http/serve_in_process.ts";

Deno.test("a conversation over HTTP", async () => {
  const tool = { name: "Edit", input: { file_path: "a" }, result: "edited", asks: true };
  await using claude = await StandIn.set({
    turns: [
      [{ text: "You said {prompt}" }],
      [{ text: "I ask.", tools: [tool] }, { text: "Done with {prompt}" }],
    ],
  });
  {
    await using server = await serveInProcess(claude);
    const path = await server.open();
    const sent = await server.ask("POST", `${path}/messages`, { content: "one" });
    assertEquals([sent.status, sent.body.last_event_id], [202, 0]);
    const events = eventsOf(await server.request("GET", `${path}/events`));
    const ids: string[] = [];
    const until = async (type: string) => {
      for (;;) {
        const { value } = await events.next();
        if (value?.id !== undefined) ids.push(value.id);
        if (value === undefined || value.data.type === type) return value;
      }
    };
    assertEquals((await until("result"))?.data.result, "You said one");
    const idle = await server.ask("GET", path);
    assertEquals([idle.body.state, idle.body.turns, idle.body.unanswered], ["idle", 1, 0]);
    assertMatch(idle.body.session_id, /^[\da-f-]{36}$/u);

    await server.ask("POST", `${path}/messages`, { content: [{ type: "text", text: "two" }] });
    const question = await until("control_request");
    const { body: waiting } = await server.ask("GET", path);
    assertEquals([waiting.state, waiting.waiting], ["waiting", {
      for: "permission",
      cause: "Edit: a",
      request_id: question?.data.request_id,
      tool_name: "Edit",
      input: { file_path: "a" },
    }]);
    const answer = { request_id: question?.data.request_id, behavior: "allow" };
    const misspelt = { ...answer, updatedInput: {} };
    const { status, body } = await server.ask("POST", `${path}/answers`, misspelt);
    assertEquals([status, body.detail], [422, 'Cannot read the body: it takes no "updatedInput"']);
    assertMatch(body.suggestion, /^Did you mean "updated_input"/u);
    assertEquals((await server.ask("POST", `${path}/answers`, answer)).status, 204);
    assertEquals((await server.ask("POST", `${path}/answers`, answer)).status, 409);
    const last = await until("result");
    assertEquals(last?.data.result, "Done with two");
    assertEquals(ids, ids.map((_, at) => `${at + 1}`));

    const text = await server.ask("GET", `${path}/screen`);
    assertEquals(text.headers.get("content-type"), "text/plain; charset=utf-8");
    assertMatch(text.body, /Done with two/u);
    const picture = await server.ask("GET", `${path}/screen?format=svg`);
    assertEquals(picture.headers.get("content-type"), "image/svg+xml");
    assertMatch(picture.body, /^<svg [^]*Done with two[^]*<\/svg>\n$/u);

    // Another reader goes on where it stopped.
    const again = eventsOf(
      await server.request("GET", `${path}/events`, {
        headers: { "last-event-id": `${Number(last?.id) - 1}` },
      }),
    );
    assertEquals((await again.next()).value, last);
    const metrics = await server.ask("GET", "/metrics");
    assertMatch(metrics.body, /^claude_print_conversations\{state="idle"\} 1$/mu);
    assertMatch(metrics.body, /^claude_print_turns_total 2$/mu);
    assertEquals((await server.ask("DELETE", path)).status, 204);
    assertEquals((await Array.fromAsync(again)).at(-1)?.event, "end");
    assertEquals((await Array.fromAsync(events)).at(-1)?.event, "end");
    assertEquals((await server.ask("GET", path)).status, 404);
    assertEquals((await server.ask("GET", "/v1/conversations")).body, { conversations: [] });
    assertEquals([...Deno.readDirSync(server.folder)].map(({ name }) => name), ["http.sock"]);
    assertEquals(server.mistakes, []);
  }
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("POST /v1/run answers as --jsonl does", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  await using server = await serveInProcess(claude);
  const args = ["--claude-binary", claude.binary];
  const line = { prompt: "hello", args, id: 1 };
  const { status, body } = await server.ask("POST", "/v1/run", line);
  assertEquals([status, body.line, body.input, body.exit_code], [200, 1, line, 0]);
  assertEquals([body.result.type, body.result.result], ["result", "You said hello"]);
  const gone = `${claude.home.path}/gone`;
  const refused: readonly (readonly [path: string, body: unknown, RegExp, exitCode?: number])[] = [
    ["run", { prompt: "hello", args: [...args, "--modle"] }, /unknown flag --modle/u, 2],
    ["run", { prompt: "", args }, /prompt/u, 2],
    ["run", { args }, /^Cannot read the body: it has no "prompt"$/u],
    [
      "run",
      { prompt: "x", args: ["--model", "a\0"] },
      /^Cannot start a run: "a\\u0000" holds a NUL character$/u,
    ],
    ["run?cdw=/", line, /^Cannot run the prompt: the URL takes no "cdw"$/u],
    ["run?cwd=here", line, /^Cannot work in here: it is no path from the root$/u],
    [`run?cwd=${gone}`, line, new RegExp(`^Cannot work in ${gone}: it does not exist$`, "u")],
  ];
  for (const [path, sent, detail, exitCode] of refused) {
    const { status, headers, body } = await server.ask("POST", `/v1/${path}`, sent);
    assertEquals([status, headers.get("content-type")], [422, "application/problem+json"], path);
    assertMatch(body.detail, detail);
    assert(typeof body.suggestion === "string");
    if (exitCode !== undefined) assertEquals(body.exit_code, exitCode);
  }
});

Deno.test("a conversation is recorded, and goes on in another one", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  await using server = await serveInProcess(claude);
  const path = await server.open({ record: true, replay_user_messages: true });
  await server.ask("POST", `${path}/messages`, { content: "one" });
  const events = eventsOf(await server.request("GET", `${path}/events`));
  const types: string[] = [];
  let result;
  for await (const { data } of events) {
    types.push(data.type);
    if (data.type === "result") {
      result = data;
      break;
    }
  }
  assert(types.includes("user"), "what was said is told too");
  const tar = await server.request("GET", `${path}/cassette`);
  const archive = `${server.folder}/cassette.tar`;
  await Deno.writeFile(archive, await tar.bytes());
  const { success } = await new Deno.Command("tar", {
    args: ["-xf", archive, "-C", server.folder],
  }).output();
  assert(success);
  const id = path.split("/").at(-1);
  const folder = `${server.folder}/${id}.cassette`;
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
  assertEquals(names, ["child.cast", "meta.json", "tape.jsonl"]);
  await Deno.remove(folder, { recursive: true });

  await server.ask("DELETE", path);
  const { body, status } = await server.ask("POST", "/v1/conversations", {
    profile: { args: ["--claude-binary", claude.binary] },
    resume: result.session_id,
  });
  assertEquals(status, 201);
  const next = `/v1/conversations/${body.id}`;
  assertEquals((await server.ask("GET", `${next}/cassette`)).status, 409);
  await server.ask("POST", `${next}/messages`, { content: "two" });
  for await (const { data } of eventsOf(await server.request("GET", `${next}/events`))) {
    if (data.type !== "result") continue;
    assertEquals([data.result, data.session_id], ["You said two, 1", result.session_id]);
    break;
  }
});

Deno.test("an interrupting message stops a running command", async () => {
  const tool = { name: "Bash", input: { command: "sleep 600" } };
  await using claude = await StandIn.set({
    turns: [[{ tools: [tool] }, { text: "Never" }], [{ text: "You said {prompt}" }]],
  });
  await using server = await serveInProcess(claude);
  const path = await server.open();
  await server.ask("POST", `${path}/messages`, { content: "one" });
  const events = eventsOf(await server.request("GET", `${path}/events`));
  const results: unknown[] = [];
  for await (const { data } of events) {
    if (data.type === "assistant" && JSON.stringify(data).includes("sleep 600")) {
      await server.ask("POST", `${path}/messages`, { content: "two", when: "interrupt" });
    }
    if (data.type === "result" && results.push(data.result) === 2) break;
  }
  assertEquals(results.at(-1), "You said two");
});

Deno.test("a pooled conversation starts its child late", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  {
    await using pool = new Pool({ warm: 1, max: 2, idleMs: 60_000, report: () => {} });
    await using server = await serveInProcess(claude, {
      hold: (request, options) => pool.hold(request, options),
    });
    const cwd = `${claude.home.path}/elsewhere`;
    await Deno.mkdir(cwd);
    const [one, other] = [await server.open(), await server.open({ cwd })];
    await until(async () => (await server.ask("GET", one)).body.state === "idle", "it is idle");
    assertEquals((await server.ask("GET", `${one}/screen`)).status, 409);
    assertEquals(await claude.journal("start"), []);
    for (const turn of [1, 2]) {
      await server.ask("POST", `${one}/messages`, { content: "hi" });
      const text = `You said hi, ${turn}`;
      for await (const { data } of eventsOf(await server.request("GET", `${one}/events`))) {
        if (data.type === "result" && data.result === text) break;
      }
    }
    assertMatch((await server.ask("GET", `${one}/screen`)).body, /You said hi, 2/u);
    // Where it was to work is gone since.
    await Deno.remove(cwd);
    assertEquals((await server.ask("POST", `${other}/messages`, { content: "hi" })).status, 202);
    for await (const { event } of eventsOf(await server.request("GET", `${other}/events`))) {
      assertEquals(event, "end");
    }
    const { body } = await server.ask("GET", other);
    assertEquals([body.state, body.problem.detail], [
      "failed",
      `Cannot work in ${cwd}: it does not exist`,
    ]);
  }
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("an old Claude Code fails the conversation", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  await using server = await serveInProcess(claude);
  const path = await server.open();
  await server.ask("POST", `${path}/messages`, { content: "hi" });
  await until(async () => (await server.ask("GET", path)).body.state === "failed", "it failed");
  const { problem } = (await server.ask("GET", path)).body;
  assertMatch(problem.detail, /^Claude Code 2\.1\.197 is too old: claude-print needs /u);
  assertMatch(problem.suggestion, /claude update/u);
  assertEquals(await claude.journal("start"), []);
});

const encoder = new TextEncoder();
const JSON_TYPE = { "content-type": "application/json" };

/** Says something to a socket, and goes away. */
async function blurt(path: string, text: string): Promise<void> {
  using connection = await Deno.connect({ transport: "unix", path });
  await connection.write(encoder.encode(text));
}

Deno.test("slow readers lose nothing, nonsense does no harm", async () => {
  const text = "x".repeat(100_000);
  await using claude = await StandIn.set({ turns: [[{ text: `${text} {turn}` }]] });
  await using server = await serveInProcess(claude);
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

Deno.test("a run ends when its request is gone", async () => {
  await using claude = await StandIn.set({ hang: "stream", turns: [[{ text: "Never said." }]] });
  {
    await using server = await serveInProcess(claude);
    const gone = new AbortController();
    const run = server.request("POST", "/v1/run", {
      body: JSON.stringify({ prompt: "x", args: ["--claude-binary", claude.binary] }),
      headers: JSON_TYPE,
      signal: gone.signal,
    });
    await claude.untilNoted("prompt");
    assertEquals(server.registry.activeCount, 1);
    await run;
    gone.abort();
    await (await run).text().then(() => assert(false), () => {});
    await server.registry.drain();
    assertEquals(server.registry.activeCount, 0);
  }
  assertEquals(await leftovers(claude.home), []);
});
