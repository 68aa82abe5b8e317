import { assertEquals, assertRejects } from "@std/assert";
import { frameQueue } from "../../src/library/frame_queue.ts";
import type { Frame } from "../../src/wire/frame.ts";

const frame = (session_id: string): Frame => ({ type: "system", subtype: "init", session_id });
const DONE = { done: true, value: undefined } as const;

Deno.test("frameQueue() gives frames in order, whether they wait or are waited for", async () => {
  const queue = frameQueue();
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

Deno.test("frameQueue() ends after the last frame, for everybody who waits and from then on", async () => {
  const queue = frameQueue();
  queue.push(frame("1"));
  queue.end();
  queue.push(frame("late"));
  assertEquals(await queue.next(), { done: false, value: frame("1") });
  assertEquals(await queue.next(), DONE);
  assertEquals(await queue.next(), DONE);
  const waited = frameQueue();
  const taken = [waited.next(), waited.next()];
  waited.end();
  assertEquals(await Promise.all(taken), [DONE, DONE]);
});

Deno.test("frameQueue() tells a failure once, after the last frame", async () => {
  const failure = { error: new Error("injected") };
  const queue = frameQueue();
  queue.push(frame("1"));
  queue.end(failure);
  assertEquals(await queue.next(), { done: false, value: frame("1") });
  await assertRejects(() => queue.next(), Error, "injected");
  assertEquals(await queue.next(), DONE);
  const waited = frameQueue();
  const [first, second] = [waited.next(), waited.next()];
  waited.end(failure);
  await assertRejects(() => first, Error, "injected");
  assertEquals(await second, DONE);
});

Deno.test("frameQueue() forgets what nobody wants", async () => {
  const queue = frameQueue();
  queue.push(frame("1"));
  queue.drop();
  queue.push(frame("2"));
  assertEquals(await queue.next(), DONE);
  queue.end({ error: new Error("injected") });
  assertEquals(await queue.next(), DONE);
  const waited = frameQueue();
  const taken = waited.next();
  waited.drop();
  assertEquals(await taken, DONE);
});
