import { assertEquals } from "@std/assert";
import type { TapeEntry } from "../../../src/recording/cassette/cassette_format.ts";
import { Player } from "../../../src/recording/cassette/program/play_program.ts";
import { recordedProgram } from "../../../src/recording/cassette/program/recorded_program.ts";
import { type PlayCaller, playToCaller } from "../../../src/cli/cassette/play_to_caller.ts";
import {
  answer,
  read,
  request,
  RESULT,
  says,
  user,
  wrote,
} from "../../recording/cassette/program/played_tape.ts";

const TAPE = [
  wrote(user("One"), { at: 100 }),
  read(says("first"), { at: 300 }),
  read(RESULT, { at: 350 }),
];

/** Plays a tape to a caller that writes these lines, and tells all that is done with it, in order. */
async function played(
  tape: readonly TapeEntry[],
  lines: readonly (string | undefined)[],
  { speed = 0, patienceMs = 0, ...more }: Partial<PlayCaller> & {
    readonly speed?: number;
    readonly patienceMs?: number;
  } = {},
) {
  const done: unknown[] = [];
  const left = [...lines];
  let kept = 0;
  const caller: PlayCaller = {
    nextLine: () => left.length > 0 ? Promise.resolve(left.shift()) : new Promise(() => {}),
    print: (frame) => {
      kept += JSON.stringify(frame).length;
      done.push(frame.type);
    },
    pendingSize: () => kept,
    flush: () => {
      if (kept > 0) done.push("flush");
      kept = 0;
      return Promise.resolve(true);
    },
    pause: (milliseconds) => Promise.resolve(void done.push(milliseconds)),
    stopped: new Promise(() => {}),
    ...more,
  };
  const program = recordedProgram(tape, { mode: "verify", path: "tape.jsonl" });
  const ending = await playToCaller(new Player(program), { caller, speed, patienceMs });
  return { done, ...ending };
}

const ONE = JSON.stringify(user("One"));

Deno.test("frames without a pause are written together", async () => {
  const { done, divergences, end } = await played(TAPE, [ONE, undefined]);
  assertEquals([done, divergences, end?.code], [["assistant", "result", "flush"], [], 0]);
});

Deno.test("with a speed, frames are written before each pause", async () => {
  const { done } = await played(TAPE, [ONE, undefined], { speed: 10 });
  assertEquals(done, [20, "assistant", "flush", 5, "result", "flush"]);
});

Deno.test("a pause is never longer than a timer knows", async () => {
  const tape = TAPE.with(2, read(RESULT, { at: 1e300 }));
  const { done } = await played(tape, [ONE, undefined], { speed: 1 });
  assertEquals(done.filter((each) => typeof each === "number"), [200, 2 ** 31 - 1]);
});

Deno.test("much output at once is written in pieces", async () => {
  const long = read(says("x".repeat(50_000)));
  const { done } = await played([wrote(user("One")), long, long, long, read(RESULT)], [
    ...[ONE, undefined],
  ]);
  assertEquals(done.filter((each) => each === "flush").length, 2);
});

Deno.test("an idle caller's time ends", async () => {
  const tape = [wrote(request("r", { subtype: "interrupt" })), read(RESULT)];
  const { divergences, end } = await played(tape, [], { patienceMs: 1 });
  assertEquals(divergences, [
    "The caller has not written request 1 (interrupt), as it did when it was recorded",
  ]);
  assertEquals(end?.type, "end");
});

Deno.test("a caller that waits for a reply has limited time", async () => {
  const tape = [
    wrote(request("r", { subtype: "interrupt" })),
    wrote(user("One")),
    read(says("first")),
    read(answer("r")),
    read(RESULT),
  ];
  const line = JSON.stringify(request("live", { subtype: "interrupt" }));
  const { divergences } = await played(tape, [line], { patienceMs: 1 });
  assertEquals(divergences, [
    "The caller has not written message 1, as it did when it was recorded",
  ]);
});

Deno.test("a stopped or unread play ends with its differences", async () => {
  const written = [JSON.stringify(user("Eins"))];
  const difference =
    'Message 1: the tape has "One" as /content/0/text, and the caller wrote "Eins"';
  for (const isStopped of [true, false]) {
    const stop = Promise.withResolvers<void>();
    let isSaid = false;
    const { end, divergences } = await played(TAPE, written, {
      stopped: stop.promise,
      print: () => isSaid = true,
      flush: () => {
        if (isSaid && isStopped) stop.resolve();
        return isSaid && isStopped ? new Promise(() => {}) : Promise.resolve(!isSaid);
      },
    });
    assertEquals([end, divergences], [undefined, [difference]]);
  }
});

Deno.test("at most 10,000 differences are reported, each shortened", async () => {
  const line = JSON.stringify({ type: "x".repeat(5000) });
  const { divergences } = await played(TAPE, [...Array(10_010).fill(line), ONE, undefined]);
  assertEquals([divergences.length, divergences.at(-1)], [10_001, "And 10 more"]);
  assertEquals(divergences[0]?.length, 1001);
});
