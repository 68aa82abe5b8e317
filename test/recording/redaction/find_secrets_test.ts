import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createSecretFinder, memoizeLast } from "../../../src/recording/redaction/find_secrets.ts";

const HEX = "0123456789abcdef0123456789abcdef01234567";
/** Secrets that resemble each other, the layout of a screen and the texts below. */
const KNOWN = [
  "aaaaaaaaaaaaaaab",
  "aaaaaaaab",
  "aaaaaaaa",
  "        aaaaaaaa",
  "| | | | | | | |x",
  "a a a a a a a a b",
  "aaaaaaaa\\\\n",
  `${"ab".repeat(500)}c`,
];

/** Texts that an expression reads again from each of their characters when they are repeated. */
// deno-fmt-ignore
const UNITS = [
  "a", "a.", "a-", "ab", "a b", "1", "_", "-", "=", ".", "/", ":", "@", "{", '"', "\\", "\\n", " ",
  "|", "│", "\n", "\r", " \r", " \n", "[", "\x1b[", "é", "日", "\ud800", "QUJDREVGR0hJSktM", HEX,
  "eyJ", "eyJaaaaaaaa-", "eyJaaaaaaaa.", "eyJaaaaaaaa\n", "eyJaaaaaaaa.bbbbbbbb.c ", "sk-ant-",
  "sk-ant-\n", `sk-ant-${HEX}\n`, `sk-ant-${HEX}-eyJ\n  │`, "ghp_", "ghp_a-", "xoxb-", "AIza", "AKIA",
  "AKIAIOSFODNN7EXAMPLE", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN A", "PRIVATE KEY", "-----BEGIN PRIVATE KEY-----END ",
  "bearer ", "bearer a.", "bearer\n", "authorization:", "authorization: bearer ", "authorization ",
  "x-api-key: ", "x-api-key:\n", "eyJ.-_ x-api-key \n", "aws_secret_access_key = ", "token", '"token"',
  '"token":', '"token":"', '"token":"a', '"aaaatoken"', 'token"', "a://", "://a:", "a://a:",
  "http://user:pass@", "://:", "aaaaaaaaaaaaaaa", "aaaaaaaabsk-ant-a", "a\na", "a \n a", "| ", "a ",
  "ab".repeat(499),
];

const repeated = (unit: string, length: number) => unit.repeat(Math.ceil(length / unit.length));

Deno.test("steps grow linearly with texts that repeat themselves", () => {
  const find = createSecretFinder(KNOWN);
  const texts = [
    ...UNITS.map((unit) => (length: number) => repeated(unit, length)),
    // A long run before or after the repetition.
    ...UNITS.map((unit) => (length: number) => repeated(unit, length / 2) + "a".repeat(length / 2)),
    ...UNITS.map((unit) => (length: number) => " ".repeat(length / 2) + repeated(unit, length / 2)),
    // Several repetitions that a secret could span.
    ...[".", "\n", '"', ":"].flatMap((sign) =>
      UNITS.map((unit) => (length: number) =>
        Array.from({ length: 5 }, () => repeated(unit, length / 5)).join(sign)
      )
    ),
  ];
  for (const text of texts) {
    const [short, long] = [text(500), text(2000)].map((each) => find(each).steps / each.length);
    assert(short !== undefined && long !== undefined);
    const counts = `${JSON.stringify(text(100))}: ${short} and ${long} steps a character`;
    assert(long < 40 && long < 1.5 * short + 1, counts);
  }
});

Deno.test("steps grow linearly with texts of random parts", () => {
  const find = createSecretFinder(KNOWN);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...UNITS), { minLength: 1, maxLength: 30 }), (units) => {
      const text = repeated(units.join(""), 10_000);
      assert(find(text).steps < 40 * text.length);
    }),
    { numRuns: 50 },
  );
});

Deno.test("many secrets take no more steps than one", () => {
  const text = repeated("aaaaaaaaaaaa aaaaaaaaaaaab ", 5000);
  const one = createSecretFinder(["aaaaaaaaaaaab"])(text).steps;
  const many = createSecretFinder(
    Array.from({ length: 2000 }, (_, index) => `${"a".repeat(8 + index % 300)}${index}`),
  )(text).steps;
  assert(many < 3 * one, `${one} and ${many} steps`);
});

Deno.test("overlapping secrets are one span, adjacent secrets are two", () => {
  const find = createSecretFinder(["swordfish-42", "42sk-ant-"]);
  const found = (text: string) => find(text).spans.map(({ start, end }) => text.slice(start, end));
  assertEquals(found("swordfish-42swordfish-42"), ["swordfish-42", "swordfish-42"]);
  assertEquals(found("swordfish-42sk-ant-12345678 x"), ["swordfish-42sk-ant-12345678"]);
  // Text right after a secret is read as if the secret were absent.
  assertEquals(found("swordfish-42ghp_0123456789abcdefghij"), [
    "swordfish-42",
    "ghp_0123456789abcdefghij",
  ]);
  assertEquals(found("xghp_0123456789abcdefghij AKIAIOSFODNN7EXAMPLEswordfish-42"), [
    "AKIAIOSFODNN7EXAMPLE",
    "swordfish-42",
  ]);
  assertEquals(found("-----BEGIN PRIVATE KEY-----END PRIVATE KEY-----"), [
    "-----BEGIN PRIVATE KEY-----",
  ]);
});

Deno.test("known secrets are found where a plain search finds them", () => {
  const text = (unit: readonly string[]) => fc.string({ unit: fc.constantFrom(...unit) });
  const units = ["a", "b", "\x7f", "é"];
  // So many characters that not every step is prepared.
  const long = Array.from({ length: 60 }, (_, index) => "b".repeat(600 + index));
  for (const [unit, more] of [[units.slice(0, 3), []], [units, []], [units, long]] as const) {
    const words = fc.array(text(unit).filter((word) => word !== ""), { minLength: 1 });
    fc.assert(
      fc.property(words, text(units), (words, text) => {
        const isSecret = Array(text.length).fill(false);
        for (const word of words) {
          for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
            isSecret.fill(true, at, at + word.length);
          }
        }
        const { spans, openFrom } = createSecretFinder([...words, ...more])(text);
        const isFound = Array(text.length).fill(false);
        for (const { start, end } of spans) isFound.fill(true, start, end);
        assertEquals(isFound, isSecret);
        const begun = Array.from(text, (_, at) => text.slice(at)).find((end) =>
          end.length >= 4 && [...words, ...more].some((word) => word.startsWith(end))
        );
        assertEquals(openFrom, begun === undefined ? Infinity : text.length - begun.length);
      }),
      { numRuns: more.length === 0 ? 200 : 30 },
    );
  }
});

Deno.test("a known secret with blanks is found in wrapped rows", () => {
  const find = createSecretFinder(["correct horse battery"]);
  for (
    const text of [
      "correct horse battery",
      "correct\n horse battery",
      "corr\nect horse  │\r\n│ batt\nery",
      "correct horse\n\nbattery",
    ]
  ) assertEquals(find(`a ${text} b`).spans, [{ start: 2, end: 2 + text.length }], text);
});

Deno.test("a possible beginning of a secret is left open", () => {
  const find = createSecretFinder(["swordfish-42", "two words"]);
  const PEM =
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123\n-----END RSA PRIVATE KEY-----";
  const secrets = [
    "sk-ant-api03-0123456789",
    "sk-ant-api03-0123456789abcdef01\n0123456789abcdef01",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.0123456789",
    "swordfish-42",
    "sword\n  fish-42",
    "two words",
    PEM,
  ];
  for (const secret of secrets) {
    const text = `It is ${secret}, so`;
    const [start, end] = ["It is ".length, `It is ${secret}`.length];
    assertEquals(find(text).spans, [{ start, end }], secret);
    assertEquals(find(text).openFrom, Infinity, secret);
    // The first three characters and the first line of a key are no beginning yet.
    const least = secret === PEM ? PEM.indexOf("\n") : 4;
    for (let cut = start + least; cut < end; cut++) {
      const { openFrom } = find(text.slice(0, cut));
      assert(openFrom <= start, `${openFrom} in ${text.slice(0, cut)}`);
    }
  }
  for (const [name, value] of [['"api_key": "', "0123456789"], ["Bearer ", "0123456789abcdef0"]]) {
    for (let cut = 1; cut <= `${value}`.length; cut++) {
      assert(find(`${name}${value?.slice(0, cut)}`).openFrom < `${name}`.length, `${name} ${cut}`);
    }
  }
  for (const text of ["", "Hello.", "for shortcuts", "a\n\n", "sk-", "see https://example.com/a"]) {
    assertEquals(find(text).openFrom, Infinity, text);
  }
});

Deno.test("the answers for the last two short texts are kept", () => {
  const asked: number[] = [];
  const answer = memoizeLast((text) => asked.push(text.length));
  const long = "x".repeat(1024 * 1024 + 1);
  for (const text of ["a", "bb", "a", "bb", "ccc", "bb", "a", long, long]) answer(text);
  assertEquals(asked, [1, 2, 3, 1, long.length, long.length]);
});
