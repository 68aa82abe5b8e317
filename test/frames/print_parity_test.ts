import { assert, assertEquals } from "@std/assert";
import { costOfClaudeJson, costOfEntries } from "../../src/transcript/turn/cost.ts";
import { permissionDenialsOf } from "../../src/transcript/turn/permission_denials.ts";
import {
  listingOf,
  NO_NOTES,
  type SessionNotes,
  withNoted,
} from "../../src/transcript/session_listing.ts";
import { type Turn, turnsOf } from "../../src/transcript/turn/turn.ts";
import type { AnyFrame } from "../../src/wire/any_frame.ts";
import type { ResultFrame } from "../../src/wire/result_frame.ts";
import { framesOfEntry } from "../../src/frames/single/frames_of_entry.ts";
import { initFrame } from "../../src/frames/single/init_frame.ts";
import { exitCodeOf, type Outcome } from "../../src/wire/outcome.ts";
import { createOutputWriter } from "../../src/wire/output_writer.ts";
import { type ResultFacts, resultFrame } from "../../src/frames/result/result_frame.ts";
import { subagentStats } from "../../src/frames/result/subagent_stats.ts";
import { NO_TURNS, withTurns } from "../../src/frames/result/turn_totals.ts";
import { enqueuedNotification } from "../../src/transcript/task_notification.ts";
import {
  readRecording,
  readSubagent,
  type Recording,
  recordingNames,
} from "../transcript/recording.ts";
import { normalized } from "./normalized.ts";

/** What the hook answered in the recorded sessions. */

/** Frames that only the child's request loop or its scheduler could tell of. */
const UNSEEN =
  /^(rate_limit_event|system\/(thinking_tokens|api_retry|notification|task_.*|background_tasks_changed|init))$/;

/** Only the request loop knows these. */
const UNKNOWABLE = [
  "ttft_ms",
  "ttft_stream_ms",
  "time_to_request_ms",
  "first_content_frame_ms",
];

/** The TUI gives other advice than `claude -p` for the same error. */
const OTHER_WORDS = ["refusal"];

const SUBAGENTS = recordingNames().filter((path) => path.endsWith("/subagent"));
const INTERRUPTS = recordingNames().filter((path) => path.endsWith("/interrupt"));
/** Compared as they happen, in test/frames/background_frames_test.ts. */
const BACKGROUNDS = recordingNames().filter((path) => path.endsWith("/background"));
const SPECIAL = [...SUBAGENTS, ...INTERRUPTS, ...BACKGROUNDS];

for (const path of recordingNames().filter((path) => !SPECIAL.includes(path))) {
  const recording = readRecording(path);

  Deno.test(`framesOfEntry: gives the frames of claude -p (${path})`, () => {
    assertEquals(
      framesOf(recording).map((frame) => comparable(frame, recording)),
      printed(recording).map((frame) => comparable(frame, recording)),
    );
  });

  Deno.test(`resultFrame: gives the result of claude -p as stream-json (${path})`, () => {
    const ours = resultOf(recording, { sinceLast: {} });
    const theirs = recording.frames.findLast((frame) => frame.type === "result");
    assertEquals(comparableResult(ours, recording), comparableResult(theirs, recording));
    assertEquals(ours.claude_version, recording.version);
  });

  Deno.test(`resultFrame: gives the result of claude -p as json (${path})`, () => {
    const ours = resultOf(recording);
    const theirs = JSON.parse(recording.run.print.json);
    assertEquals(comparableResult(ours, recording), comparableResult(theirs, recording));
  });

  Deno.test(`createOutputWriter: prints the text of claude -p (${path})`, () => {
    let text = "";
    const writer = createOutputWriter("text", { verbose: false, write: (more) => text += more });
    writer.frame(resultOf(recording));
    writer.end();
    if (OTHER_WORDS.includes(recording.name)) assert(text.startsWith("API Error: "));
    else assertEquals(text, recording.run.print.text);
  });

  Deno.test(`exitCodeOf: is that of claude -p (${path})`, () => {
    const error = turnOf(recording).error !== undefined;
    assertEquals(exitCodeOf({ kind: "answered" }, error), recording.run.print.exitCode);
  });

  Deno.test(`initFrame: has the keys and known values of claude -p (${path})`, () => {
    const theirs = printedInit(recording);
    const ours = initOf(recording);
    const missing = ["messaging_socket_path"];
    assertEquals(
      Object.keys(ours).sort(),
      Object.keys(theirs).filter((key) => !missing.includes(key)).sort(),
    );
    const differing = Object.keys(ours).filter((key) =>
      JSON.stringify(normalized(ours[key], key)) !== JSON.stringify(normalized(theirs[key], key))
    );
    assertEquals(differing.sort(), [...unlikeInit(recording)].sort());
  });
}

for (const path of SUBAGENTS) {
  const recording = readRecording(path);

  Deno.test(`framesOfEntry: gives a subagent's frames with its context (${path})`, () => {
    const { entries, about } = readSubagent(path);
    const { toolUseId = "", agentId = "", agentType = "", description = "" } = about;
    const background = recording.frames.some(({ is_backgrounded }) => is_backgrounded === true);
    const ours = entries.flatMap((entry) =>
      framesOfEntry(entry, {
        ...contextOf(recording),
        subagent: { toolUseId, agentId, type: agentType, description, background },
      })
    );
    const theirs = recording.frames.filter((frame) => frame.parent_tool_use_id === toolUseId)
      .filter(isFrame);
    assert(theirs.length > 0);
    assertEquals(
      ours.map((frame) => comparable(frame, recording)),
      theirs.map((frame) => comparable(frame, recording)),
    );
  });

  Deno.test(`framesOfEntry: leaves a subagent's lines out without its context (${path})`, () => {
    const { entries } = readSubagent(path);
    assertEquals(entries.flatMap((entry) => framesOfEntry(entry, contextOf(recording))), []);
  });

  Deno.test(`resultFrame: gives every turn's result around a subagent (${path})`, () => {
    const turns = turnsOf(recording.entries);
    const theirs = recording.frames.filter((frame) => frame.type === "result");
    const ends = new Map(recording.entries.flatMap((entry) => {
      const notification = entry.type === "other" ? enqueuedNotification(entry.line) : undefined;
      return notification === undefined ? [] : [[notification.taskId, notification.status]];
    }));
    const ours = turns.map((turn, index) => {
      const soFar = withTurns(NO_TURNS, turns.slice(0, index + 1));
      const subagents = subagentStats(soFar.subagents, { ends });
      return resultFrame({ ...factsOf(recording), turn, index, subagents });
    });
    // claude -p prints both results at the end, with the counts of the end.
    const stats = (result: Readonly<Record<string, unknown>> | undefined) =>
      JSON.stringify(result?.subagent_stats);
    assertEquals(stats(ours.at(-1)), stats(theirs.at(-1)));
    const some = (result: Readonly<Record<string, unknown>>) => {
      const { num_turns, result: text, usage, total_cost_usd, result_index, origin } = result;
      return normalized({ num_turns, text, usage, total_cost_usd, result_index, origin });
    };
    assertEquals(ours.map(some), theirs.map(some));
  });
}

for (const path of INTERRUPTS) {
  const recording = readRecording(path);

  Deno.test(`framesOfEntry: gives the frames of an interrupted claude -p (${path})`, () => {
    assertEquals(
      framesOf(recording).map((frame) => comparable(frame, recording)),
      printed(recording).map((frame) => comparable(frame, recording)),
    );
  });

  Deno.test(`resultFrame: agrees with an interrupted claude -p but for the error (${path})`, () => {
    const { subtype, errors, result, ...ours } = resultFrame({
      ...factsOf(recording),
      outcome: { kind: "interrupted", signal: "SIGINT", message: "Interrupted by SIGINT" },
      ...countsOf(recording),
      sinceLast: {},
    });
    const { subtype: _, errors: __, ...theirs } = {
      ...recording.frames.findLast((frame) => frame.type === "result"),
    };
    assertEquals([subtype, errors], ["interrupted", ["Interrupted by SIGINT"]]);
    assertEquals(result, "Working.", "the text before the tool that was stopped");
    assertEquals(comparableResult(ours, recording), comparableResult(theirs, recording));
  });
}

function contextOf(recording: Recording) {
  return {
    version: recording.version,
    sessionId: "a session",
    newUuid: () => "new",
    toolUses: new Map(turnOf(recording).toolUses.map((use) => [use.id, use])),
  };
}

function framesOf(recording: Recording): readonly AnyFrame[] {
  return recording.entries.flatMap((entry) => framesOfEntry(entry, contextOf(recording)));
}

function turnOf(recording: Recording): Turn {
  const turn = turnsOf(recording.entries).at(-1);
  assert(turn !== undefined);
  return turn;
}

function factsOf(recording: Recording) {
  const turn = turnOf(recording);
  const outcome: Outcome = { kind: "answered" };
  const cost = costOfEntries(recording.entries) ??
    costOfClaudeJson(recording.run.claudeJson, turn.sessionId ?? "");
  return {
    version: recording.version,
    sessionId: "a session",
    uuid: "an id",
    outcome,
    cost,
    permissionDenials: permissionDenialsOf(turn),
    maxOutputTokens: notesOf(recording).maxOutputTokens,
  };
}

/** The last turn of a recording, and what is counted of all of them. */
function countsOf({ entries }: Recording) {
  const turns = turnsOf(entries);
  const { count, refusals, subagents } = withTurns(NO_TURNS, turns);
  return {
    turn: turns.at(-1),
    index: count - 1,
    safetyStops: refusals,
    subagents: subagentStats(subagents),
  };
}

function notesOf({ entries }: Recording): SessionNotes {
  return entries.reduce((notes, entry) => withNoted(notes, entry), NO_NOTES);
}

function resultOf(
  recording: Recording,
  options: Pick<ResultFacts, "sinceLast"> = {},
): ResultFrame {
  return resultFrame({ ...factsOf(recording), ...countsOf(recording), ...options });
}

function initOf(recording: Recording): AnyFrame {
  const listing = listingOf(notesOf(recording));
  const start = recording.run.hooks.find((hook) => hook.hook_event_name === "SessionStart");
  return initFrame({
    ...listing,
    version: recording.version,
    sessionId: "a session",
    uuid: "an id",
    cwd: recording.run.cwd,
    model: typeof start?.model === "string" ? start.model : undefined,
    memoryPath: "/sandbox/cfg/projects/-sandbox-work/memory/",
    analyticsDisabled: true,
    productFeedbackDisabled: true,
    servedByAnthropic: false,
  });
}

function printed(recording: Recording): readonly AnyFrame[] {
  return recording.frames.filter(isFrame).filter((frame) =>
    frame.type !== "result" &&
    !UNSEEN.test(frame.type === "system" ? `system/${frame.subtype}` : frame.type)
  );
}

function printedInit(recording: Recording): AnyFrame {
  const init = recording.frames.find((frame) => frame.subtype === "init");
  assert(init !== undefined && isFrame(init));
  return init;
}

function isFrame(value: Readonly<Record<string, unknown>>): value is AnyFrame {
  return typeof value.type === "string";
}

/** Where an `init` of ours says less or other than `claude -p`. */
function unlikeInit({ name }: Recording): readonly string[] {
  return [
    "agents",
    "plugins",
    "skills",
    "slash_commands",
    ...(name === "mcp" ? ["mcp_servers"] : []),
  ];
}

function comparable(frame: AnyFrame, recording: Recording): unknown {
  const { tool_use_meta: _, ...rest } = frame;
  const text = JSON.stringify(rest)
    .replaceAll(/"output_tokens":\d+/g, '"output_tokens":"<number>"');
  const value = JSON.parse(text);
  if (OTHER_WORDS.includes(recording.name) && value.error !== undefined) {
    value.message.content = "<other words>";
  }
  return normalized(value);
}

function comparableResult(result: unknown, recording: Recording): unknown {
  const value = Object.fromEntries(
    Object.entries(result ?? {}).filter(([key]) =>
      key !== "claude_version" && !UNKNOWABLE.includes(key)
    ),
  );
  if (OTHER_WORDS.includes(recording.name)) value.result = "<other words>";
  if (recording.name === "empty") value.usage = known(value.usage);
  return normalized(value);
}

/** An answer without blocks is nowhere in the transcript: only counts of tokens are known. */
function known(usage: unknown): unknown {
  assert(typeof usage === "object" && usage !== null);
  const unknown = ["cache_creation", "inference_geo"];
  return Object.fromEntries(Object.entries(usage).filter(([key]) => !unknown.includes(key)));
}
