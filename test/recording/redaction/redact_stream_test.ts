import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  findOpenSecret,
  redactTerminal,
} from "../../../src/recording/cassette/record/redact_terminal.ts";
import {
  createOrderedQueue,
  createStreamRedactor,
  type StreamPiece,
} from "../../../src/recording/redaction/redact_stream.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import { redactedGaps, redactPieces } from "../../../src/recording/redaction/redact_pieces.ts";

const { text: redact, openFrom } = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });
const SECRETS = ["swordfish-42", "sk-ant-api03-0123456789abcdefghij"];

/** The first secret in other spellings, of which the first three characters reveal nothing. */
const ENCODED = [
  ...["", "u", "us"].map((before) => btoa(`${before}${SECRETS[0]}!`)),
  "73776f7264666973682d3432",
];

const plain = ({ gather = 0, onRedact = (_length: number) => {} } = {}) =>
  createStreamRedactor({
    redact: (pieces, options) => {
      onRedact(pieces.join("").length);
      return redactPieces(pieces, redact, options);
    },
    openFrom,
    gather,
  });
const terminal = () =>
  createStreamRedactor({
    redact: (pieces, options) => redactTerminal(pieces, redact, options),
    openFrom: (text) => findOpenSecret(text, openFrom),
  });

/** All that becomes known of pieces once the last of them is settled. */
function written(pieces: readonly StreamPiece[]): string {
  pieces.at(-1)?.settle();
  return pieces.map(({ redacted }) => redacted ?? "").join("");
}

Deno.test("no part of a cut secret is printed", () => {
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
  const encoded = ENCODED.map((each) => each.slice(4, 8));
  for (const create of [plain, terminal]) {
    for (const text of texts) {
      if (create === plain && text.includes("sword\x1b")) continue;
      const cuts = fc.array(fc.nat({ max: text.length }), { maxLength: 6 });
      fc.assert(
        fc.property(cuts, (cuts) => {
          const ends = [...cuts, text.length].toSorted((one, other) => one - other);
          const add = create();
          const whole = written(
            ends.map((end, index) => add(text.slice(ends[index - 1] ?? 0, end))),
          );
          for (const part of ["sk-a", "api0", "0123", "cdef", "swor", "fish", "h-42", ...encoded]) {
            assert(!whole.includes(part), `${part} in ${JSON.stringify(whole)}`);
          }
        }),
        { numRuns: 30 },
      );
    }
  }
});

Deno.test("a piece without a possible secret is known", () => {
  const add = plain();
  assertEquals(add("Hello there.\n").redacted, "Hello there.\n");
  const second = add("It is sk-ant-api03-01");
  assertEquals(second.redacted, undefined);
  const third = add("23456789 or so");
  assertEquals([second.redacted, third.redacted], ["It is [redacted]", " or so"]);
});

Deno.test("after a settled piece the secret's rest is redacted", () => {
  const add = plain();
  const begun = add("-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n");
  assertEquals(begun.redacted, undefined);
  begun.settle();
  assertEquals(begun.redacted, "[redacted]\n");
  const rest = add("MIIEowIBAAKCAQEB\n-----END PRIVATE KEY-----\nThere.");
  assertEquals(rest.redacted, "[redacted]\nThere.");
});

Deno.test("a piece waits for at most 64 KB of text", () => {
  const add = plain();
  const long = add("-----BEGIN PRIVATE KEY-----");
  add("a word.\n".repeat(8192).slice("-----BEGIN PRIVATE KEY-----".length));
  assertEquals(long.redacted, undefined);
  add("\n");
  assertEquals(long.redacted, "[redacted]");
});

Deno.test("gathering reads the text once and redacts the same", () => {
  const pieces = Array.from({ length: 4000 }, (_, number) => `${number} is no secret, `)
    .with(500, "it is sk-ant-api03-0123").with(501, "456789abcdefghij, ");
  const { length } = pieces.join("");
  const run = (gather: number) => {
    let read = 0;
    const text = written(pieces.map(plain({ gather, onRedact: (length) => read += length })));
    return { text, read };
  };
  const [atOnce, gathered] = [run(0), run(8192)];
  assertEquals(gathered.text, atOnce.text);
  assert(gathered.text.includes("it is [redacted], "));
  assert(atOnce.read > 10 * length && gathered.read < 1.2 * length);
});

Deno.test("a settled piece does not wait for pieces after it", () => {
  const add = plain({ gather: 8192 });
  const pieces = ["one ", "two ", "sk-ant-api03-0123"].map(add);
  pieces[0]?.settle();
  assertEquals(pieces.map((piece) => piece.redacted), ["one ", "two ", undefined]);
  assertEquals(written([...pieces, add("456789")]), "one two [redacted]");
});

/** A simple redactor, of which the redacted texts are easy to tell. */
const hide = (text: string) => text.replaceAll("secret", "[redacted]");

Deno.test("redactPieces() puts [redacted] where the secret began", () => {
  for (
    const [pieces, redacted] of [
      [["a sec", "r", "et b", " c"], ["a [redacted]", "", " b", " c"]],
      [["secret", "secret"], ["[redacted][redacted]", ""]],
      [["a ", "secret"], ["a ", "[redacted]"]],
      [["[redacted] sec", "ret"], ["[redacted] [redacted]", ""]],
      [["nothing", " here"], ["nothing", " here"]],
    ] as const
  ) assertEquals(redactPieces(pieces, hide), redacted);
  assertEquals(redactPieces(["a", "b"], () => "other"), ["other", ""], "an unknown redactor");
});

Deno.test("redactPieces() returns as many pieces of the redacted text", () => {
  const piece = fc.string({
    unit: fc.constantFrom("sec", "ret", "s", "[redacted]", "a", "secret"),
  });
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
      const redacted = redactPieces(pieces, hide);
      assertEquals(redacted.length, pieces.length);
      assertEquals(redacted.join(""), hide(pieces.join("")));
    }),
    { numRuns: 50 },
  );
  const many = redactPieces(Array(150_000).fill("a secret"), hide);
  assertEquals([many.length, many[0], many.at(-1)], [150_000, "a [redacted]", "a [redacted]"]);
});

Deno.test("redactedGaps() returns the parts that were redacted", () => {
  assertEquals(redactedGaps("a secret b", "a [redacted] b"), [{ start: 2, end: 8 }]);
  assertEquals(redactedGaps("same", "same"), []);
  assertEquals(redactedGaps("one", "two"), undefined);
  // The kept part begins with a repetition, so a search has to go back within it.
  const kept = "xxxxbxxxx";
  assertEquals(
    redactedGaps(`${"x".repeat(8)}${kept}secret`, `[redacted]${kept}[redacted]`),
    [{ start: 0, end: 8 }, { start: 17, end: 23 }],
  );
});

Deno.test("redactedGaps() finds each kept part where indexOf() does", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b") });
  fc.assert(fc.property(fc.array(text, { minLength: 2 }), text, (parts, secret) => {
    const whole = parts.join(secret);
    let end = 0;
    const gaps = parts.slice(1).map((part, index) => {
      const start = end + (parts[index] ?? "").length;
      const isLast = index === parts.length - 2;
      end = isLast ? whole.length - part.length : whole.indexOf(part, start);
      return { start, end };
    });
    assertEquals(redactedGaps(whole, parts.join("[redacted]")), gaps);
  }));
});

/** A piece that is known once `settle` is called. */
function unknownPiece(redacted: string): StreamPiece {
  let isKnown = false;
  return {
    get redacted() {
      return isKnown ? redacted : undefined;
    },
    settle: () => void (isKnown = true),
  };
}

Deno.test("queued items leave in order once earlier items are known", () => {
  const out: string[] = [];
  const queue = createOrderedQueue<string>((item) => void out.push(item));
  queue.add("a");
  assertEquals(out, ["a"]);
  const pending = unknownPiece("b");
  queue.addPending(pending, (text) => `${text}!`);
  queue.add("c");
  assertEquals(out, ["a"]);
  pending.settle();
  queue.add("d");
  assertEquals(out, ["a", "b!", "c", "d"]);
  const known = unknownPiece("known");
  known.settle();
  queue.addPending(known, (text) => text);
  assertEquals(out.pop(), "known");
  queue.addPending(unknownPiece(""), () => undefined);
  queue.addPending(unknownPiece("e"), (text) => text);
  queue.end();
  assertEquals(out, ["a", "b!", "c", "d", "e"]);
});

Deno.test("at most 2000 queued items wait for a piece", () => {
  const out: number[] = [];
  const queue = createOrderedQueue<number>((item) => void out.push(item));
  queue.addPending(unknownPiece(""), () => 0);
  for (let item = 1; item < 2000; item++) queue.add(item);
  assertEquals(out, []);
  queue.add(2000);
  assertEquals(out.length, 2001);
});
