import { assertEquals } from "@std/assert";
import {
  grownMap,
  keysOf,
  valueAt,
  withoutValue,
  withValue,
} from "../../../src/cassette/program/grown_map.ts";
import { answer, ask, playedTape, read, reply, request, says, user, wrote } from "./played_tape.ts";

/** With time that grows with the square of this, each of these tests would take half a minute. */
const MANY = 10_000;
const numbers = Array.from({ length: MANY }, (_, index) => index);
const MODEL = { subtype: "set_model", model: "haiku" };

Deno.test("a tape of very many requests is played in step, and to who writes all of them at first", () => {
  const [requests, replies] = [
    numbers.map((number) => wrote(request(`${number}`, MODEL))),
    numbers.map((number) => read(reply(`${number}`))),
  ];
  const written = numbers.map((number) => request(`live ${number}`, MODEL));
  const inStep = numbers.flatMap((number) => [requests[number], replies[number]])
    .filter((entry) => entry !== undefined);
  const later = [...requests, read(says("done")), ...replies];
  for (const tape of [inStep, later]) {
    const { said, divergences } = playedTape(tape, written);
    assertEquals([said.length, divergences], [tape.length - MANY, []]);
    assertEquals(said.at(-1), reply(`live ${MANY - 1}`));
  }
});

Deno.test("very many messages may be written ahead of their turns, and each may have an id of its own", () => {
  const tape = [
    wrote(request("wait", MODEL)),
    ...numbers.flatMap((number) => [
      wrote(user("Go on", { uuid: uuidOf(number) })),
      read({ ...says("on it"), uuid: uuidOf(number) }),
    ]),
  ];
  const messages = numbers.map((number) => user("Go on", { uuid: uuidOf(MANY + number) }));
  const { said, divergences } = playedTape(tape, [...messages, request("live", MODEL)]);
  assertEquals(divergences, []);
  assertEquals(said.at(-1)?.["uuid"], uuidOf(2 * MANY - 1));
});

Deno.test("very many questions may be open at once, and be answered before their turns or never", () => {
  const question = { subtype: "can_use_tool" };
  const tape = [
    wrote(request("wait", MODEL)),
    ...numbers.map((number) => read(ask(`${number}`, question))),
    ...numbers.map((number) => wrote(answer(`${number}`, { behavior: "allow" }))),
  ];
  const answers = numbers.map((number) => answer(`${number}`, { behavior: "allow" }));
  const { divergences } = playedTape(tape, [...answers, request("live", MODEL)]);
  assertEquals(divergences, []);
  const others = numbers.map((number) => answer(`other ${number}`, {}));
  assertEquals(
    playedTape(tape.slice(0, 1), [...others, request("live", MODEL)]).divergences.length,
    MANY,
  );
});

Deno.test("a map that is never changed has what was put into it, and not what was taken out", () => {
  let map = grownMap([["first", 0]]);
  const expected = new Map([["first", 0]]);
  const former: (readonly [typeof map, readonly string[]])[] = [];
  for (let step = 0; step < 2000; step++) {
    const key = `${(step * 7919) % 101}`;
    if (step % 3 === 0) {
      map = withoutValue(map, key);
      expected.delete(key);
    } else {
      map = withValue(map, [key, step]);
      expected.set(key, step);
    }
    assertEquals([map.size, valueAt(map, key)], [expected.size, expected.get(key)]);
    if (step % 100 === 0) former.push([map, [...expected.keys()].toSorted()]);
  }
  for (const [map, keys] of former) assertEquals(keysOf(map).toSorted(), keys);
});

function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${`${number}`.padStart(12, "0")}`;
}
