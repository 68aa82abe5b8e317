import { assert, assertEquals } from "@std/assert";
import {
  buildResult,
  type ResultFacts,
} from "../../../src/conversation/output/result/build_result.ts";
import {
  NO_TURNS,
  subagentStats,
  withTurns,
} from "../../../src/conversation/output/result/turn_totals.ts";
import { framesOfEntry } from "../../../src/conversation/output/frames/frames_of_entry.ts";
import { initFrame } from "../../../src/conversation/output/frames/init_frame.ts";
import {
  addToNotes,
  buildListing,
  NO_NOTES,
} from "../../../src/claude/transcript/session_listing.ts";
import { readQueuedNotification } from "../../../src/claude/transcript/task_notification.ts";
import { readCostOfClaudeJson, readCostOfEntries } from "../../../src/claude/transcript/cost.ts";
import { collectPermissionDenials } from "../../../src/claude/transcript/permission_denials.ts";
import { splitTurns, type Turn } from "../../../src/claude/transcript/turn.ts";
import type { AnyFrame } from "../../../src/claude/wire/any_frame.ts";
import { exitCodeOf } from "../../../src/claude/wire/outcome.ts";
import { OWN_FIELDS, type ResultFrame } from "../../../src/claude/wire/result_frame.ts";
import { createOutputWriter } from "../../../src/claude/wire/output_writer.ts";
import {
  readRecording,
  readSubagent,
  type Recording,
  recordingNames,
} from "../../claude/transcript/recording.ts";
import type { Line } from "./lines.ts";
import { kinds } from "./outlines.ts";
import { normalized } from "./normalized.ts";
import { FramesRun } from "./runs.ts";

/** Frames that only the child's request loop or its scheduler could tell of. */
const UNSEEN =
  /^(rate_limit_event|system\/(thinking_tokens|api_retry|notification|task_.*|background_tasks_changed|init))$/;

/** Fields that only the request loop knows. */
const UNKNOWABLE = [
  ...OWN_FIELDS,
  "ttft_ms",
  "ttft_stream_ms",
  "time_to_request_ms",
  "first_content_frame_ms",
];

/** The TUI gives other advice than `claude -p` for the same error. */
const OTHER_WORDS = ["refusal"];

/** Where an `init` of ours says less or other than `claude -p`, and what of it no transcript knows. */
const UNLIKE_INIT = ["agents", "plugins", "skills", "slash_commands"];
const MISSING_INIT = "messaging_socket_path";

const named = (name: string) => recordingNames().filter((path) => path.endsWith(`/${name}`));
const [SUBAGENTS, INTERRUPTS, BACKGROUNDS] = ["subagent", "interrupt", "background"].map(named);
const SPECIAL = [SUBAGENTS, INTERRUPTS, BACKGROUNDS].flatMap((paths) => paths ?? []);

for (const path of recordingNames().filter((path) => !SPECIAL.includes(path))) {
  Deno.test(`${path} prints as claude -p does`, () => {
    const recording = readRecording(path);
    const { run: { print, cwd, hooks }, name, version } = recording;
    assertSameFrames(recording);
    const streamed = resultOf(recording, { sinceLast: {} });
    assertSameResult(streamed, lastResult(recording), recording);
    assertEquals(streamed.claude_version, version);
    const result = resultOf(recording);
    assertSameResult(result, JSON.parse(print.json), recording);
    let text = "";
    const writer = createOutputWriter("text", { verbose: false, write: (more) => text += more });
    writer.frame(result);
    writer.end();
    if (OTHER_WORDS.includes(name)) assert(text.startsWith("API Error: "));
    else assertEquals(text, print.text);
    const isError = turnOf(recording).error !== undefined;
    assertEquals(exitCodeOf({ kind: "answered" }, isError), print.exitCode);
    const theirs = recording.frames.find((frame) => frame.subtype === "init") ?? {};
    const start = hooks.find((hook) => hook.hook_event_name === "SessionStart");
    const init: Line = initFrame({
      ...buildListing(notesOf(recording)),
      ...{ version, sessionId: "a session", uuid: "an id", cwd },
      model: typeof start?.model === "string" ? start.model : undefined,
      memoryPath: "/sandbox/cfg/projects/-sandbox-work/memory/",
      ...{ analyticsDisabled: true, productFeedbackDisabled: true, servedByAnthropic: false },
    });
    const keys = Object.keys(init).sort();
    assertEquals(keys, Object.keys(theirs).filter((key) => key !== MISSING_INIT).sort());
    const differing = keys.filter((key) =>
      JSON.stringify(normalized(init[key], key)) !== JSON.stringify(normalized(theirs[key], key))
    );
    assertEquals(differing, [...UNLIKE_INIT, ...name === "mcp" ? ["mcp_servers"] : []].sort());
  });
}

for (const path of SUBAGENTS ?? []) {
  Deno.test(`${path} prints as claude -p does`, () => {
    const recording = readRecording(path);
    const { entries, about } = readSubagent(path);
    const { toolUseId = "", agentId = "", agentType = "", description = "" } = about;
    const background = recording.frames.some(({ is_backgrounded }) => is_backgrounded === true);
    const subagent = { toolUseId, agentId, type: agentType, description, background };
    const context = contextOf(recording);
    const ours = entries.flatMap((entry) => framesOfEntry(entry, { ...context, subagent }));
    const theirs = recording.frames.filter(isFrame)
      .filter((frame) => frame.parent_tool_use_id === toolUseId);
    assert(theirs.length > 0);
    const comparable = (frame: AnyFrame) => comparableFrame(frame, recording);
    assertEquals(ours.map(comparable), theirs.map(comparable));
    assertEquals(entries.flatMap((entry) => framesOfEntry(entry, context)), [], "no context");

    const turns = splitTurns(recording.entries);
    const ends = new Map(recording.entries.flatMap((entry) => {
      const notification = entry.type === "other" ? readQueuedNotification(entry.line) : undefined;
      return notification === undefined ? [] : [[notification.taskId, notification.status]];
    }));
    const results = turns.map((turn, index) => {
      const { subagents } = withTurns(NO_TURNS, turns.slice(0, index + 1));
      const facts = { ...factsOf(recording), turn, index };
      return buildResult({ ...facts, subagents: subagentStats(subagents, { ends }) });
    });
    const printed = recording.frames.filter((frame) => frame.type === "result");
    // claude -p prints both results at the end, with the counts of the end.
    const stats = ({ subagent_stats }: Line = {}) => JSON.stringify(subagent_stats);
    assertEquals(stats(results.at(-1)), stats(printed.at(-1)));
    const some = (frame: Line) => {
      const { num_turns, result, usage, total_cost_usd, result_index, origin } = frame;
      return normalized({ num_turns, result, usage, total_cost_usd, result_index, origin });
    };
    assertEquals(results.map(some), printed.map(some));
  });
}

for (const path of INTERRUPTS ?? []) {
  Deno.test(`${path} prints as claude -p does, but for the error`, () => {
    const recording = readRecording(path);
    assertSameFrames(recording);
    const { subtype, errors, result, ...ours } = resultOf(recording, {
      outcome: { kind: "interrupted", signal: "SIGINT", message: "Interrupted by SIGINT" },
      sinceLast: {},
    });
    const { subtype: _, errors: __, ...theirs } = { ...lastResult(recording) };
    assertEquals([subtype, errors], ["interrupted", ["Interrupted by SIGINT"]]);
    assertEquals(result, "Working.", "the text before the tool that was stopped");
    assertSameResult(ours, theirs, recording);
  });
}

const lastResult = ({ frames }: Recording) => frames.findLast(({ type }) => type === "result");

function contextOf(recording: Recording) {
  return {
    ...{ version: recording.version, sessionId: "a session", newUuid: () => "new" },
    toolUses: new Map(turnOf(recording).toolUses.map((use) => [use.id, use])),
  };
}

function turnOf({ entries }: Recording): Turn {
  const turn = splitTurns(entries).at(-1);
  assert(turn !== undefined);
  return turn;
}

const notesOf = ({ entries }: Recording) =>
  entries.reduce((notes, entry) => addToNotes(notes, entry), NO_NOTES);

function factsOf(recording: Recording) {
  const { version, entries, run } = recording;
  const turn = turnOf(recording);
  return {
    ...{ version, sessionId: "a session", uuid: "an id" },
    outcome: { kind: "answered" },
    cost: readCostOfEntries(entries) ?? readCostOfClaudeJson(run.claudeJson, turn.sessionId ?? ""),
    permissionDenials: collectPermissionDenials(turn),
    maxOutputTokens: notesOf(recording).maxOutputTokens,
  } as const;
}

/** The result of the last turn, which counts all of them. */
function resultOf(recording: Recording, more: Partial<ResultFacts> = {}): ResultFrame {
  const turns = splitTurns(recording.entries);
  const { count, refusals, subagents } = withTurns(NO_TURNS, turns);
  return buildResult({
    ...factsOf(recording),
    ...{ turn: turns.at(-1), index: count - 1, safetyStops: refusals },
    subagents: subagentStats(subagents),
    ...more,
  });
}

const isFrame = (value: Line): value is AnyFrame => typeof value["type"] === "string";

function assertSameFrames(recording: Recording): void {
  const context = contextOf(recording);
  const ours = recording.entries.flatMap((entry) => framesOfEntry(entry, context));
  const theirs = recording.frames.filter(isFrame).filter(({ type, subtype }) =>
    type !== "result" && !UNSEEN.test(type === "system" ? `system/${subtype}` : type)
  );
  const comparable = (frame: AnyFrame) => comparableFrame(frame, recording);
  assertEquals(ours.map(comparable), theirs.map(comparable));
}

function comparableFrame({ tool_use_meta: _, ...frame }: AnyFrame, { name }: Recording): unknown {
  const text = JSON.stringify(frame)
    .replaceAll(/"output_tokens":\d+/g, '"output_tokens":"<number>"');
  const value = JSON.parse(text);
  if (OTHER_WORDS.includes(name) && value.error !== undefined) {
    value.message.content = "<other words>";
  }
  return normalized(value);
}

function assertSameResult(ours: unknown, theirs: unknown, { name }: Recording): void {
  const [one, other] = [ours, theirs].map((result) => {
    const fields = Object.entries(result ?? {}).filter(([key]) => !UNKNOWABLE.includes(key));
    const value = Object.fromEntries(fields);
    if (OTHER_WORDS.includes(name)) value.result = "<other words>";
    // An answer without blocks is nowhere in the transcript: only counts of tokens are known.
    if (name === "empty") {
      const { cache_creation: _, inference_geo: __, ...known } = value.usage;
      value.usage = known;
    }
    return normalized(value);
  });
  assertEquals(one, other);
}

/** What is known of Stop hooks and costs while a recorded transcript is read. */
interface Reading {
  /** Whether all Stop hooks are heard before the first turn is over. */
  readonly early?: boolean;
  /** Whether the end of a turn is read together with all that follows it, up to the end of the next one. */
  readonly atOnce?: boolean;
  /** What the status line says it has cost, before each Stop hook and after the last one. */
  readonly prices?: readonly number[];
}

/** Reads a recorded transcript line by line. */
function read(recording: Recording, { early, atOnce, prices = [] }: Reading = {}): FramesRun {
  const run = new FramesRun({ cwd: recording.run.cwd, servedByAnthropic: false });
  const stops = recording.run.hooks.filter((hook) => hook.hook_event_name === "Stop");
  const lines = new TextDecoder().decode(recording.transcript).trimEnd().split("\n");
  const isSummary = (line: string) => line.includes('"stop_hook_summary"');
  const ends = lines.filter(isSummary).map((line) => Date.parse(JSON.parse(line).timestamp));
  const costs = [...prices];
  let ranAt = 0;
  const price = () => {
    const totalUsd = costs.shift();
    if (totalUsd === undefined) return;
    run.give({ type: "cost", totalUsd, apiDurationMs: 5, ranAt });
  };
  price();
  const pending: string[] = [];
  for (const line of lines) {
    if (isSummary(line)) {
      run.push(...pending.splice(0));
      for (const stop of stops.splice(0, early ? stops.length : 1)) {
        ranAt = ends.shift() ?? 0;
        run.give({ type: "hook", event: "Stop", payload: { ...stop }, ranAt });
      }
    }
    const isEnd = line.includes('"turn_duration"');
    if (atOnce && (isEnd || pending.length > 0)) pending.push(line);
    else run.push(line);
    if (isEnd) price();
  }
  run.push(...pending);
  return run;
}

/** Fields that only the child's scheduler knows, or that no two runs share. */
const UNLIKE = ["run_id", "task_id", "tool_use_id", "output_file", "uuid", "session_id"];

/** What a frame around a background task says, without what cannot agree. */
function outline(frame: AnyFrame): unknown {
  if (frame.type !== "system" || frame.subtype === "init") {
    const { num_turns, result, result_index, origin, subtype, message } = frame;
    const kind = (origin as { readonly kind?: unknown } | undefined)?.kind;
    const { content } = (message ?? {}) as { readonly content?: readonly Line[] };
    const blocks = content?.map(({ type }) => type);
    return { type: frame.type, subtype, num_turns, result, result_index, kind, blocks };
  }
  return JSON.parse(JSON.stringify(frame, (key, value) => {
    if (UNLIKE.includes(key)) return undefined;
    return key === "end_time" ? typeof value : value;
  }));
}

const BACKGROUND = readRecording("2.1.330/background");
/** What `claude -p` printed, without the result of the run. */
const PRINTED = BACKGROUND.frames.filter(isFrame)
  .filter(({ type }) => type !== "rate_limit_event").slice(0, -1);

Deno.test("frames around a background shell are those of claude -p", () => {
  const run = read(BACKGROUND);
  const frames = run.take();
  assertEquals(frames.map(outline), PRINTED.map(outline));
  assertEquals(run.state.results, 1);
  const ids = frames.filter(({ subtype }) => `${subtype}`.startsWith("task_"))
    .map(({ task_id }) => task_id);
  assertEquals([ids.length > 2, new Set(ids).size], [true, 1]);
  // The child tells at its end what this has cost.
  const [result = {}] = frames.filter((frame) => frame.type === "result") as readonly Line[];
  const [theirs = {}] = PRINTED.filter((frame) => frame.type === "result") as readonly Line[];
  const counts = ({ usage }: Line) => Object.keys(usage ?? {}).sort();
  assertEquals(counts(result), counts(theirs));
  assertEquals([result["modelUsage"], result["duration_api_ms"], result["total_cost_usd"]], [
    ...[{}, 0, undefined],
  ]);
});

/** The costs of the results since the last time. */
const costs = (frames: readonly AnyFrame[]) =>
  frames.flatMap((frame) => {
    if (frame.type !== "result") return [];
    const { total_cost_usd, modelUsage } = frame as ResultFrame;
    return [[total_cost_usd, ...Object.values(modelUsage ?? {}).map(({ costUSD }) => costUSD)]];
  });

Deno.test("an early result keeps its place and its price", () => {
  const rows = [
    [{ early: true }, [[undefined]]],
    [{ prices: [0, 0.25] }, [[0.25, 0.25]]],
    // The next frame is printed after the result, which has the cost so far.
    [{ prices: [0] }, [[0]]],
    [{ prices: [0], atOnce: true }, [[0]]],
  ] as const;
  for (const [reading, expected] of rows) {
    const frames = read(BACKGROUND, reading).take();
    assertEquals(frames.map(outline), PRINTED.map(outline));
    assertEquals<unknown>(costs(frames), expected);
  }
});

Deno.test("an early result waits a second for its price", () => {
  const { transcript } = BACKGROUND;
  const lines = new TextDecoder().decode(transcript).split("\n");
  const end = lines.findIndex((line) => line.includes('"turn_duration"'));
  const text = lines.slice(0, end + 1).join("\n");
  const run = read({ ...BACKGROUND, transcript: new TextEncoder().encode(text) }, { prices: [0] });
  assertEquals([costs(run.take()), run.due("priced")], [[], 1000]);
  run.pass("priced");
  assertEquals(costs(run.take()), [[0]]);
});

Deno.test("results wait as long as a subagent runs", () => {
  const run = read(readRecording("2.1.330/subagent"));
  // The recording holds no lines of the subagent.
  run.pass("subagent");
  assertEquals(run.state.results, 0);
  assertEquals(
    kinds(run.take()),
    "init assistant background_tasks_changed task_started user assistant " +
      "task_updated task_notification background_tasks_changed init assistant",
  );
});
