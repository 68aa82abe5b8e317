import { assertEquals } from "@std/assert";
import { readCassette } from "../../cassette/read_cassette.ts";
import { surveyCassette } from "../../../src/cassette/read/survey_cassette.ts";
import { cassetteInfo } from "../../../src/commands/cassette/cassette_info.ts";

const README = new URL("../../../fixtures/recordings/readme", import.meta.url).pathname;

Deno.test("cassetteInfo() tells what is inside a recording of the first format", () => {
  const survey = surveyCassette(README);
  assertEquals(survey.meta.claude_code, "2.1.330");
  const lines = cassetteInfo(survey).split("\n").map((line) => line.replaceAll(/\d+ bytes/gu, "…"));
  const { cast, tape } = readCassette(README);
  assertEquals(lines, [
    "format      from before there were versions",
    "made by     Claude Code 2.1.330, claude-print 0.1.0, 84x21 cells",
    "recorded    2026-11-22T09:18:48.000Z, for 6.588 s",
    `child.cast  ${cast.events.length} events, …`,
    `tape.jsonl  ${tape.length} frames and 0 lines of the caller, …`,
    "meta.json   missing",
    "api         missing",
    "frames      1 system/init, 3 assistant, 1 user, 1 result/success",
    "ended       1 turn, answered, exit code 0",
    "taken out   unknown",
    "replays     as the world, as the program",
  ]);
});

Deno.test("cassetteInfo() tells what is known, and nothing in it drives a terminal", () => {
  const lines = cassetteInfo({
    meta: {
      format: 1,
      claude_print: "\x1b[2J",
      platform: "linux-x86_64",
      when: "2026-11-22T09:18:48.000Z",
      scrubbed: { "child.cast": 1, "tape.jsonl": 0 },
    },
    parts: {
      "tape.jsonl": { bytes: 10, frames: 1, lines: 2 },
      "meta.json": { bytes: 11 },
      api: { exchanges: 3, broken: 1 },
    },
    further: ["2", "3"],
    durationMs: 1,
    turns: 0,
    frames: { "\u202e": 1 },
  }).split("\n");
  assertEquals(lines, [
    "format      1",
    "made by     Claude Code of an unknown version, claude-print <U+001B>[2J, linux-x86_64",
    "recorded    2026-11-22T09:18:48.000Z, for 0.001 s",
    "child.cast  missing",
    "tape.jsonl  1 frame and 2 lines of the caller, 10 bytes",
    "meta.json   11 bytes",
    "api         3 exchanges, 1 of them broken off with the run",
    "frames      1 <U+202E>",
    "ended       0 turns, how is not known without child.cast",
    "taken out   1 secret in child.cast, 0 secrets in tape.jsonl",
    "goes on in  2, 3, with another Claude Code each",
    "replays     as the program, as the API",
  ]);
});

Deno.test("cassetteInfo() tells of answers of the API alone how many there are, and of what is without them where they are", () => {
  const survey = {
    meta: {},
    parts: { api: { exchanges: 2 } },
    durationMs: 0,
    turns: 0,
    frames: {},
  };
  assertEquals(cassetteInfo(survey).split("\n"), [
    "child.cast  missing",
    "tape.jsonl  missing",
    "meta.json   missing",
    "api         2 exchanges",
    "replays     as the API",
  ]);
  const further = cassetteInfo({ ...survey, parts: {} }, { first: "/a", number: 2 });
  assertEquals(further.split("\n").slice(3), [
    "api         that of /a",
    "part of     /a, Claude Code 2",
    "replays     as the API",
  ]);
});
