import { userInfo } from "node:os";
import { z } from "zod/mini";
import { drawCassette } from "../../../src/recording/picture/draw_cassette.ts";
import { castInputs, readCassette, RECORDED_RUNS, type RecordedRun } from "./recorded_runs.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { foreignNames } from "../../../fixtures/foreign_names.ts";
import { CLAUDE_VERSIONS } from "../../../fixtures/programs/claude_binary.ts";
import { FIXTURE_DIALOGS } from "../../../fixtures/record/fixture_dialogs.ts";
import type { FixtureRun } from "../../../fixtures/record/fixture_run.ts";
import { FIXTURE_RUNS } from "../../../fixtures/record/fixture_runs.ts";
import { LARGEST_FIXTURE } from "../../../fixtures/record/write_fixture.ts";
import {
  type Cassette,
  type Cast,
  type CastEvent,
  framesOn,
} from "../../../src/recording/cassette/cassette_format.ts";
import {
  type CassetteReplay,
  compareFrames,
  replayCassette,
} from "../../../src/recording/cassette/replay_cassette.ts";
import type { ConversationEffect } from "../../../src/conversation/output/conversation.ts";
import { fold } from "../../../src/conversation/output/advance.ts";
import { effectsAtEnd } from "../../../src/conversation/output/end_conversation.ts";
import type { Input } from "../../../src/conversation/control/input.ts";
import { DIALOGS } from "../../../src/conversation/terminal/dialogs.ts";
import { trimEarlierEntry } from "../../../src/claude/transcript/kept_entry.ts";
import type { AnyFrame } from "../../../src/claude/wire/any_frame.ts";

/** The end of each run that gives no answer, and the subtype of its last result. */
const ENDS: Readonly<Record<string, readonly [ending: string, subtype: string]>> = {
  budget: ["budget", "error_max_budget_usd"],
  "dialog-configuration-error": ["dialog", "internal_error"],
  "dialog-first-start": ["dialog", "internal_error"],
  "dialog-mcp-server": ["dialog", "internal_error"],
  "dialog-mcp-servers": ["dialog", "internal_error"],
  "dialog-permission": ["idle", "assistant_error"],
  "dialog-permission-edit": ["idle", "assistant_error"],
  "dialog-plan-exit": ["idle", "assistant_error"],
  "dialog-question": ["idle", "assistant_error"],
  "dialog-questions": ["idle", "assistant_error"],
  "first-start-offline": ["exited", "internal_error"],
  interrupted: ["interrupted", "interrupted"],
  "max-turns": ["max-turns", "error_max_turns"],
  timeout: ["timeout", "timeout"],
};

/** An address of mail. */
const ADDRESS = /[\w.+-]+@[\w-]+\.[a-z]+/giu;

/** Dialogs that no recorded run shows. */
const UNMET = ["login", "model switch", "rate limit"];

/**
 * Runs whose output is replayed byte by byte. Others are replayed in pieces of 7 bytes, which takes a fifth of the
 * time.
 */
const BYTE_BY_BYTE = ["answer", "dialog-settings-warning", "shell-output"];

const RECORDED = { ...FIXTURE_RUNS, ...FIXTURE_DIALOGS };

/** The kinds of frames that the runs have together. */
const KINDS = [
  ...["assistant", "command_lifecycle", "control_request", "control_response", "rate_limit_event"],
  ...subtypesOf(
    "result",
    "assistant_error error_during_execution error_max_budget_usd error_max_turns internal_error " +
      "interrupted success timeout",
  ),
  "stream_event",
  ...subtypesOf(
    "system",
    "api_retry background_tasks_changed hook_response hook_started informational init " +
      "permission_denied shell_output_delta status task_notification task_progress task_started " +
      "task_updated thinking_tokens",
  ),
  "user",
];

function subtypesOf(type: string, subtypes: string): readonly string[] {
  return subtypes.split(" ").map((subtype) => `${type}/${subtype}`);
}

/** Most bytes of all recordings together. */
const LARGEST_IN_ALL = 6_000_000;
/** Most characters of a text in an input, except for prompts. Longer texts are Claude Code's own. */
const LONGEST = 600;

const exitCodeOf = ({ cast }: Cassette): unknown =>
  cast.events.filter(({ code }) => code === "d").map(({ data }) => JSON.parse(data))
    .findLast(({ type }) => type === "report")?.report.exitCode;

for (const { name, cassette } of RECORDED_RUNS) {
  Deno.test(`${name} replays without a difference, however its output is cut`, () => {
    const [, what = ""] = name.split("/");
    const run = RECORDED[what];
    assert(run !== undefined, `${what} is recorded by nobody`);
    const exitCode = run.code;
    const failed = ["failed", "success"] as const;
    const end = ENDS[what] ?? (exitCode === 0 ? ["answered", "success"] : failed);
    const { ending, result, differences } = replayCassette(cassette);
    assertEquals(
      [ending?.kind, result?.subtype, exitCodeOf(cassette), differences],
      [...end, exitCode, []],
    );
    // An earlier version's recording holds the same sequences.
    if (isNewest(name)) {
      const split = BYTE_BY_BYTE.includes(what) ? 1 : 7;
      assertEquals(replayCassette(cassette, { split }).differences, [], `pieces of ${split} bytes`);
    }
  });
}

Deno.test("all runs of each version are recorded", () => {
  const names = CLAUDE_VERSIONS.flatMap((version) =>
    Object.entries<Pick<FixtureRun, "versions">>(RECORDED)
      .filter(([, { versions }]) => versions?.includes(version) ?? true)
      .map(([name]) => `${version}/${name}`)
  );
  assertEquals(RECORDED_RUNS.map(({ name }) => name), names.toSorted());
  assertEquals([...firstOfEachKind().keys()].sort(), KINDS);
});

Deno.test("every dialog is in a recorded run", () => {
  const met = RECORDED_RUNS.filter(({ name }) => name.split("/")[1] as string in FIXTURE_DIALOGS)
    .flatMap(({ cassette }) => dialogsOf(cassette));
  const all = DIALOGS.map(({ name }) => name).filter((name) => !UNMET.includes(name));
  assertEquals([...new Set(met)].toSorted(), [...new Set(all)].toSorted());
});

Deno.test("recordings are small and name no machine, user or secret", () => {
  let all = 0;
  for (const { name, folder, cassette } of RECORDED_RUNS) {
    const text = filesBelow(folder).map((file) => Deno.readTextFileSync(file)).join("");
    const { length } = new TextEncoder().encode(text);
    assert(length <= LARGEST_FIXTURE, `${name} has ${length} bytes`);
    all += length;
    assertEquals(foreignNames(text), [], name);
    assertEquals(namesOfThisMachine(text), [], name);
    assertEquals(
      text.match(ADDRESS)?.filter((address) => address !== "user@example.com") ?? [],
      [],
    );
    assert(!text.includes("system-reminder"), name);
    for (const { code, data } of cassette.cast.events) {
      if (code !== "h") continue;
      for (const text of textsIn(JSON.parse(data))) {
        const isOurs = text.length <= LONGEST || /^Line 1\b.*\n|^\s*line 1\n/u.test(text);
        assert(isOurs, `${name} has a long text: ${text}`);
      }
    }
  }
  assert(all <= LARGEST_IN_ALL, `${all} bytes`);
});

for (const [kind, { run, index }] of firstOfEachKind()) {
  Deno.test(`a replay notices every changed field of ${kind}`, () => {
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

Deno.test("a replay makes frames anew from the cast", () => {
  const { cast, tape } = runOf("2.1.332/answer").cassette;
  const { claude_print: ours } = cast.header;
  const { conversation } = ours;
  const frames = { ...conversation.frames, cwd: "/elsewhere" };
  const header = {
    ...cast.header,
    claude_print: { ...ours, conversation: { ...conversation, frames } },
  };
  assertMatch(
    only(replayCassette({ cast: { ...cast, header }, tape })),
    / \(system\/init\): .* as cwd, /u,
  );
  const answer = '"text":"Hello there."';
  const events = cast.events.map((event) =>
    event.code === "h" ? { ...event, data: event.data.replace(answer, '"text":"Bye."') } : event
  );
  const { differences } = replayCassette({ cast: { ...cast, events }, tape });
  assertMatch(differences.join("\n"), / \(assistant\): .* as message\.content\.0\.text, /u);
});

Deno.test("a replay notices a missing and an additional frame", () => {
  // How frames are compared depends on neither version nor run.
  const byLast = new Map(
    RECORDED_RUNS.map((run) => [kindOf(framesOn(run.cassette.tape).at(-1)?.frame), run]),
  );
  for (const { name, cassette } of byLast.values()) {
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

Deno.test("a replay notices another exit code, message and suggestion", () => {
  const { cassette } = runOf("2.1.332/api-error");
  const { problem } = reportOf(cassette);
  assert(problem !== undefined);
  const code = only(replayCassette(withReport(cassette, { exitCode: 3 })));
  assertStringIncludes(code, "the recorded run reported exit code 3");
  assertStringIncludes(code, "and this one reports exit code 75");
  const message = only(
    replayCassette(withReport(cassette, { problem: { ...problem, message: "Alas" } })),
  );
  assertStringIncludes(message, 'exit code 75 and "Alas"');
  assertStringIncludes(message, `and this one reports exit code 75 and "${problem.message}"`);
  const suggestion = only(
    replayCassette(withReport(cassette, { problem: { ...problem, suggestion: "Pray" } })),
  );
  assertStringIncludes(suggestion, "with other details");
});

Deno.test("recalled entries suffice for a resumed session", () => {
  let resumed = 0;
  for (const { cassette: { cast } } of RECORDED_RUNS) {
    const inputs = castInputs(cast);
    const lean = inputs.map((input) =>
      input.type === "earlier"
        ? { ...input, entries: input.entries.flatMap((entry) => trimEarlierEntry(entry) ?? []) }
        : input
    );
    if (!inputs.some(({ type }) => type === "earlier")) continue;
    resumed++;
    assertEquals(effectsOf(cast, lean), effectsOf(cast, inputs));
  }
  assert(resumed > 1);
});

/** The header that docs.asciinema.org/manual/asciicast/v2 defines, with its optional fields. */
const header = z.strictObject({
  version: z.literal(2),
  width: z.int().check(z.positive()),
  height: z.int().check(z.positive()),
  timestamp: z.int().check(z.positive()),
  env: z.record(z.string(), z.string()),
  claude_print: z.looseObject({ conversation: z.looseObject({}) }),
});

/** Its events; a player ignores codes that it does not know. */
const event = z.tuple([z.number().check(z.nonnegative()), z.string(), z.string()]);

/** The valid data of an event, by its code. */
const DATA: Readonly<Record<string, RegExp>> = {
  o: /^[^]+$/u,
  i: /^[^]+$/u,
  r: /^[1-9]\d*x[1-9]\d*$/u,
  m: /^[^]*$/u,
  // Of version 3, which players of version 2 ignore.
  x: /^\d+$/u,
  // Our own.
  h: /^\{"type":.*\}$/u,
  d: /^\{"type":.*\}$/u,
};

Deno.test("every recording is an asciicast of version 2", () => {
  for (const { name, folder } of RECORDED_RUNS) {
    const text = Deno.readTextFileSync(`${folder}/child.cast`);
    assert(text.endsWith("\n"));
    const [first, ...rest] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
    header.parse(first);
    const events = rest.map((line) => event.parse(line));
    let before = 0;
    for (const [at, code, data] of events) {
      assert(at >= before, `${at} is earlier than ${before}`);
      before = at;
      const known = DATA[code];
      assert(known !== undefined, `${code} is no code of a cast`);
      assert(known.test(data), `${code} has the data ${data}`);
    }
    // A player ends with the only one.
    const shown = events.map(([, code]) => code).filter((code) => "oirmx".includes(code));
    assertEquals([shown.indexOf("x"), shown.at(-1)], [shown.length - 1, "x"], name);
  }
});

const CASSETTE = new URL("../../../fixtures/recordings/readme", import.meta.url).pathname;
const PICTURE = new URL("../../../.github/claude-print.svg", import.meta.url);

Deno.test("the README's cassette replays and draws its picture", async () => {
  const cassette = readCassette(CASSETTE);
  const { ending, result, differences } = replayCassette(cassette);
  assertEquals([ending?.kind, result?.subtype, differences], ["answered", "success", []]);
  const picture = await Deno.readTextFile(PICTURE);
  assert(await drawCassette(cassette) === picture, "Draw it anew: deno task picture");
  assert(picture.length < 200_000);
  for (const file of filesBelow(CASSETTE)) {
    assertEquals(foreignNames(Deno.readTextFileSync(file)), []);
  }
});

function effectsOf(cast: Cast, inputs: readonly Input[]): readonly ConversationEffect[] {
  const effects: ConversationEffect[] = [];
  fold(cast.header.claude_print.conversation, inputs, {
    onEffect: (effect) => {
      // The final output is computed on demand.
      if (effect.type === "whole") effects.push(...effectsAtEnd(effect));
      else effects.push(effect);
    },
  });
  return effects;
}

/** Whether no later version has recorded the same. */
function isNewest(name: string): boolean {
  const [, what] = name.split("/");
  return RECORDED_RUNS.findLast((run) => run.name.split("/")[1] === what)?.name === name;
}

/** The dialogs that a run has answered, or has ended for. */
function dialogsOf({ cast }: Cassette): readonly string[] {
  const met: string[] = [];
  fold(cast.header.claude_print.conversation, castInputs(cast), {
    onInput: () => {},
    onEffect: (effect) => {
      if (effect.type === "trace") met.push(...effect.text.match(/(?<=^dialog ")[^"]+/u) ?? []);
      if (effect.type === "end" && effect.ending.kind === "dialog") {
        met.push(effect.ending.name ?? "unknown");
      }
    },
  });
  return met;
}

function filesBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

/**
 * Finds names of this machine, which may have made the recordings: folders of its user, the user at any host, any
 * user at this host. The recorder itself looks for every word with these names.
 */
function namesOfThisMachine(text: string): readonly string[] {
  const { username, homedir } = userInfo();
  const names = [homedir, `/${username}/`, `${username}@`, `@${Deno.hostname()}`];
  return names.filter((name) => !NOBODYS.includes(name) && text.includes(name));
}

/** Names that the recording script chooses. */
const NOBODYS: readonly string[] = ["/home/user", "/user/", "user@"];

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
    return { ...event, data: JSON.stringify({ ...effect, report: { ...effect.report, ...part } }) };
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
