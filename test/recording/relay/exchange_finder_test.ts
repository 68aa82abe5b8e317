import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { Exchange } from "../../../src/recording/relay/exchange.ts";
import {
  ExchangeFinder,
  type KnownExchange,
  LruCache,
} from "../../../src/recording/relay/exchange_finder.ts";
import {
  commonLength,
  firstDifference,
  keyOf,
  MASKS,
  maskVarying,
  type Match,
  normalizedBody,
} from "../../../src/recording/relay/match_requests.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const request = (body: string, path = "/v1/messages") => ({
  method: "POST",
  path,
  body: bytes(body),
});

/** An exchange that tests recognise by its status. */
const exchange = (status: number, body: string, conversation?: string, path?: string) => ({
  name: `${status}.json`,
  exchange: {
    at: status,
    ...(conversation === undefined ? {} : { conversation }),
    request: request(body, path),
    response: { status, headers: [], chunks: [], whole: true },
  } satisfies Exchange,
});

const always = () => true;
const never = () => false;

/** Makes requests one after the other; returns the statuses of the exchanges that are found. */
function statusesFor(
  finder: ExchangeFinder,
  bodies: readonly string[],
  { conversation, usable = always }: {
    readonly conversation?: string;
    readonly usable?: (exchange: KnownExchange) => boolean;
  } = {},
) {
  return bodies.map((body) =>
    finder.take(finder.identify({ request: request(body), conversation }), { usable })?.status
  );
}

const finderOf = (match: Match, ...exchanges: readonly ReturnType<typeof exchange>[]) =>
  new ExchangeFinder(
    exchanges.map(({ name, exchange }, at) => ({ name, exchange: { ...exchange, at } })),
    {
      match,
      ignored: [],
      read: (wanted) => exchanges.find(({ name }) => name === wanted)?.exchange,
    },
  );

Deno.test("exact compares bytes, normalized ignores values of one run", () => {
  const [one, other] = ['{"date":"2026-11-25"}', '{"date":"2026-11-26"}'];
  assertEquals(statusesFor(finderOf("exact", exchange(201, one)), [one, other]), [201, undefined]);
  assertEquals(statusesFor(finderOf("normalized", exchange(201, one)), [one, other, "{}"]), [
    201,
    201,
    undefined,
  ]);
});

Deno.test("each conversation takes exchanges in order", () => {
  const finder = finderOf("exact", exchange(529, "{}"), exchange(200, "{}"));
  assertEquals(statusesFor(finder, ["{}", "{}", "{}"], { conversation: "a" }), [529, 200, 200]);
  assertEquals(statusesFor(finder, ["{}", "{}"], { conversation: "b" }), [529, 200]);
  assertEquals(statusesFor(finder, ["{}"], { conversation: "b", usable: never }), [undefined]);
});

Deno.test("the latest conversation's answer counts", () => {
  const finder = finderOf(
    "exact",
    exchange(401, "{}", "a"),
    exchange(200, "{}", "b"),
    exchange(500, "x", "a"),
  );
  assertEquals(statusesFor(finder, ["{}", "{}"]), [200, 200]);
  const usable = ({ status }: KnownExchange) => status < 400;
  assertEquals(statusesFor(finder, ["x", "{}"], { conversation: "c", usable }), [undefined, 200]);
  assertEquals(statusesFor(finder, ["x"], { conversation: "c" }), [500]);
});

Deno.test("sequence ignores the text of requests", () => {
  const opus = (text: string) => `{"model":"opus","text":"${text}"}`;
  const haiku = '{"model":"haiku"}';
  const finder = finderOf(
    "sequence",
    exchange(201, opus("one"), "a"),
    exchange(202, haiku, "a"),
    exchange(203, opus("two"), "a"),
    exchange(204, opus("three"), "b"),
  );
  // Found by its first request, though another conversation was recorded before.
  assertEquals(statusesFor(finder, [opus("three")], { conversation: "x" }), [204]);
  assertEquals(
    statusesFor(finder, [opus("other"), opus("words"), haiku, opus("more")], { conversation: "y" }),
    [201, 203, 202, undefined],
  );
  // Each recorded conversation is in use, so the first one is repeated.
  assertEquals(statusesFor(finder, [opus("anything")], { conversation: "z" }), [201]);
  // With `sequence` bodies do not matter, so there is no difference.
  const beyond = finder.identify({ request: request(opus("more")), conversation: "y" });
  assertEquals(finder.nearest(beyond), { name: "203.json", difference: undefined });
});

Deno.test("sequence spreads live conversations over equal recorded beginnings", () => {
  const finder = finderOf("sequence", exchange(201, "{}", "a"), exchange(202, "{}", "b"));
  const taken = ["x", "y", "z"].map((conversation) =>
    statusesFor(finder, ["{}"], { conversation })[0]
  );
  assertEquals(taken, [201, 202, 201]);
});

Deno.test("sequence gives new conversations nothing under recording", () => {
  const text = (text: string) => `{"model":"opus","text":"${text}"}`;
  const read = () => undefined;
  const finder = new ExchangeFinder([], { match: "sequence", ignored: [], grows: true, read });
  assertEquals(statusesFor(finder, [text("one")], { conversation: "a" }), [undefined]);
  finder.add(exchange(201, text("one"), "a"));
  assertEquals(statusesFor(finder, [text("two")], { conversation: "b" }), [undefined]);
  assertEquals(finder.size, 1);
});

Deno.test("the nearest has the longest common beginning", () => {
  const finder = finderOf(
    "exact",
    exchange(201, '{"a":1,"b":2}'),
    exchange(202, '{"a":1,"b":9,"c":3}'),
  );
  const nearest = (body: string, path?: string) =>
    finder.nearest(finder.identify({ request: request(body, path), conversation: undefined }));
  assertEquals(nearest('{"a":1,"b":9,"c":4}'), {
    name: "202.json",
    difference: { part: "body", pointer: "/c", recorded: "3", asked: "4" },
  });
  assertEquals(nearest("{}", "/v1/messages/count_tokens"), undefined);
  assertEquals(nearest('{"a":1,"b":2}', "/v1/messages?beta=true")?.difference, {
    part: "path",
    pointer: "",
    recorded: "/v1/messages",
    asked: "/v1/messages?beta=true",
  });
  // All recorded responses may be used. Of equal exchanges the first is named.
  assertEquals(nearest('{"a":1,"b":2}'), { name: "201.json", difference: undefined });
  assertEquals(nearest("{}")?.name, "201.json");
  assertEquals([commonLength("abc", "abd"), commonLength("abc", "xbc")], [2, 0]);
});

Deno.test("only exact finds dates in paths to differ", () => {
  for (const match of ["exact", "normalized"] as const) {
    const [recorded, other] = [25, 26].map((day) => `/v1/messages?on=2026-11-${day}`);
    const finder = finderOf(match, exchange(201, "{}", "a", recorded));
    const identified = finder.identify({ request: request("{}", other), conversation: "b" });
    assertEquals(
      finder.nearest(identified)?.difference?.part,
      match === "exact" ? "path" : undefined,
    );
  }
});

/** Asks for the nearest exchange several times; returns how many files were read each time. */
function readsFor(
  count: number,
  { requestBytes = 0, answerBytes = 0 }: {
    readonly requestBytes?: number;
    readonly answerBytes?: number;
  },
) {
  let reads = 0;
  const answer = new Uint8Array(answerBytes);
  const filler = "x".repeat(requestBytes);
  const known = Array.from({ length: count }, (_, at) => ({
    name: `${at}.json`,
    exchange: {
      at,
      request: request(`{"number":${at},"text":"${filler}"}`),
      response: { status: 200, headers: [], chunks: [{ ms: 0, bytes: answer }], whole: true },
    } satisfies Exchange,
  }));
  const finder = new ExchangeFinder(known, {
    match: "exact",
    ignored: [],
    read: (name) => {
      reads++;
      return known[Number.parseInt(name)]?.exchange;
    },
  });
  const asked = finder.identify({ request: request('{"number":9}'), conversation: undefined });
  return [1, 2].map(() => {
    reads = 0;
    return { name: finder.nearest(asked)?.name, reads };
  });
}

Deno.test("the search covers the latest 500 exchanges and 64 MiB", () => {
  const [among] = readsFor(1000, {});
  assertEquals(among, { name: "900.json", reads: 500 });
  const [first] = readsFor(1000, { answerBytes: 1024 * 1024 });
  assertEquals(first, { name: "936.json", reads: 64 });
});

Deno.test("the finder keeps at most 16 Mi characters", () => {
  // The nearest exchange is read once more, to compare its path.
  const [fit, beyond] = [16, 17].map((count) => readsFor(count, { requestBytes: 1024 * 1023 }));
  assertEquals(fit?.map(({ reads }) => reads), [16, 0]);
  assertEquals(beyond?.map(({ reads }) => reads), [17, 17]);
});

Deno.test("the finder forgets the oldest of more than 10,000 conversations", () => {
  const many = 10_100;
  const conversations = Array.from(
    { length: many },
    (_, number) =>
      exchange(number, `{"model":"m","messages":[{"content":"${number}"}]}`, `${number}`),
  );
  const finder = finderOf("sequence", ...conversations);
  for (const { exchange: { request, at } } of conversations) {
    const known = finder.identify({ request, conversation: `live ${at}` });
    assertEquals(finder.take(known, { usable: always })?.status, at);
  }
  const others = Array.from(
    { length: 100 },
    (_, number) => statusesFor(finder, ['{"model":"m"}'], { conversation: `other ${number}` })[0],
  );
  // The conversations that used these were forgotten.
  assertEquals(others, Array.from({ length: 100 }, (_, number) => number));
});

Deno.test("keyOf() is SHA-256 of method, path and body", () => {
  const request = { method: "POST", path: "/v1/messages", body: bytes("{}") };
  assertEquals(keyOf(request), "c5026f884f0cc0405d81fcc3fa45bfec8d4c9cd78d5f8279356967fd191029f1");
  for (const other of [{ method: "PUT" }, { path: "/v1" }, { body: bytes("{ }") }]) {
    assertNotEquals(keyOf({ ...request, ...other }), keyOf(request));
  }
});

/** For each mask, a text of two runs, and a third text with another meaning. */
const EXAMPLES: readonly (readonly [string, string, string])[] = [
  [
    "x-anthropic-billing-header: cc_version=2.1.330.a1b; cch=1;",
    "x-anthropic-billing-header: cc_version=2.1.331.c2d; cch=2;",
    "x-other-header: cc",
  ],
  [
    '{"thinking":{"type":"adaptive","display":"omitted"},"x":1}',
    '{"thinking":{"type":"adaptive","display":"updates"},"x":1}',
    '{"thinking":{"type":"disabled","display":"omitted"},"x":1}',
  ],
  [
    "id 1a402b14-3e6a-4650-ba88-d34d548a488e.",
    "id E732A65D-7ddc-41c4-97d7-7412fba2d086.",
    "id 1a402b14.",
  ],
  ["device " + "5".repeat(64), "device " + "a".repeat(64), "device " + "5".repeat(63)],
  ["Today's date is 2026-11-25", "Today's date is 2027-01-01", "Today's date is unknown"],
  ["at 2026-11-25T01:02:03.456Z", "at 2026-11-26T04:05:06+01:00", "at noon"],
  ["It is Wednesday, November 25, 2026", "It is Thu Nov 26 2026", "It is November"],
  ["The month is November 2026", "The month is January 2027", "The month is November"],
  ["<total>duration_ms: 512</total>", "<total>duration_ms: 7</total>", "<total>ms: 512</total>"],
  ["running with ID: b12345678.", "running with ID: bxyz45678.", "running with ID: none."],
  ["agentId: a0123456789abcdef (", "agentId: afedcba9876543210 (", "agentId: ("],
  [
    "Done.\\nagentId: a0123456789abcdef (use SendMessage with to: 'a0123456789abcdef')",
    "Done.\\nagentId: afedcba9876543210 (use SendMessage with to: 'afedcba9876543210')",
    "Done.\\nagentId: a0123456789abcdef (use SendMessage with to: 'a')",
  ],
  ["from\\n2026-11-25", "from\\n2026-11-26", "from\\n2026-11"],
  ["http://127.0.0.1:34567/x", "http://127.0.0.1:1/x", "http://127.0.0.2:34567/x"],
  ["/home/u/.claude/projects/-a-b/memory", "/home/u/.claude/projects/-c/memory", "/projects/"],
  ["in /tmp/home-1/project", "in /private/tmp/home-2", "in /home/project"],
  ["version 2.1.330.f0d", "version 2.1.330.abc", "version 2.1.331"],
  ["Claude Code v2.1.330.f0d", "Claude Code v2.1.330.abc", "Claude Code v2.1.331"],
];

Deno.test("only values of one run are masked", () => {
  assertEquals(EXAMPLES.length >= MASKS.length, true);
  for (const [one, other, third] of EXAMPLES) {
    assertEquals(maskVarying(one), maskVarying(other));
    assertNotEquals(maskVarying(one), maskVarying(third));
  }
});

Deno.test("docs/how-to/offline.md lists every mask", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/how-to/offline.md", import.meta.url));
  for (const { what } of MASKS) assertStringIncludes(page, `- ${what}\n`);
});

Deno.test("masking a text twice changes nothing more", () => {
  for (const hostile of ["1.1.1.", "2026-", "/tmp/", "a".repeat(64) + "-", "Mon", "Jan ", "/tmp"]) {
    const text = hostile.repeat(100_000 / hostile.length);
    assertEquals(maskVarying(maskVarying(text)), maskVarying(text));
  }
});

Deno.test("ignored places are left out", () => {
  const body = bytes('{"a":{"b/c/":1,"d~~":[1,2]},"__proto__":1,"e":2}');
  const left = (...pointers: readonly string[]) => normalizedBody(body, pointers);
  assertEquals(left("/a/b~1c~1", "/e"), '{"a":{"d~~":[1,2]},"__proto__":1}');
  assertEquals(left("/a/d~0~0", "/none/at/all", "/e/x"), '{"a":{"b/c/":1},"__proto__":1,"e":2}');
  assertEquals(
    left("", "/constructor/prototype", "/a/__proto__/toString"),
    new TextDecoder().decode(body),
  );
  assertEquals(Object.hasOwn(Object.prototype, "toString"), true);
  assertEquals(normalizedBody(bytes("no JSON"), ["/a"]), "no JSON");
});

Deno.test("the first difference has a JSON pointer", () => {
  const cases:
    readonly (readonly [unknown, unknown, string, string | undefined, string | undefined])[] = [
      [{ a: 1, b: 2 }, { a: 1, b: 3 }, "/b", "2", "3"],
      [{ a: [1, { "b/~": "x" }] }, { a: [1, { "b/~": "y" }] }, "/a/1/b~1~0", '"x"', '"y"'],
      [{ a: 1 }, {}, "/a", "1", undefined],
      [{}, { a: 1 }, "/a", undefined, "1"],
      [{ a: [1] }, { a: { 0: 1 } }, "/a", "[1]", '{"0":1}'],
      [{ a: null }, { a: {} }, "/a", "null", "{}"],
      [{ "a/~/~": [1] }, {}, "/a~1~0~1~0", "[1]", undefined],
      [
        `${"x".repeat(30)}a`,
        `${"x".repeat(30)}b`,
        "",
        `…${"x".repeat(30)}a"`,
        `…${"x".repeat(30)}b"`,
      ],
      ["x".repeat(118), 1, "", `"${"x".repeat(118)}"`, "1"],
      ["x".repeat(119), 1, "", `"${"x".repeat(119)}…`, "1"],
    ];
  for (const [recorded, asked, pointer, one, other] of cases) {
    assertEquals(firstDifference(JSON.stringify(recorded), JSON.stringify(asked)), {
      pointer,
      recorded: one,
      asked: other,
    });
  }
  assertEquals(firstDifference("same", "same"), undefined);
  const long = "x".repeat(1000);
  assertEquals(firstDifference(`{"t":"${long}a"}`, `{"t":"${long}b"}`), {
    pointer: "/t",
    recorded: `…${"x".repeat(30)}a"`,
    asked: `…${"x".repeat(30)}b"`,
  });
  const deep = (end: string) => "[".repeat(5000) + end + "]".repeat(5000);
  assertEquals(firstDifference(deep("1"), deep("2"))?.pointer, "/0".repeat(100));
  assertEquals(firstDifference('{"a":1,"b":2}', '{"b":2,"a":1}'), {
    pointer: "",
    recorded: String.raw`"{\"a\":1,\"b\":2}"`,
    asked: String.raw`"{\"b\":2,\"a\":1}"`,
  });
});

Deno.test("an ignored place may be absent with its parent", () => {
  const known = (body: string, ignored = "/metadata/user_id") =>
    normalizedBody(bytes(body), [ignored]);
  assertEquals(known('{"a":1,"metadata":{"user_id":"u"}}'), known('{"a":1}'));
  assertEquals(known('{"a":1,"metadata":{}}'), known('{"a":1}'));
  for (const body of ['{"a":{"b":{"c":1}}}', '{"a":{"b":{}}}', '{"a":{}}']) {
    assertEquals(known(body, "/a/b/c"), "{}");
  }
  // Other fields of the object count, and so does an object that was empty from the start.
  assertNotEquals(known('{"metadata":{"user_id":"u","more":1}}'), known("{}"));
  assertNotEquals(known('{"metadata":"u"}'), known("{}"));
  assertNotEquals(known('{"a":[1]}', "/a/0"), known("{}", "/a/0"));
  assertEquals(known("[]"), "[]");
});

Deno.test("Remembered evicts the least recently used values", () => {
  const remembered = new LruCache<number>(10);
  const known = () => ["a", "b", "c", "d"].filter((key) => remembered.get(key) !== undefined);
  remembered.set("a", { value: 1, weight: 4 });
  remembered.set("b", { value: 2, weight: 4 });
  assertEquals(remembered.get("a"), 1);
  remembered.set("c", { value: 3, weight: 4 });
  assertEquals(known(), ["a", "c"]);
  // Heavier than the whole cache.
  remembered.set("d", { value: 4, weight: 11 });
  assertEquals(known(), ["a", "c"]);
  remembered.set("a", { value: 5, weight: 10 });
  assertEquals([known(), remembered.get("a")], [["a"], 5]);
});
