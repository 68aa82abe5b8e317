import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { firstDifference } from "../../../src/relay/exchanges/first_difference.ts";
import { masked, MASKS } from "../../../src/relay/exchanges/masks.ts";
import { keyOf, normalizedBody } from "../../../src/relay/exchanges/request_key.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("keyOf() is SHA-256 of method, path and body", () => {
  const request = { method: "POST", path: "/v1/messages", body: bytes("{}") };
  assertEquals(keyOf(request), "c5026f884f0cc0405d81fcc3fa45bfec8d4c9cd78d5f8279356967fd191029f1");
  for (const other of [{ method: "PUT" }, { path: "/v1" }, { body: bytes("{ }") }]) {
    assertNotEquals(keyOf({ ...request, ...other }), keyOf(request));
  }
});

/** For each mask a text in two runs, and a third that means something else. */
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

Deno.test("what is another in each run is the same once it is masked, and nothing else is", () => {
  assertEquals(EXAMPLES.length >= MASKS.length, true);
  for (const [one, other, third] of EXAMPLES) {
    assertEquals(masked(one), masked(other));
    assertNotEquals(masked(one), masked(third));
  }
});

Deno.test("docs/relay.md lists what is masked", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/relay.md", import.meta.url));
  for (const { what } of MASKS) assertStringIncludes(page, `- ${what}\n`);
});

Deno.test("a masked text stays the same when it is masked again", () => {
  for (const hostile of ["1.1.1.", "2026-", "/tmp/", "a".repeat(64) + "-", "Mon", "Jan ", "/tmp"]) {
    const text = hostile.repeat(100_000 / hostile.length);
    assertEquals(masked(masked(text)), masked(text));
  }
});

Deno.test("normalizedBody() leaves out what is ignored, where it is there", () => {
  const body = bytes('{"a":{"b/c":1,"d~":[1,2]},"__proto__":1,"e":2}');
  const left = (...pointers: readonly string[]) => normalizedBody(body, pointers);
  assertEquals(left("/a/b~1c", "/e"), '{"a":{"d~":[1,2]},"__proto__":1}');
  assertEquals(left("/a/d~0", "/none/at/all", "/e/x"), '{"a":{"b/c":1},"__proto__":1,"e":2}');
  assertEquals(left("/constructor/prototype"), new TextDecoder().decode(body));
  assertEquals(normalizedBody(bytes("no JSON"), ["/a"]), "no JSON");
});

Deno.test("firstDifference() names the first place in the order of what was recorded", () => {
  const cases:
    readonly (readonly [unknown, unknown, string, string | undefined, string | undefined])[] = [
      [{ a: 1, b: 2 }, { a: 1, b: 3 }, "/b", "2", "3"],
      [{ a: [1, { "b/~": "x" }] }, { a: [1, { "b/~": "y" }] }, "/a/1/b~1~0", '"x"', '"y"'],
      [{ a: 1 }, {}, "/a", "1", undefined],
      [{}, { a: 1 }, "/a", undefined, "1"],
      [{ a: [1] }, { a: { 0: 1 } }, "/a", "[1]", '{"0":1}'],
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
});

Deno.test("a place that does not count may be absent with what would hold nothing else", () => {
  const known = (body: string, ignored = "/metadata/user_id") =>
    normalizedBody(bytes(body), [ignored]);
  assertEquals(known('{"a":1,"metadata":{"user_id":"u"}}'), known('{"a":1}'));
  assertEquals(known('{"a":1,"metadata":{}}'), known('{"a":1}'));
  assertEquals(known('{"a":{"b":{"c":1}}}', "/a/b/c"), known("{}", "/a/b/c"));
  // What else is in there counts, and so does what holds no more than other texts do.
  assertNotEquals(known('{"metadata":{"user_id":"u","more":1}}'), known("{}"));
  assertNotEquals(known('{"metadata":"u"}'), known("{}"));
  assertNotEquals(known('{"a":[1]}', "/a/0"), known("{}", "/a/0"));
  assertEquals(known("[]"), "[]");
});
