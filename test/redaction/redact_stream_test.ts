import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { redactPieces } from "../../src/redaction/redact_pieces.ts";
import { createStreamRedactor, type StreamPiece } from "../../src/redaction/redact_stream.ts";
import { openInTerminal, redactTerminal } from "../../src/cassette/record/redact_terminal.ts";
import { createRedactor } from "../../src/redaction/redact.ts";

const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });
const SECRETS = ["swordfish-42", "sk-ant-api03-0123456789abcdefghij"];

/** The first of them in other spellings, of which the first three characters give nothing away. */
const ENCODED = [
  ...["", "u", "us"].map((before) => btoa(`${before}${SECRETS[0]}!`)),
  "73776f7264666973682d3432",
];

const plain = () =>
  createStreamRedactor({
    redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
    openFrom,
  });
const terminal = () =>
  createStreamRedactor({
    redact: (pieces, { written }) => redactTerminal(pieces, redact, { written }),
    openFrom: (text) => openInTerminal(text, openFrom),
  });

/** What was written down of pieces before the last of them was known to be that, and in the end. */
function written(pieces: readonly StreamPiece[]): string {
  pieces.at(-1)?.settle();
  return pieces.map(({ redacted }) => redacted ?? "").join("");
}

Deno.test("no part of a secret is written down that gives it away, wherever the text is cut", () => {
  const texts = [
    ...SECRETS.map((secret) => `a ${secret} b\n`),
    "a sword  \r\n  fish-42 b",
    "a sword\\r\\nfish-42 b",
    "a sword\\\\nfish-42 b",
    `a ${ENCODED.join(" b ")} c`,
    `\x1b[1m${SECRETS[0]}\x1b[0m\r\n${SECRETS[1]}`,
    "sword\x1b[32mfish\x1b[0m-42 and on",
    `\x1b]0;${SECRETS[1]}\x07 title`,
  ];
  for (const create of [plain, terminal]) {
    for (const text of texts) {
      if (create === plain && text.includes("sword\x1b")) continue;
      fc.assert(fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 6 }), (cuts) => {
        const ends = [...cuts, text.length].toSorted((one, other) => one - other);
        const add = create();
        const pieces = ends.map((end, index) => add(text.slice(ends[index - 1] ?? 0, end)));
        const whole = written(pieces);
        const encoded = ENCODED.map((each) => each.slice(4, 8));
        for (const part of ["sk-a", "api0", "0123", "cdef", "swor", "fish", "h-42", ...encoded]) {
          assert(!whole.includes(part), `${part} in ${JSON.stringify(whole)}`);
        }
      }));
    }
  }
});

Deno.test("a piece is known at once unless a secret may begin in it", () => {
  const add = plain();
  const first = add("Hello there.\n");
  assertEquals(first.redacted, "Hello there.\n");
  const second = add("It is sk-ant-api03-01");
  assertEquals(second.redacted, undefined);
  const third = add("23456789 or so");
  assertEquals([second.redacted, third.redacted], ["It is [redacted]", " or so"]);
});

Deno.test("a piece does not wait for too much, and what is left of a secret is taken out then", () => {
  const add = plain();
  const key = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n";
  const begun = add(key);
  assertEquals(begun.redacted, undefined);
  begun.settle();
  assertEquals(begun.redacted, "[redacted]\n");
  const rest = add("MIIEowIBAAKCAQEB\n-----END PRIVATE KEY-----\nThere.");
  assertEquals(rest.redacted, "[redacted]\nThere.");
  const long = add("-----BEGIN PRIVATE KEY-----");
  for (let count = 0; count < 70; count++) add("a word and another one. ".repeat(50));
  assert(long.redacted !== undefined);
});

Deno.test("text that is gathered is gone through once or little more, and becomes the same", () => {
  const pieces = Array.from({ length: 20_000 }, (_, number) => `${number} is no secret, `)
    .with(5000, "it is sk-ant-api03-0123").with(5001, "456789abcdefghij, ");
  const becomes = (gather: number) => {
    let read = 0;
    const add = createStreamRedactor({
      redact: (given, options) => {
        read += given.join("").length;
        return redactPieces(given, redact, options);
      },
      openFrom,
      gather,
    });
    return { text: written(pieces.map(add)), read };
  };
  const length = pieces.join("").length;
  const [atOnce, gathered] = [becomes(0), becomes(8192)];
  assertEquals(gathered.text, atOnce.text);
  assert(gathered.text.includes("it is [redacted], "));
  assert(atOnce.read > 10 * length && gathered.read < 1.1 * length);
});

Deno.test("a piece that is settled is not waited for, though what comes behind is", () => {
  const add = createStreamRedactor({
    redact: (given, options) => redactPieces(given, redact, options),
    openFrom,
    gather: 8192,
  });
  const pieces = ["one ", "two ", "sk-ant-api03-0123"].map(add);
  pieces[0]?.settle();
  assertEquals(pieces.map((piece) => piece.redacted), ["one ", "two ", undefined]);
  assertEquals(written([...pieces, add("456789")]), "one two [redacted]");
});
