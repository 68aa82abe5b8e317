import { assert, assertEquals } from "@std/assert";
import { Ajv } from "ajv";
import { BODY_LIMITS } from "../../../../src/server/http/request_body.ts";
import { ROUTES } from "../../../../src/server/http/routes.ts";
import openapi from "../../../../src/server/http/openapi.json" with { type: "json" };
import { StandIn } from "../../stand_in.ts";
import { eventsOf, serveInProcess } from "./serve_in_process.ts";
import { type Said, saidOf } from "./socket_client.ts";

const PATHS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = openapi.paths;
const METHODS = ["get", "post", "delete"];

/** Every path, method and status that the file has. */
const DOCUMENTED = Object.entries(PATHS).flatMap(([path, methods]) =>
  METHODS.filter((method) => method in methods).flatMap((method) =>
    Object.keys(operation(path, method).responses).map((status) => `${method} ${path} ${status}`)
  )
);

interface Operation {
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: object }>>;

function operation(path: string, method: string): Operation {
  return PATHS[path]?.[method] as Operation;
}

/** Holds what is asked and answered to the file. */
function heldToFile(ask: Awaited<ReturnType<typeof serveInProcess>>["ask"]) {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "file", components: openapi.components });
  const seen = new Set<string>();
  const check = (schema: object, value: unknown) => {
    const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"file#/'));
    assert(ajv.validate(pointed, value), `${ajv.errorsText()}: ${JSON.stringify(value)}`);
  };
  return {
    seen,
    /** @param template the path as it stands in the file */
    said(said: Said, method: string, template: string): Said {
      const place = `${method} ${template} ${said.status}`;
      const answer = operation(template, method).responses[`${said.status}`];
      assert(answer !== undefined, `${place} is not in the file: ${JSON.stringify(said.body)}`);
      seen.add(place);
      const type = said.headers.get("content-type")?.replace(/;.*/su, "");
      if (answer.content === undefined) assertEquals([type, said.body], [undefined, ""], place);
      else check(answer.content[type ?? ""]?.schema ?? { not: {} }, said.body);
      return said;
    },
    async ask(method: string, path: string, body?: unknown): Promise<Said> {
      const template = path.replace(/\?.*/su, "")
        .replace(/^(\/v1\/conversations\/)[^/]+/u, "$1{id}");
      const said = await ask(method.toUpperCase(), path, body);
      const schema = operation(template, method).requestBody?.content["application/json"]?.schema;
      if (said.status < 300 && schema !== undefined) check(schema, body);
      return this.said(said, method, template);
    },
  };
}

Deno.test("every answer matches the OpenAPI file", async () => {
  assertEquals(
    ROUTES.map(({ method, path }) => `${method.toLowerCase()} ${path}`).toSorted(),
    Object.entries(PATHS).flatMap(([path, methods]) =>
      METHODS.filter((method) => method in methods).map((method) => `${method} ${path}`)
    ).toSorted(),
  );
  const tool = { name: "Edit", input: { file_path: "a" }, result: "edited", asks: true };
  await using claude = await StandIn.set({
    turns: [[{ text: "I ask.", tools: [tool] }, { text: "Done" }]],
  });
  const limits = { ...BODY_LIMITS, bytes: 20_000, bytesOfAll: 40_000 };
  await using server = await serveInProcess(claude, { limits, limit: 2 });
  const file = heldToFile(server.ask);
  const { ask } = server;
  const ours = { args: ["--claude-binary", claude.binary] };
  const all = "/v1/conversations";

  for (const path of ["/healthz", "/metrics", "/openapi.json", "/v1/server", all]) {
    await file.ask("get", path);
  }
  for (const [now, status] of [["?now=maybe", 400], ["?now=true", 202], ["", 202]] as const) {
    assertEquals((await file.ask("delete", `/v1/server${now}`)).status, status);
  }
  assertEquals(server.stops, [{ now: true }, { now: false }]);
  const { body: { id } } = await file.ask("post", all, { profile: { ...ours, record: true } });
  const one = `${all}/${id}`;
  await file.ask("post", `${one}/messages`, { content: "go", when: "interrupt" });
  const events = eventsOf(await server.request("GET", `${one}/events`));
  let question;
  for await (const { data } of events) {
    question = data;
    if (data.type === "control_request") break;
  }
  assertEquals((await file.ask("get", one)).body.state, "waiting");
  await file.ask("get", all);
  const answer = { request_id: question.request_id, behavior: "deny", message: "no" };
  await file.ask("post", `${one}/answers`, { request_id: question.request_id, answers: {} });
  for (let sent = 1; sent < 100; sent++) await ask("POST", `${one}/messages`, { content: "more" });
  assertEquals((await file.ask("post", `${one}/messages`, { content: "more" })).status, 503);
  await file.ask("post", `${one}/answers`, answer);
  await file.ask("post", `${one}/answers`, answer);
  await file.ask("post", `${one}/interrupt`);
  await file.ask("get", `${one}/screen?format=svg`);
  await file.ask("get", `${one}/screen`);
  await file.ask("get", `${one}/screen?format=gif`);
  await file.ask("get", `${one}/cassette`);

  // What is typed, by one person at a time, as long as the request lasts.
  const typing = async (path: string, init: RequestInit = {}) =>
    file.said(
      await saidOf(
        await server.request("POST", `${path}/keys`, {
          body: "",
          headers: { "content-type": "application/octet-stream" },
          ...init,
        }),
      ),
      "post",
      `${all}/{id}/keys`,
    );
  assertEquals((await typing(one, { headers: { "content-type": "text/plain" } })).status, 415);
  const { readable, writable } = new TransformStream<Uint8Array>();
  const typed = typing(one, { body: readable });
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode(" "));
  while (!server.registry.get(id)?.isTakenOver) await ask("GET", one);
  assertEquals((await file.ask("get", one)).body.taken_over, true);
  assertEquals((await typing(one)).status, 503);
  assertEquals((await file.ask("post", `${one}/messages`, { content: "more" })).status, 503);
  await writer.close();
  assertEquals((await typed).status, 204);
  assertEquals((await file.ask("get", one)).body.taken_over, false);

  // What cannot be read, is too large, or does not arrive.
  const json = { "content-type": "application/json" };
  const bodies = [
    [400, { body: "[".repeat(600), headers: json }],
    [400, { body: '{"content": "cut o', headers: json }],
    [400, { body: new Uint8Array([0x22, 0xff, 0x22]), headers: json }],
    [413, { body: JSON.stringify("x".repeat(limits.bytes)), headers: json }],
    [415, { body: "{}", headers: { "content-type": "text/plain" } }],
    [422, { body: '{"__proto__": {}}', headers: json }],
    [422, { body: "[1e999, null]", headers: json }],
  ] as const;
  const taking = [
    [all, all],
    [`${one}/messages`, `${all}/{id}/messages`],
    [`${one}/answers`, `${all}/{id}/answers`],
    ["/v1/run", "/v1/run"],
  ] as const;
  for (const [path, template] of taking) {
    for (const [status, init] of bodies) {
      const said = await saidOf(await server.request("POST", path, init));
      assertEquals(said.status, status, `${path} ${said.body}`);
      file.said(said, "post", template);
    }
    const endless = await spoken(server.socket, path, { pieces: 10_000 });
    assertEquals(file.said(endless, "post", template).status, 413);
    limits.arrivalMs = 20;
    const stalled = await spoken(server.socket, path, { pieces: 1 });
    limits.arrivalMs = BODY_LIMITS.arrivalMs;
    assertEquals(file.said(stalled, "post", template).status, 408);
  }

  // There is room for two of all.
  await file.ask("post", all, { profile: ours });
  assertEquals((await file.ask("post", all, { profile: ours })).headers.get("retry-after"), "1");
  assertEquals((await file.ask("post", "/v1/run", { prompt: "x", ...ours })).status, 503);
  for (const { id } of (await file.ask("get", all)).body.conversations) {
    assertEquals((await file.ask("delete", `${all}/${id}`)).status, 204);
  }
  assertEquals((await file.ask("post", "/v1/run", { prompt: "x", ...ours })).status, 200);

  // One that fails, of which everything is known and nothing can be had.
  const nowhere = { args: ["--claude-binary", "/nowhere"] };
  const failed = `${all}/${(await file.ask("post", all, { profile: nowhere })).body.id}`;
  await server.registry.get(failed.slice(all.length + 1))?.ended;
  const { body } = await file.ask("get", failed);
  assertEquals([body.state, body.problem.detail], [
    "failed",
    'Cannot start claude: "/nowhere" does not exist',
  ]);
  const needsChild = [
    ["post", "/messages", { content: "x" }],
    ["post", "/answers", answer],
    ["post", "/interrupt"],
    ["get", "/screen"],
    ["get", "/cassette"],
  ] as const;
  for (const [method, path, sent] of needsChild) {
    assertEquals((await file.ask(method, `${failed}${path}`, sent)).status, 409, path);
  }
  assertEquals((await typing(failed)).status, 409);
  assertEquals((await typing(`${all}/nobody`)).status, 404);
  const ofOne = [["get", ""], ["delete", ""], ["get", "/events"], ...needsChild] as const;
  for (const [method, path, sent] of ofOne) {
    for (const id of ["nobody", "..%2f..", "%00", "x".repeat(5000)]) {
      assertEquals((await file.ask(method, `${all}/${id}${path}`, sent)).status, 404);
    }
  }

  // Streams: from an event that is no number, from one that is not there yet, and all of one that is over.
  const stream = async (id: string, path = failed) =>
    file.said(
      await saidOf(
        await server.request("GET", `${path}/events`, { headers: { "last-event-id": id } }),
      ),
      "get",
      `${all}/{id}/events`,
    );
  assertEquals((await stream("x")).status, 400);
  assertEquals((await stream("7")).status, 409);
  assertEquals((await stream("0")).status, 200);
  const short = `${all}/${(await file.ask("post", all, { profile: ours })).body.id}`;
  await file.ask("post", `${short}/messages`, { content: "go" });
  const read = eventsOf(await server.request("GET", `${short}/events`));
  for await (const { data } of read) if (data.type === "control_request") break;
  const held = server.registry.get(short.slice(all.length + 1));
  assert(held !== undefined);
  const closing = held.close();
  await server.ask("POST", `${short}/answers`, {
    request_id: held.state.questions[0]?.requestId,
    behavior: "allow",
  });
  await closing;
  assertEquals((await stream(`${held.log.lastId}`, short)).status, 204);
  await file.ask("delete", short);

  // There is no room for what is said.
  const folder = `${server.folder}/gone`;
  await using crowded = await serveInProcess(claude, { eventLimits: { onDisk: 0, inMemory: 0 } });
  const cramped = await crowded.open();
  await crowded.ask("POST", `${cramped}/messages`, { content: "go" });
  for await (const { event } of eventsOf(await crowded.request("GET", `${cramped}/events`))) {
    assertEquals(event, "problem");
  }
  const full = await crowded.ask("POST", `${cramped}/messages`, { content: "more" });
  assertEquals(file.said(full, "post", `${all}/{id}/messages`).status, 507);
  await using homeless = await serveInProcess(claude, { folder });
  const unkept = await homeless.ask("POST", all, { profile: ours });
  assertEquals(file.said(unkept, "post", all).status, 507);

  assertEquals([...DOCUMENTED].filter((place) => !file.seen.has(place)), []);
  assertEquals([server.mistakes, crowded.mistakes, homeless.mistakes], [[], [], []]);
});

/** Speaks HTTP by hand: the beginning of a body, in so many pieces of 1000 bytes. */
async function spoken(
  path: string,
  target: string,
  { pieces }: { readonly pieces: number },
): Promise<Said> {
  using connection = await Deno.connect({ transport: "unix", path });
  const encoder = new TextEncoder();
  const writing = (async () => {
    await connection.write(encoder.encode(
      `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ));
    for (let piece = 0; piece < pieces; piece++) {
      await connection.write(encoder.encode(`3e8\r\n${" ".repeat(1000)}\r\n`));
    }
  })().catch(() => {});
  const buffer = new Uint8Array(64 * 1024);
  const count = await connection.read(buffer) ?? 0;
  const text = new TextDecoder().decode(buffer.subarray(0, count));
  await Promise.race([writing, Promise.resolve()]);
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [line = "", ...headers] = head.split("\r\n");
  return {
    status: Number(line.split(" ")[1]),
    headers: new Headers(headers.map((each) => each.split(": ", 2) as [string, string])),
    body: JSON.parse(/\{[^]*\}/u.exec(body)?.[0] ?? "null"),
  };
}
