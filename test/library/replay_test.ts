import { assert, assertEquals, assertRejects } from "@std/assert";
import { replay, RunError } from "../../src/library/mod.ts";
import { NOWHERE } from "../nowhere.ts";

const CASSETTE = new URL("../../fixtures/recordings/readme", import.meta.url).pathname;

Deno.test("replay() gives the frames of a recorded run, its result, and no differences", async () => {
  const { frames, result, ending, differences } = await replay(CASSETTE);
  assertEquals([frames[0]?.frame.type, frames.at(-1)?.frame], ["system", result]);
  assertEquals([result?.type, ending, differences], ["result", "answered", []]);
  const times = frames.map(({ at }) => at);
  assertEquals(times, times.toSorted((one, other) => one - other));
});

Deno.test("replay() says what to do about a folder without a recording", async () => {
  const error = await assertRejects(() => replay(NOWHERE), RunError);
  assert(error.suggestion !== undefined);
  assertEquals(error.exitCode, 2);
});
