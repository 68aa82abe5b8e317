import fc from "fast-check";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import {
  encodeChunk,
  encodeExchange,
  encodeHead,
  type Exchange,
  parseExchange,
  parseUnfinished,
} from "../../../src/recording/relay/exchange.ts";
import { createUnfinishedFile } from "../../../src/recording/relay/record_exchanges.ts";
import {
  addExchange,
  apiFolder,
  createTempFile,
  readExchange,
  readExchanges,
  removeStaleTempFiles,
} from "../../../src/recording/relay/exchange_folder.ts";
import { placeExchange } from "../../../src/recording/lint/scrub_cassette.ts";
import { tempFolder } from "../../temp_folder.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const EXCHANGE: Exchange = {
  at: 1_795_400_000_000,
  conversation: "11111111-1111-4111-8111-111111111111",
  scrubbed: ["traces", "answers"],
  request: { method: "POST", path: "/v1/messages?beta=true", body: bytes('{"model":"opus"}') },
  response: {
    status: 200,
    headers: [["content-type", "text/event-stream"]],
    chunks: [{ ms: 3, bytes: bytes("event: ping\n\n") }, { ms: 7, bytes: bytes("data: é\n") }],
    whole: true,
  },
};

/** The exchange with another request's body. */
const withBody = (body: Uint8Array<ArrayBuffer>): Exchange => ({
  ...EXCHANGE,
  request: { ...EXCHANGE.request, body },
});

Deno.test("an exchange survives writing and reading", () => {
  const body = fc.oneof(
    fc.uint8Array().map((array) => new Uint8Array(array)),
    fc.json().map(bytes),
    fc.constantFrom('{"a": 1}', '{"__proto__":{"a":1}}', "[1e3]", "\uFEFFtext", "").map(bytes),
  );
  const chunks = fc.array(fc.record({ ms: fc.nat(), bytes: body }));
  fc.assert(fc.property(body, chunks, fc.boolean(), (body, chunks, whole) => {
    const response = { ...EXCHANGE.response, chunks, whole };
    const exchange: Exchange = { ...withBody(body), response };
    const text = encodeExchange(exchange);
    assertEquals(parseExchange(text, "x.json"), exchange);
    assertEquals(text, `${JSON.stringify(JSON.parse(text), null, 1)}\n`);
  }));
});

Deno.test("the file of an exchange can be read by people", () => {
  const text = encodeExchange(EXCHANGE);
  assertStringIncludes(text, '"model": "opus"');
  assertStringIncludes(text, '"text": "data: é\\n"');
  assertStringIncludes(text, '"at": "2026-11-23T02:13:20.000Z"');
});

Deno.test("a deeply nested request is kept", () => {
  const nested = "[".repeat(100_000) + "]".repeat(100_000);
  const deep = withBody(bytes(nested));
  assertEquals(parseExchange(encodeExchange(deep), "api/x.json").request, deep.request);
  const head = parseUnfinished(encodeHead(deep), "api/x.part");
  assertEquals(head?.request, deep.request);
  // A file that another program wrote.
  const file = encodeExchange(withBody(bytes('{"is":"deep"}'))).replace('"deep"', nested);
  const read = parseExchange(file, "api/x.json");
  assertEquals(parseExchange(encodeExchange(read), "api/x.json"), read);
});

Deno.test("an invalid file names the path and the fault", () => {
  const good = JSON.parse(encodeExchange(EXCHANGE));
  const cases: readonly (readonly [string, string])[] = [
    ["", "it is no JSON"],
    [encodeExchange(EXCHANGE).slice(0, -9), "it is no JSON"],
    ["[]", "it: "],
    ["null", "it: "],
    [JSON.stringify({ ...good, format: 2 }), "it has format 2, and this version knows 1"],
    [JSON.stringify({ ...good, format: "2" }), "format: "],
    [JSON.stringify({ ...good, at: "yesterday" }), "at: "],
    [JSON.stringify({ ...good, request: 1 }), "request: "],
    ...[199, 600].map((status) =>
      [
        JSON.stringify({ ...good, response: { ...good.response, status } }),
        "response.status: ",
      ] as const
    ),
    [
      JSON.stringify({ ...good, response: { ...good.response, headers: [["a b", "c"]] } }),
      "a header that is none",
    ],
    [
      JSON.stringify({ ...good, response: { ...good.response, chunks: [{ ms: -1, body: {} }] } }),
      "response.chunks.0.ms: ",
    ],
    ["[".repeat(100_000), "it is no JSON"],
  ];
  for (const [text, why] of cases) {
    const error = assertThrows(() => parseExchange(text, "api/x.json"), CliError);
    assertStringIncludes(error.message, "Cannot read the exchange api/x.json: ");
    assertStringIncludes(error.message, why);
  }
});

Deno.test("an unfinished file is read as a broken answer", () => {
  const response = { ...EXCHANGE.response, chunks: [], whole: false };
  const exchange: Exchange = { ...EXCHANGE, response };
  const { chunks } = EXCHANGE.response;
  const [head, ...lines] = [encodeHead(exchange), ...chunks.map(encodeChunk)];
  const read = (text: string) => parseUnfinished(text, "part");
  assertEquals(read(""), undefined);
  assertEquals(read(`${head}`.slice(0, -1)), undefined);
  assertEquals(read(`${head}`), exchange);
  assertEquals(
    read(`${head}${lines[0]}${lines[1]?.slice(0, -2)}`),
    { ...exchange, response: { ...response, chunks: chunks.slice(0, 1) } },
  );
  for (const broken of ["{}\n", "[]\n", "null\n", "no\n", `${head}{}\n`, `${head}null\n`]) {
    assertThrows(() => read(broken), CliError, "Cannot read the exchange part: ");
  }
});

const KEY = "0123456789abcdef";

Deno.test("an exchange under way is read until it is written", () => {
  using home = tempFolder({ file: "" });
  const folder = `${home.path}/api`;
  const read = () => [...readExchanges(folder)];
  assertEquals(read(), []);
  const begun = createUnfinishedFile(folder, { exchange: EXCHANGE, key: `${KEY}01` });
  assertEquals((Deno.statSync(folder).mode ?? 0) & 0o777, 0o700);
  const chunks = EXCHANGE.response.chunks.slice(0, 1);
  for (const chunk of chunks) begun.add(chunk);
  begun.close();
  const [part] = read();
  assertEquals(part?.exchange, {
    ...EXCHANGE,
    response: { ...EXCHANGE.response, chunks, whole: false },
  });
  assertEquals(readExchange(`${folder}/${part?.name}`), part?.exchange);
  for (const name of ["notes.json", ".part"]) Deno.writeTextFileSync(`${folder}/${name}`, "");
  const other = { ...EXCHANGE, at: EXCHANGE.at + 1 };
  const add = (exchange: Exchange) => addExchange(folder, { exchange, key: KEY });
  const files = [{ name: add(other), exchange: other }];
  assertEquals(read(), [...files, ...part === undefined ? [] : [part]]);
  files.push({ name: add(EXCHANGE), exchange: EXCHANGE });
  assertEquals(read(), files);
  begun.remove();
  assertEquals([...Deno.readDirSync(folder)].length, 4);
  assertThrows(() => readExchange(`${folder}/.part`), Deno.errors.NotFound);
  const file = `${home.path}/file`;
  assertThrows(() => [...readExchanges(file)], CliError, `Cannot read ${file}: `);
  assertThrows(
    () => createUnfinishedFile(file, { exchange: EXCHANGE, key: KEY }),
    CliError,
    "Cannot write the exchange: ",
  );
});

Deno.test("a placed exchange takes the place of another one", () => {
  using folder = tempFolder({
    ...{ a: "one", b: "one", c: "two", d: "three", [`${KEY}-0.json`]: "old" },
    ...{ other: "", [`${KEY}-9.part`]: "" },
  });
  const place = (from: string, { old, numbers }: { old?: string; numbers: Map<string, number> }) =>
    placeExchange(`${folder.path}/${from}`, {
      ...(old === undefined ? {} : { old: `${folder.path}/${old}` }),
      ...{ folder: folder.path, key: `${KEY}01`, numbers },
    });
  const numbers = new Map<string, number>();
  place("a", { numbers });
  place("b", { numbers, old: "other" });
  place("c", { numbers, old: `${KEY}-9.part` });
  place("d", { numbers, old: `${KEY}-0.json` });
  // The program was killed after it linked the complete file.
  place("a", { numbers: new Map() });
  const placed = [0, 1, 2, 3].map((number) => `${KEY}-${number}.json`);
  assertEquals(folder.names(), [...placed, "a", "b", "c"]);
  assertEquals(
    placed.map((name) => Deno.readTextFileSync(`${folder.path}/${name}`)),
    ["three", "one", "one", "two"],
  );
});

Deno.test("an exchange takes the first free number", () => {
  using folder = tempFolder();
  const key = KEY;
  const add = () => addExchange(folder.path, { exchange: EXCHANGE, key });
  assertEquals([add(), add(), add()], [`${key}-0.json`, `${key}-1.json`, `${key}-2.json`]);
  Deno.removeSync(`${folder.path}/${key}-1.json`);
  assertEquals([add(), add()], [`${key}-1.json`, `${key}-3.json`]);
  for (let number = 4; number < 100; number++) {
    Deno.symlinkSync("nowhere", `${folder.path}/${key}-${number}.json`);
  }
  for (let number = 100; number < 105; number++) assertEquals(add(), `${key}-${number}.json`);
});

Deno.test("a part file is private and goes when disposed", () => {
  using folder = tempFolder();
  const modeOf = (path: string) => (Deno.statSync(path).mode ?? 0) & 0o777;
  {
    using part = createTempFile(folder.path);
    part.file.writeSync(new TextEncoder().encode("half"));
    assertEquals([Deno.readTextFileSync(part.path), modeOf(part.path)], ["half", 0o600]);
    using open = createTempFile(folder.path, { mode: 0o640 });
    assertEquals(modeOf(open.path), 0o640 & ~Deno.umask());
    open[Symbol.dispose]();
    // This process is still writing the file.
    removeStaleTempFiles(folder.path);
    assertEquals(folder.names(), [part.path.split("/").at(-1) ?? ""]);
  }
  assertEquals(folder.names(), []);
});

Deno.test("only part files without a writer are removed", () => {
  using folder = tempFolder({
    ".hidden": "",
    kept: "",
    [`.${crypto.randomUUID().replace(/^./u, "0")}/`]: "",
  });
  Deno.symlinkSync(`${folder.path}/kept`, `${folder.path}/.${crypto.randomUUID()}`);
  const before = folder.names();
  // A killed program leaves its file.
  createTempFile(folder.path).file.close();
  removeStaleTempFiles(folder.path);
  assertEquals(folder.names(), before);
  removeStaleTempFiles(`${folder.path}/none`);
});

Deno.test("a further child shares the first child's exchanges", () => {
  using home = tempFolder({
    "one/child.cast": "",
    "one/api/": "",
    "one/4/api/": "",
    "two/api/": "",
    "two/2/": "",
  });
  const rows: readonly (readonly [string, string])[] = [
    ["one", "one/api"],
    ["one/2", "one/api"],
    ["one/13/", "one/api"],
    ["one/4", "one/4/api"],
    ["two/2", "two/2/api"],
    ["none", "none/api"],
    ...["one/1", "one/02", "one/2/3", "one/two", "alone/2"].map((name) =>
      [name, `${name}/api`] as const
    ),
  ];
  for (const [name, expected] of rows) {
    if (name !== "none") Deno.mkdirSync(`${home.path}/${name}`, { recursive: true });
    assertEquals(apiFolder(`${home.path}/${name}`), `${home.path}/${expected}`, name);
  }
  Deno.symlinkSync(`${home.path}/one/2`, `${home.path}/link`);
  assertEquals(apiFolder(`${home.path}/link`), `${home.path}/one/api`);
});
