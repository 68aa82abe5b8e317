import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { Cast, CastEvent } from "../../../../src/recording/cassette/cassette_format.ts";
import type { OutputOptions } from "../../../../src/conversation/output/output_options.ts";
import { forEachObject } from "../../../../src/claude/versions/profile_index.ts";
import {
  NO_SUBAGENTS,
  subagentStats,
} from "../../../../src/conversation/output/result/turn_totals.ts";
import type { ReportOptions } from "../../../../src/conversation/output/result/verdict.ts";
import type { CallerOptions } from "../../../../src/conversation/protocol/caller_options.ts";
import type {
  Limits,
  SessionOptions,
} from "../../../../src/conversation/control/session_options.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { encodeCast } from "../../../../fixtures/encode_whole.ts";
import { parseCast } from "../../../../src/recording/cassette/read/read_cast.ts";
import { castInputs } from "../recorded_runs.ts";
import type { Input } from "../../../../src/conversation/control/input.ts";
import type {
  AskedCommand,
  CarriedOut,
  Message,
  NotedChanges,
  Prompt,
  SettledMessage,
} from "../../../../src/conversation/control/message.ts";
import { recordSession } from "../record_session.ts";

const { header } = recordSession([{ at: 0, type: "spawned" }]).cast;
const parse = (text: string) => parseCast(text, { path: "run/child.cast" });

/** The error for a cast with this second line. */
function complaint(line: string, { first = JSON.stringify(header) } = {}): string {
  const error = assertThrows(() => parse(`${first}\n${line}\n`), CliError);
  assertEquals(
    error.suggestion,
    "Record the run again with --record, or restore the file from a copy",
  );
  assertEquals(error.exitCode, 2);
  return error.message;
}

Deno.test("a cast survives writing and reading", () => {
  const text = fc.string({ unit: "grapheme" });
  const event = fc.record({
    step: fc.nat({ max: 10_000_000_000 }),
    event: fc.oneof(
      fc.record({ code: fc.constantFrom("o" as const, "i" as const, "m" as const), data: text }),
      fc.record({ code: fc.constant("r" as const), data: fc.constantFrom("80x24", "1x1") }),
      fc.record({
        code: fc.constant("h" as const),
        data: text.map((status) => JSON.stringify({ type: "status", status })),
      }),
      fc.record({ code: fc.constant("d" as const), data: fc.constant('{"type":"look"}') }),
    ),
  });
  fc.assert(fc.property(fc.array(event), (steps) => {
    let micros = 0;
    const events = steps.map(({ step, event }): CastEvent => {
      micros += step;
      return { at: micros / 1000, ...event };
    });
    const cast: Cast = { header, events };
    assertEquals(parse(encodeCast(cast)), cast);
  }));
});

/** The options of a conversation with every field. */
const LIMITS: Required<Limits> = {
  timeoutMs: 1,
  startTimeoutMs: 2,
  deliveryTimeoutMs: 3,
  idleTimeoutMs: 4,
  drainTimeoutMs: 5,
  exitTimeoutMs: 6,
};
const CALLER: Required<CallerOptions> = {
  idPrefix: "a",
  permissions: true,
  isAbsent: true,
  promptTool: { name: "mcp__s__t", server: "s", tool: "t", ownServer: "o" },
  mayBypass: true,
  permissionMode: "plan",
  watchesModels: true,
  servers: ["calc"],
  setServers: { calc: { type: "sdk" } },
  switched: { calc: false },
  callbacks: [{ event: "Stop", matcher: "x", id: "1", timeoutS: 3 }],
  initialized: { id: "i", error: "no" },
};
const SESSION: Required<SessionOptions> = {
  imagesDir: "/run/images",
  ...LIMITS,
  conversation: true,
  version: "2.1.330",
  size: { rows: 24, cols: 80 },
  backgroundCeilingMs: 7,
  maxTurns: 8,
  requestsMade: 1,
  loose: true,
  skills: ["a"],
  maxBudgetUsd: 9,
  paidUsd: 10,
  hookless: true,
  output: { schema: { type: "object" }, maxTries: 3 },
  mcpServers: 2,
  awaited: ["calc"],
  bridged: ["calc"],
  asksStatus: true,
  unattended: true,
  caller: CALLER,
  hasOnStdin: true,
  readsNoMentions: true,
  needsTrust: true,
  wakeless: true,
  otherStopHooks: true,
  keptAtEnd: true,
};
const FRAMES: Required<OutputOptions> = {
  home: "/home/me",
  conversation: true,
  version: "2.1.330",
  learnt: {
    "99.0.0": {
      capabilities: "taskOutput",
      keys: { ...forEachObject(() => ""), init: "a b" },
      constants: { init: { a: [1] }, result: {} },
    },
  },
  sessionId: "s",
  cwd: "/p",
  permissionMode: "plan",
  apiKeySource: "none",
  outputStyle: "x",
  memoryPath: "/m",
  servedByAnthropic: true,
  limitsOutput: true,
  denialsUntold: true,
  seed: "seed",
  startedAt: 11,
  servers: [{ name: "calc", source: "user", disabled: false, unreached: true }],
  faultyServers: [{ name: "amiss", type: "unknown_type", message: "no" }],
  activity: true,
  betas: ["context-1m-2025-08-07"],
  before: {
    safetyStops: 2,
    results: 1,
    totalUsd: 2,
    apiDurationMs: 3,
    lines: { added: 4, removed: 5 },
    startedAt: 6,
    modelUsage: { "claude-opus-5-5": { inputTokens: 3, costUSD: 0.1 } },
    subagents: { ...subagentStats(NO_SUBAGENTS), by_type: { looker: 4 } },
    described: { model: "m" },
    commands: [{ name: "c" }],
  },
  replay: true,
  mirrorPath: "/t.jsonl",
  callHooks: true,
  subagentsUnread: true,
  subagentText: true,
  homes: { child: "/c", user: "/u" },
  fastMode: "on",
  title: "Mine",
  sandboxed: true,
  hookEvents: true,
  model: "m",
  partial: "exact",
  heard: true,
  shellOutput: "split",
  output: "initialized",
};
const REPORT: Required<ReportOptions> = {
  limits: LIMITS,
  binary: "/claude",
  credential: "ANTHROPIC_API_KEY",
  maxTurns: 8,
  maxBudgetUsd: 9,
  outputTries: 3,
  keptAsleep: true,
  record: "/r",
};

Deno.test("a cast keeps every option of a run", () => {
  const conversation = { session: SESSION, frames: FRAMES, report: REPORT };
  const output = { format: "json", verbose: true } as const;
  const full = { ...header, claude_print: { version: "1", conversation, output } };
  const cast: Cast = { header: full, events: [] };
  assertEquals(parse(encodeCast(cast)), cast);
});

const FIELDS: Required<Omit<SettledMessage, "way" | "settled">> = {
  text: "Hi",
  uuid: "u",
  ticket: "1",
  repeated: "before",
  namesake: true,
  timeLeftMs: 1,
  priority: "later",
  human: true,
  synthetic: true,
  stopped: true,
  unread: true,
  content: [{ type: "text", text: "Hi" }],
  hasContext: true,
};
const PROMPT: Required<Prompt> = {
  ...FIELDS,
  way: "rendezvous",
  command: "/init",
  altered: "a tab",
  images: true,
};
const CHANGES: Required<NotedChanges> = {
  model: "opus",
  chosenModel: "claude-opus",
  effort: null,
  flagSettings: { a: 1 },
};
const CARRIED: Required<CarriedOut> = {
  name: "model",
  words: "Set",
  fields: { local_command_run: 1 },
  begun: "s",
  title: "Mine",
  commands: [{ name: "c" }],
  changes: CHANGES,
};
const ASKED: Required<AskedCommand> = {
  kind: "asked",
  version: "2.1.330",
  clears: true,
  notes: true,
  alone: true,
  unavailable: true,
};

const MESSAGES: readonly Message[] = [
  PROMPT,
  ...([
    { kind: "local", text: "Done", version: "2.1.330", blank: true, carried: CARRIED },
    ASKED,
    { kind: "refused", message: "No", suggestion: "Ask", malformed: true },
    { kind: "unaffordable" },
  ] as const).map((settled) => ({ ...FIELDS, settled })),
];

/** The fields of a message that hold any JSON value. */
const ANY_VALUE = ["content", "fields", "commands", "flagSettings"];

/** A value with another one in the place of each leaf in turn. */
function spoiled(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [{ spoiled: true }];
  return Object.entries(value).filter(([key]) => !ANY_VALUE.includes(key))
    .flatMap(([key, item]) => spoiled(item).map((other) => ({ ...value, [key]: other })));
}

Deno.test("a cast keeps message fields and refuses impossible values", () => {
  const event = (message: unknown): CastEvent => (
    { at: 0, code: "h", data: JSON.stringify({ type: "message", message }) }
  );
  const inputs = MESSAGES.map((message): Input => ({ at: 0, type: "message", message }));
  assertEquals(castInputs(parse(encodeCast({ header, events: MESSAGES.map(event) }))), inputs);
  const broken = MESSAGES.flatMap(spoiled);
  assert(broken.length > 80);
  for (const message of broken) {
    const { at, code, data } = event(message);
    assertStringIncludes(
      complaint(JSON.stringify([at, code, data])),
      "it is no input of a session",
    );
  }
});

Deno.test("summaries of lines in the first casts become lines", () => {
  const rows: readonly (readonly [object, object])[] = [
    [{ prompt: true }, { type: "user", meaning: "prompt", message: { content: [] } }],
    [{ prompt: false, end: "interrupted" }, {
      type: "user",
      meaning: "interrupt",
      message: { content: [] },
    }],
    [{ prompt: false, returned: ["t"] }, {
      type: "user",
      meaning: "tool-result",
      message: { content: [{ type: "tool_result", tool_use_id: "t" }] },
    }],
    [{ type: "assistant", prompt: false, text: "Hi", called: ["t"], shellLimitMs: 5 }, {
      type: "assistant",
      message: {
        id: "",
        model: "",
        content: [
          { type: "text", text: "Hi" },
          { type: "tool_use", id: "t", name: "", input: { run_in_background: true, timeout: 5 } },
        ],
      },
    }],
    [{ type: "system", prompt: false, subtype: "x", version: "2.1.330" }, {
      type: "system",
      subtype: "x",
      version: "2.1.330",
    }],
    [{ type: "future", prompt: false }, { type: "other", line: { type: "future" } }],
  ];
  for (const [summary, entry] of rows) {
    const recorded = { type: "transcript", entry: { type: "user", ...summary } };
    const cast: Cast = { header, events: [{ at: 0, code: "h", data: JSON.stringify(recorded) }] };
    const inputs: readonly unknown[] = castInputs(parse(encodeCast(cast)));
    assertEquals(inputs, [{ at: 0, type: "transcript", entry }]);
  }
});

Deno.test("a cast keeps lines and notes of subagents", () => {
  const inputs: readonly Input[] = [
    { at: 0, type: "spawned" },
    { at: 1, type: "subagent-note", agentId: "a", note: { agentType: "x", finished: true } },
    {
      at: 2,
      type: "subagent",
      line: {
        subagent: { agentId: "a", type: "x", description: "" },
        entry: { type: "other", line: { type: "future" } },
      },
    },
  ];
  const { cast } = recordSession(inputs);
  const played = castInputs(parse(encodeCast(cast)));
  assertEquals(played.slice(-inputs.length), inputs);
});

Deno.test("times are seconds, kept to the microsecond", () => {
  const cast: Cast = { header, events: [{ at: 1234.5678, code: "o", data: "\u2028" }] };
  const [, line] = encodeCast(cast).split("\n");
  assertEquals(line, '[1.234568,"o","\\u2028"]');
  assertEquals(parse(encodeCast(cast)).events[0]?.at, 1234.568);
});

Deno.test("events with an unknown code are ignored", () => {
  assertEquals(parse(`${JSON.stringify(header)}\n[0.5, "q", "?"]\n`).events, []);
});

/** An event of an input, or of an effect. */
const told = (input: object) => JSON.stringify([1, "h", JSON.stringify(input)]);
const done = (data: string) => JSON.stringify([1, "d", data]);

Deno.test("a damaged cast is refused by the line", () => {
  const input = "it is no input of a session ";
  const effect = "it is no effect of a session";
  const size = "it names no size of a terminal";
  const nested = "it is nested too deeply";
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const rows = [
    ["[1, ", "it is not JSON"],
    ['{"a":1}', "it is no event of a cast"],
    ['[1,"r","wide"]', size],
    ['[1,"r","1001x24"]', size],
    ['[1,"r","80x9999"]', size],
    [told({ type: "deadline", name: "lunch" }), input],
    [told({ type: "transcript", entry: { type: "assistant", prompt: false, text: 1 } }), input],
    [
      told({ type: "resized", size: { rows: 24, cols: 1e9 } }),
      `${input}(size.cols: a terminal has at most 1000)`,
    ],
    ...["nonsense", '{"type":"end"}', '{"type":"kill"}'].map((data) =>
      [done(data), effect] as const
    ),
    ['[1e300,"o",""]', "it is later than any run lasts"],
    ['[-1,"o",""]', "it is earlier than the line before"],
    [done(`{"type":"look","a":${deep}}`), nested],
    [
      JSON.stringify([1, "h", `{"type":"hook","event":"Stop","payload":{"[\\"[":${deep}}}`]),
      nested,
    ],
    [`[1,"o",${deep}]`, nested],
  ] as const;
  for (const [line, why] of rows) {
    const message = complaint(line);
    const said = why === input ? message.replace(/\(.*/, "") : message;
    assertEquals(said, `Cannot read line 2 of run/child.cast: ${why}`);
  }
  assertEquals(
    complaint('[2,"o","b"]\n[1,"o","a"]'),
    "Cannot read line 3 of run/child.cast: it is earlier than the line before",
  );
  // Brackets in a text are no nesting.
  const text = `[1,"o","\\"${"[".repeat(1000)}"]`;
  assertEquals(parse(`${JSON.stringify(header)}\n${text}\n`).events.length, 1);
});

Deno.test("a cast that was cut short is refused", () => {
  const error = assertThrows(() => parse(`${JSON.stringify(header)}\n[1, "o"`), CliError);
  assertEquals(error.message, "Cannot read line 2 of run/child.cast: it was cut short");
  assertThrows(() => parse(""), CliError, "line 1 of run/child.cast: the header is missing");
});

Deno.test("a cast of another program is refused", () => {
  const foreign = "it was not recorded by claude-print";
  const newer = "it is of version 3 of asciicast, and this claude-print reads 2";
  const invalid = "it is no header ";
  const sizes = [[0, 24], [10_000, 10_000], [1001, 24], [80, 1e300], [0.5, 24]] as const;
  const rows = [
    ['{"version": 2, "width": 80, "height": 24}', foreign],
    ['{"version": 3, "term": {}}', newer],
    [JSON.stringify({ ...header, version: 3 }), newer],
    ...sizes.map(([width, height]) =>
      [JSON.stringify({ ...header, width, height }), invalid] as const
    ),
  ] as const;
  for (const [first, why] of rows) {
    const message = complaint("[]", { first });
    const said = why === invalid ? message.replace(/\(.*/, "") : message;
    assertEquals(said, `Cannot read line 1 of run/child.cast: ${why}`);
  }
});
