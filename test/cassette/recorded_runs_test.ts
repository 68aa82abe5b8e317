import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { foreignNames } from "../../fixtures/foreign_names.ts";
import {
  type Cassette,
  CAST_FILE,
  framesOn,
  META_FILE,
  TAPE_FILE,
} from "../../src/cassette/cassette.ts";
import type { CastEvent } from "../../src/cassette/cast.ts";
import { compareFrames } from "../../src/cassette/replay/compare_frames.ts";
import { type CassetteReplay, replayCassette } from "../../src/cassette/replay/replay_cassette.ts";
import type { AnyFrame } from "../../src/wire/frame.ts";
import { RECORDED_RUNS, type RecordedRun } from "./recorded_runs.ts";

/** How each of the runs ends: its ending, its last result, its exit code. */
const ENDS: Readonly<Record<string, readonly [string, string, number]>> = {
  answer: ["answered", "success", 0],
  "api-error": ["failed", "success", 75],
  background: ["answered", "success", 0],
  conversation: ["answered", "success", 0],
  "denied-tool": ["answered", "success", 0],
  followed: ["answered", "success", 0],
  "max-turns": ["max-turns", "error_max_turns", 1],
  resumed: ["answered", "success", 0],
  retry: ["answered", "success", 0],
  stopped: ["answered", "success", 0],
  subagent: ["answered", "success", 0],
  timeout: ["timeout", "timeout", 124],
  tools: ["answered", "success", 0],
};

/** The kinds of frame that the runs have between them. */
const KINDS = [
  "assistant",
  "control_response",
  "result/error_during_execution",
  "result/error_max_turns",
  "result/success",
  "result/timeout",
  "system/api_retry",
  "system/background_tasks_changed",
  "system/init",
  "system/permission_denied",
  "system/task_notification",
  "system/task_progress",
  "system/task_started",
  "system/task_updated",
  "user",
];

/** Largest cassette, and all of them together, in bytes. */
const LARGEST = 96_000;
const LARGEST_IN_ALL = 1_200_000;
/** Most characters of a text in an input: what is longer is Claude Code's own. */
const LONGEST = 400;

const exitCodeOf = ({ cast }: Cassette): unknown =>
  cast.events.filter(({ code }) => code === "d").map(({ data }) => JSON.parse(data))
    .findLast(({ type }) => type === "report")?.report.exitCode;

for (const { name, cassette } of RECORDED_RUNS) {
  Deno.test(`${name} replays without a difference, however its output is cut`, () => {
    const { ending, result, differences } = replayCassette(cassette);
    assertEquals(
      [ending?.kind, result?.subtype, exitCodeOf(cassette), differences],
      [...ENDS[name.replace(/.*\//u, "")] ?? [], []],
    );
    for (const split of [1, 3, 64, 1_000_000]) {
      assertEquals(replayCassette(cassette, { split }).differences, [], `pieces of ${split}`);
    }
  });
}

Deno.test("the recorded runs are those of two versions, with every kind of frame", () => {
  const names = ["2.1.197", "2.1.330"].flatMap((version) =>
    Object.keys(ENDS).map((run) => `${version}/${run}`)
  );
  assertEquals(RECORDED_RUNS.map(({ name }) => name), names);
  assertEquals([...firstOfEachKind().keys()].sort(), KINDS);
});

Deno.test("the recorded runs are small, and name no machine, no user and no secret", () => {
  let all = 0;
  for (const { name, folder, cassette } of RECORDED_RUNS) {
    const text = [CAST_FILE, META_FILE, TAPE_FILE].map((file) =>
      Deno.readTextFileSync(`${folder}/${file}`)
    )
      .join("");
    const { length } = new TextEncoder().encode(text);
    assert(length <= LARGEST, `${name} has ${length} bytes`);
    all += length;
    assertEquals(foreignNames(text), [], name);
    assert(!text.includes("system-reminder"), name);
    for (const { code, data } of cassette.cast.events) {
      if (code !== "h") continue;
      for (const text of textsIn(JSON.parse(data))) {
        assert(text.length <= LONGEST, `${name} has a long text: ${text}`);
      }
    }
  }
  assert(all <= LARGEST_IN_ALL, `${all} bytes`);
});

for (const [kind, { run, index }] of firstOfEachKind()) {
  Deno.test(`a replay notices any field of ${kind} that is other than it was`, () => {
    const { cassette } = run;
    const frames = framesOn(cassette.tape).map(({ frame }) => frame);
    const frame = frames[index] as AnyFrame;
    const places = placesIn(frame);
    assert(places.length > 3, `${kind} has ${places.length} fields`);
    for (const place of places) {
      const other = changed(frame, place);
      const [difference = "", ...more] = compareFrames(frames, frames.with(index, other));
      assertEquals(more, []);
      assertNames(difference, { frame, index, place });
    }
    const place = places.at(-1) ?? [];
    const other = framesOn(cassette.tape)
      .with(index, { at: 0, dir: "read", frame: changed(frame, place) });
    const difference = only(replayCassette({ cast: cassette.cast, tape: other }));
    assertNames(difference, { frame, index, place });
  });
}

Deno.test("a replay notices a frame that is missing, and one that was not there", () => {
  for (const { name, cassette } of RECORDED_RUNS) {
    const { cast } = cassette;
    const tape = framesOn(cassette.tape);
    const last = kindOf(tape.at(-1)?.frame);
    assertEquals(
      only(replayCassette({ cast, tape: tape.slice(0, -1) })),
      `This one prints frame ${tape.length} (${last}), the recorded run not`,
      name,
    );
    assertEquals(
      only(replayCassette({ cast, tape: [...tape, ...tape.slice(-1)] })),
      `The recorded run printed frame ${tape.length + 1} (${last}), this one not`,
      name,
    );
  }
});

Deno.test("a replay notices another exit code, another sentence on stderr and another key", () => {
  const { cassette } = runOf("2.1.330/api-error");
  const { problem } = reportOf(cassette);
  assert(problem !== undefined);
  const code = only(replayCassette(withReport(cassette, { exitCode: 3 })));
  assertStringIncludes(code, "the recorded run told exit code 3");
  assertStringIncludes(code, "and this one tells exit code 75");
  const message = only(
    replayCassette(withReport(cassette, { problem: { ...problem, message: "Alas" } })),
  );
  assertStringIncludes(message, 'exit code 75 and "Alas"');
  assertStringIncludes(message, `and this one tells exit code 75 and "${problem.message}"`);
  const suggestion = only(
    replayCassette(withReport(cassette, { problem: { ...problem, suggestion: "Pray" } })),
  );
  assertStringIncludes(suggestion, "with other details");
});

/** Where a kind of frame is first found. */
interface Found {
  readonly run: RecordedRun;
  readonly index: number;
}

/** One frame of each kind, of the newest version where it has that. */
function firstOfEachKind(): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>();
  for (const run of RECORDED_RUNS.toReversed()) {
    for (const [index, { frame }] of framesOn(run.cassette.tape).entries()) {
      const kind = kindOf(frame);
      if (!found.has(kind)) found.set(kind, { run, index });
    }
  }
  return found;
}

function runOf(name: string): RecordedRun {
  const run = RECORDED_RUNS.find((run) => run.name === name);
  assert(run !== undefined);
  return run;
}

function kindOf(frame: AnyFrame | undefined): string {
  return frame?.subtype === undefined ? `${frame?.type}` : `${frame.type}/${frame.subtype}`;
}

type Place = readonly string[];

/** The places of all values in a frame that are no lists or objects, and of those lists and objects that are empty. */
function placesIn(value: unknown, place: Place = []): readonly Place[] {
  const isTree = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  return isTree
    ? Object.entries(value).flatMap(([key, item]) => placesIn(item, [...place, key]))
    : [place];
}

/** A frame with another value at a place. */
function changed(frame: AnyFrame, place: Place): AnyFrame {
  const copy = structuredClone(frame);
  let tree = copy as Record<string, unknown>;
  for (const key of place.slice(0, -1)) tree = tree[key] as Record<string, unknown>;
  tree[place.at(-1) ?? ""] = "something else";
  return copy;
}

/** Requires a sentence to name a frame and a place in it. */
function assertNames(
  difference: string,
  { frame, index, place }: {
    readonly frame: AnyFrame;
    readonly index: number;
    readonly place: Place;
  },
): void {
  assert(difference.startsWith(`Frame ${index + 1} (${kindOf(frame)}): `), difference);
  assertStringIncludes(difference, ` as ${place.join(".")}, `);
}

interface ReportPart {
  readonly exitCode?: number;
  readonly problem?: { readonly message: string; readonly suggestion?: string };
}

function reportOf({ cast }: Cassette): ReportPart {
  const event = cast.events.find(isReport);
  assert(event !== undefined);
  return JSON.parse(event.data).report;
}

function withReport({ cast, tape }: Cassette, part: ReportPart): Cassette {
  const events = cast.events.map((event) => {
    if (!isReport(event)) return event;
    const effect = JSON.parse(event.data);
    return {
      ...event,
      data: JSON.stringify({ ...effect, report: { ...effect.report, ...part } }),
    };
  });
  return { cast: { ...cast, events }, tape };
}

function isReport({ code, data }: CastEvent): boolean {
  return code === "d" && JSON.parse(data).type === "report";
}

/** The one difference of a replay. */
function only({ differences }: CassetteReplay): string {
  assertEquals(differences.length, 1, differences.join("\n"));
  return differences[0] ?? "";
}

/** All texts in a JSON value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
