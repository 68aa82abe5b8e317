import { assert, assertEquals, assertRejects } from "@std/assert";
import { replay, RunError } from "../../src/library/mod.ts";
import { NOWHERE } from "../nowhere.ts";
import { createFrameQueue } from "../../src/library/run_output.ts";
import type { Frame } from "../../src/claude/wire/frame.ts";

const CASSETTE = new URL("../../fixtures/recordings/readme", import.meta.url).pathname;

Deno.test("replay() returns frames and result", async () => {
  const { frames, result, ending, differences } = await replay(CASSETTE);
  assertEquals([frames[0]?.frame.type, frames.at(-1)?.frame], ["system", result]);
  assertEquals([result?.type, ending, differences], ["result", "answered", []]);
  const times = frames.map(({ at }) => at);
  assertEquals(times, times.toSorted((one, other) => one - other));
});

Deno.test("replay() refuses a folder without a recording", async () => {
  const error = await assertRejects(() => replay(NOWHERE), RunError);
  assert(error.suggestion !== undefined);
  assertEquals(error.exitCode, 2);
});

const frame = (session_id: string): Frame => ({ type: "system", subtype: "init", session_id });
const DONE = { done: true, value: undefined } as const;

Deno.test("queued and awaited frames come in order", async () => {
  const queue = createFrameQueue();
  queue.push(frame("1"));
  queue.push(frame("2"));
  assertEquals(await queue.next(), { done: false, value: frame("1") });
  assertEquals(await queue.next(), { done: false, value: frame("2") });
  const taken = [queue.next(), queue.next()];
  queue.push(frame("3"));
  queue.push(frame("4"));
  assertEquals(await Promise.all(taken), [
    { done: false, value: frame("3") },
    { done: false, value: frame("4") },
  ]);
});

Deno.test("the queue ends after the last frame", async () => {
  const queue = createFrameQueue();
  queue.push(frame("1"));
  queue.end();
  queue.push(frame("late"));
  assertEquals(await queue.next(), { done: false, value: frame("1") });
  assertEquals(await queue.next(), DONE);
  assertEquals(await queue.next(), DONE);
  const waited = createFrameQueue();
  const taken = [waited.next(), waited.next()];
  waited.end();
  assertEquals(await Promise.all(taken), [DONE, DONE]);
});

Deno.test("the queue reports a failure once, last", async () => {
  const failure = { error: new Error("injected") };
  const queue = createFrameQueue();
  queue.push(frame("1"));
  queue.end(failure);
  assertEquals(await queue.next(), { done: false, value: frame("1") });
  await assertRejects(() => queue.next(), Error, "injected");
  assertEquals(await queue.next(), DONE);
  const waited = createFrameQueue();
  const [first, second] = [waited.next(), waited.next()];
  waited.end(failure);
  await assertRejects(() => first, Error, "injected");
  assertEquals(await second, DONE);
});

Deno.test("a dropped queue forgets its frames", async () => {
  const queue = createFrameQueue();
  queue.push(frame("1"));
  queue.drop();
  queue.push(frame("2"));
  assertEquals(await queue.next(), DONE);
  queue.end({ error: new Error("injected") });
  assertEquals(await queue.next(), DONE);
  const waited = createFrameQueue();
  const taken = waited.next();
  waited.drop();
  assertEquals(await taken, DONE);
});
