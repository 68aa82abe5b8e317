import { assertEquals } from "@std/assert";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import { surveyCassette } from "../../../src/recording/cassette/read/survey_cassette.ts";
import { formatDifference, formatInfo } from "../../../src/cli/cassette/inspect_cassette.ts";

const README = new URL("../../../fixtures/recordings/readme", import.meta.url).pathname;

Deno.test("info describes a recording of the first format", () => {
  const { cast: { header, ...cast }, tape } = readCassette(README);
  const folder = Deno.makeTempDirSync();
  try {
    // Its header said what meta.json says today.
    const first = {
      ...header,
      timestamp: 1795339128,
      claude_print: {
        version: "0.1.0",
        claude_version: "2.1.330",
        session: {
          inject: "stdin",
          prompt: "Hello",
          size: { rows: 21, cols: 84 },
          timeoutMs: 3_600_000,
          startTimeoutMs: 120_000,
          deliveryTimeoutMs: 300_000,
          drainTimeoutMs: 10_000,
          exitTimeoutMs: 5000,
          otherStopHooks: false,
        },
      },
    };
    const [, ...events] = Deno.readTextFileSync(`${README}/child.cast`).split("\n");
    Deno.writeTextFileSync(
      `${folder}/child.cast`,
      [JSON.stringify(first), ...events].join("\n"),
    );
    Deno.copyFileSync(`${README}/tape.jsonl`, `${folder}/tape.jsonl`);
    const lines = formatInfo(surveyCassette(folder)).split("\n")
      .map((line) => line.replaceAll(/\d+ bytes/gu, "…").replace(/for [\d.]+ s/u, "for … s"));
    assertEquals(lines, [
      "format      from before there were versions",
      "made by     Claude Code 2.1.330, claude-print 0.1.0, 84x21 cells",
      "recorded    2026-11-22T09:18:48.000Z, for … s",
      `child.cast  ${cast.events.length} events, …`,
      `tape.jsonl  ${tape.length} frames and 0 lines of the caller, …`,
      "meta.json   missing",
      "api         missing",
      "frames      1 system/init, 3 assistant, 1 user, 1 result/success",
      "ended       1 turn, answered, exit code 0",
      "taken out   unknown",
      "replays     as the world, as the program",
    ]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("info prints no control characters", () => {
  const lines = formatInfo({
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

Deno.test("info counts exchanges and names the folder without them", () => {
  const survey = {
    meta: {},
    parts: { api: { exchanges: 2 } },
    durationMs: 0,
    turns: 0,
    frames: {},
  };
  assertEquals(formatInfo(survey).split("\n"), [
    "child.cast  missing",
    "tape.jsonl  missing",
    "meta.json   missing",
    "api         2 exchanges",
    "replays     as the API",
  ]);
  const further = formatInfo({ ...survey, parts: {} }, { first: "/a", number: 2 });
  assertEquals(further.split("\n").slice(3), [
    "api         that of /a",
    "part of     /a, Claude Code 2",
    "replays     as the API",
  ]);
});

const NAMES = ["one", "other"] as const;
const MODELS = [["a"], ["a"]] as const;

Deno.test("formatDifference() names the first difference of two conversations", () => {
  const said = formatDifference({
    common: { turns: 1, steps: 3 },
    turns: [2, 3],
    models: MODELS,
    parting: {
      turn: 2,
      one: { kind: "call", tool: "Bash", input: { command: "ls" } },
      other: { kind: "call", tool: "Bash", input: { command: "\x1b[2J" } },
      difference: { pointer: "/input/command", one: '"ls"', other: '"\x1b[2J"' },
    },
  }, NAMES);
  assertEquals(said.split("\n"), [
    "The conversations are the same for 1 turn and 3 steps, and part in turn 2, at a call of a tool (/input/command):",
    '  one: "ls"',
    '  other: "<U+001B>[2J"',
    "Turns in all: 2 and 3",
  ]);
});

Deno.test("a difference shows how each conversation continues", () => {
  const said = formatDifference({
    common: { turns: 0, steps: 1 },
    turns: [1, 1],
    models: [["a"], []],
    parting: { turn: 1, one: { kind: "answer", text: "x".repeat(1000) } },
  }, NAMES);
  assertEquals(said.split("\n"), [
    "The conversations are the same for 0 turns and 1 step, and part in turn 1:",
    `  one: an answer, {"text":"${"x".repeat(191)}…`,
    "  other: is over",
    "Turns in all: 1 and 1",
    "Their models, which do not count:",
    "  one: a",
    "  other: none",
  ]);
});

Deno.test("formatDifference() reports equal conversations", () => {
  const same = { common: { turns: 2, steps: 4 }, turns: [2, 2], models: MODELS } as const;
  assertEquals(
    formatDifference(same, NAMES),
    "Both conversations are the same, for 2 turns and 4 steps",
  );
});
