import { assert, assertEquals } from "@std/assert";
import { drawCassette } from "../../src/picture/draw_cassette.ts";
import { readCassette } from "./read_cassette.ts";
import { replayCassette } from "../../src/cassette/replay/replay_cassette.ts";
import { foreignNames } from "../../fixtures/foreign_names.ts";

const CASSETTE = new URL("../../fixtures/recordings/readme", import.meta.url).pathname;
const PICTURE = new URL("../../.github/claude-print.svg", import.meta.url);

Deno.test("the README's picture is what its cassette draws", async () => {
  const svg = await drawCassette(readCassette(CASSETTE));
  const picture = await Deno.readTextFile(PICTURE);
  assert(svg === picture, "Draw it anew: deno task picture");
  assert(picture.length < 200_000);
});

Deno.test("the README's cassette replays without a difference", () => {
  const { ending, result, differences } = replayCassette(readCassette(CASSETTE));
  assertEquals([ending?.kind, result?.subtype, differences], ["answered", "success", []]);
});

Deno.test("the README's cassette names no machine, no user and no secret", async () => {
  for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
    const text = await Deno.readTextFile(`${CASSETTE}/${name}`);
    assertEquals(foreignNames(text), []);
  }
});
