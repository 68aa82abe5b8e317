import { assertEquals } from "@std/assert";
import {
  firstTimes,
  forgetFirsts,
  hearFirsts,
  NOTHING_HEARD,
} from "../../../src/frames/telling/heard_firsts.ts";
import type { StreamedPart } from "../../../src/session/input.ts";

type Heard = readonly [at: number, request: number, part: StreamedPart];

const heardOf = (...parts: readonly Heard[]) =>
  parts.reduce(
    (heard, [at, request, part]) => hearFirsts(heard, { type: "stream", at, request, part }),
    NOTHING_HEARD,
  );
const asks = { kind: "request" } as const;
const event = (type: string) => ({ kind: "event", event: { type } } as const);
const answer = (at: number, request: number): readonly Heard[] => [
  [at, request, asks],
  [at + 1, request, event("message_start")],
  [at + 2, request, event("content_block_start")],
  [at + 3, request, event("content_block_stop")],
  [at + 8, request, event("content_block_start")],
  [at + 9, request, { kind: "end" }],
];

Deno.test("the times of an answer are those of its first block, and of the first that answers a prompt", () => {
  const heard = heardOf([5, 1, asks], [6, 1, { kind: "end" }], ...answer(10, 2), ...answer(30, 3));
  const second = { askedAt: 10, begunAt: 11, contentAt: 12, wholeAt: 13 };
  // A request that fails answers nothing.
  assertEquals(firstTimes(heard, 0), second);
  assertEquals(firstTimes(heard, 10), second);
  assertEquals(firstTimes(heard, 11)?.askedAt, 30);
  assertEquals(firstTimes(heard, 31), undefined);
  assertEquals(firstTimes(heard, NaN), undefined);
  assertEquals(firstTimes(forgetFirsts(heard, 20), 0)?.askedAt, 30);
});

Deno.test("what nobody has asked for, and events that nobody knows, change nothing", () => {
  assertEquals(
    heardOf([1, 1, event("message_start")], [2, 1, { kind: "limits" }]),
    NOTHING_HEARD,
  );
  const asked = heardOf([1, 1, asks]);
  assertEquals(hearFirsts(asked, { type: "stream", at: 2, request: 1, part: event("x") }), asked);
});
