import { assertEquals } from "@std/assert";
import type { Exchange } from "../../../src/relay/exchanges/exchange.ts";
import {
  ExchangeFinder,
  type KnownExchange,
} from "../../../src/relay/exchanges/exchange_finder.ts";
import type { Match } from "../../../src/relay/exchanges/request_key.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const request = (body: string, path = "/v1/messages") => ({
  method: "POST",
  path,
  body: bytes(body),
});

/** An exchange that is known by its status. */
const exchange = (status: number, body: string, conversation?: string) => ({
  name: `${status}.json`,
  exchange: {
    at: status,
    ...(conversation === undefined ? {} : { conversation }),
    request: request(body),
    response: { status, headers: [], chunks: [], whole: true },
  } satisfies Exchange,
});

const always = () => true;
const never = () => false;

/** Asks one thing after the other, and gives the statuses of what is found. */
function asked(
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

Deno.test("exact finds the same bytes alone, normalized what differs from run to run too", () => {
  const [one, other] = ['{"date":"2026-11-25"}', '{"date":"2026-11-26"}'];
  assertEquals(asked(finderOf("exact", exchange(201, one)), [one, other]), [201, undefined]);
  assertEquals(asked(finderOf("normalized", exchange(201, one)), [one, other, "{}"]), [
    201,
    201,
    undefined,
  ]);
});

Deno.test("each conversation takes the exchanges of a request in their order, and the last again if it may", () => {
  const finder = finderOf("exact", exchange(529, "{}"), exchange(200, "{}"));
  assertEquals(asked(finder, ["{}", "{}", "{}"], { conversation: "a" }), [529, 200, 200]);
  assertEquals(asked(finder, ["{}", "{}"], { conversation: "b" }), [529, 200]);
  assertEquals(asked(finder, ["{}"], { conversation: "b", usable: never }), [undefined]);
});

Deno.test("what the last conversation was answered that asked counts, and a failure only where nobody can be asked", () => {
  const finder = finderOf(
    "exact",
    exchange(401, "{}", "a"),
    exchange(200, "{}", "b"),
    exchange(500, "x", "a"),
  );
  assertEquals(asked(finder, ["{}", "{}"]), [200, 200]);
  const usable = ({ status }: KnownExchange) => status < 400;
  assertEquals(asked(finder, ["x", "{}"], { conversation: "c", usable }), [undefined, 200]);
  assertEquals(asked(finder, ["x"], { conversation: "c" }), [500]);
});

Deno.test("sequence gives the next exchange of a conversation, whatever is asked", () => {
  const opus = (text: string) => `{"model":"opus","text":"${text}"}`;
  const haiku = '{"model":"haiku"}';
  const finder = finderOf(
    "sequence",
    exchange(201, opus("one"), "a"),
    exchange(202, haiku, "a"),
    exchange(203, opus("two"), "a"),
    exchange(204, opus("three"), "b"),
  );
  // Known by its beginning, though another conversation was first.
  assertEquals(asked(finder, [opus("three")], { conversation: "x" }), [204]);
  assertEquals(
    asked(finder, [opus("other"), opus("words"), haiku, opus("more")], { conversation: "y" }),
    [201, 203, 202, undefined],
  );
  // All places are taken: it begins from the first.
  assertEquals(asked(finder, [opus("anything")], { conversation: "z" }), [201]);
  // What is said does not count, so that it is no difference.
  const beyond = finder.identify({ request: request(opus("more")), conversation: "y" });
  assertEquals(finder.nearest(beyond), { name: "203.json", difference: undefined });
});

Deno.test("sequence gives a new conversation nothing of one that is just being recorded", () => {
  const text = (text: string) => `{"model":"opus","text":"${text}"}`;
  const read = () => undefined;
  const finder = new ExchangeFinder([], { match: "sequence", ignored: [], grows: true, read });
  assertEquals(asked(finder, [text("one")], { conversation: "a" }), [undefined]);
  finder.add(exchange(201, text("one"), "a"));
  assertEquals(asked(finder, [text("two")], { conversation: "b" }), [undefined]);
});

Deno.test("the nearest is what has most in common at its beginning, by the same path", () => {
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
});

/** Finds the nearest of exchanges again and again, and counts how many of their files were read each time. */
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

Deno.test("the nearest is looked for in the latest 64 MiB of exchanges", () => {
  const [first] = readsFor(1000, { answerBytes: 1024 * 1024 });
  assertEquals(first, { name: "936.json", reads: 64 });
});

Deno.test("the finder keeps at most 16 Mi characters of requests to compare", () => {
  // The exchange that is read last is read once more: it is the nearest, and its path is compared.
  const small = readsFor(20, { requestBytes: 1024 });
  const large = readsFor(20, { requestBytes: 1024 * 1024 });
  assertEquals(small.map(({ reads }) => reads), [20, 0]);
  assertEquals(large.map(({ reads }) => reads), [20, 20]);
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
    (_, number) => asked(finder, ['{"model":"m"}'], { conversation: `other ${number}` })[0],
  );
  // Those are free whose takers were forgotten.
  assertEquals(others, Array.from({ length: 100 }, (_, number) => number));
});
