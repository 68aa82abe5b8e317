import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import {
  findSkillDescription,
  isGoalCommand,
  isGoalPrompt,
  isGoalReport,
  readCommandOutput,
  readGoalOpen,
  readScheduledWakeup,
  STOPPED_BY_HOOK,
} from "../../../src/claude/transcript/special_entries.ts";
import {
  isPrompt,
  lineOf,
  parseEntry,
  type UserMeaning,
} from "../../../src/claude/transcript/entry.ts";
import { trimEarlierEntry, trimEntry } from "../../../src/claude/transcript/kept_entry.ts";
import {
  addToNotes,
  buildListing,
  NO_NOTES,
  type SessionListing,
  type SessionNotes,
} from "../../../src/claude/transcript/session_listing.ts";
import {
  BRIDGED_OUTPUT_TOOL,
  OUTPUT_REMINDER,
  OUTPUT_TOOL,
  readOutputCalls,
  STOP_HOOK_FEEDBACK,
  toBuiltInOutput,
} from "../../../src/claude/transcript/structured_output_tool.ts";
import { parseTaskNotification } from "../../../src/claude/transcript/task_notification.ts";
import {
  answer,
  attached,
  call,
  entryOf,
  type Line,
  prompt,
  REQUEST,
  result,
  text,
} from "../../conversation/output/lines.ts";
import { OLD_TRANSCRIPTS, readTranscript, recordingNames } from "./recording.ts";

Deno.test("parseEntry() reads JSON objects alone", () => {
  for (const line of ["", " ", "{", '{"type":"user","mess', "null", "1", '"a"', "[]"]) {
    assertEquals(parseEntry(line), undefined);
  }
  const type = fc.constantFrom("user", "assistant", "system", "attachment", "other", "new");
  const object = fc.record({ type, message: fc.jsonValue(), attachment: fc.jsonValue() });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), object), (value) => {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      assertEquals(parseEntry(JSON.stringify(value)) !== undefined, isObject);
    }),
    { numRuns: 50 },
  );
});

Deno.test("parseEntry() passes on lines of unknown shape", () => {
  for (
    const line of [
      {},
      { type: "some-day", a: 1 },
      { type: 7 },
      { type: "user" },
      { type: "user", message: { content: 7 } },
      { type: "assistant", message: { id: "a", model: "m" } },
      { type: "attachment", attachment: "none" },
      { type: "system", timestamp: 12 },
    ]
  ) assertEquals(parseEntry(JSON.stringify(line)), { type: "other", line });
  const fields = "uuid timestamp sessionId version cwd parentUuid logicalParentUuid isSidechain";
  const answered = text("x");
  for (
    const [line, names] of [
      [prompt(), `${fields} isMeta isCompactSummary promptId`],
      [answered, `${fields} requestId error isApiErrorMessage apiErrorStatus apiErrorType`],
      [{ type: "system" }, `${fields} subtype`],
    ] as const
  ) {
    assertEquals(entryOf({ ...line, parentUuid: null }).type, line.type);
    for (const name of names.split(" ")) {
      assertEquals(entryOf({ ...line, [name]: [] }).type, "other", name);
    }
  }
  for (const name of ["id", "model", "content", "stop_reason", "usage"]) {
    const message = { ...answered.message, [name]: 5 };
    assertEquals(entryOf({ ...answered, message }).type, "other", name);
  }
});

Deno.test("parseEntry() leaves out marks of unknown shape", () => {
  const marks = { entrypoint: "cli", permissionDecision: { decision: "accept" } };
  for (const name of ["entrypoint", "permissionDecision"] as const) {
    const entry = lineOf(entryOf({ ...prompt(), ...marks, [name]: 5 }));
    assertEquals(entry, { ...prompt(), ...marks, [name]: undefined });
  }
});

Deno.test("parseEntry() keeps every field of a recorded line", () => {
  for (const name of [...OLD_TRANSCRIPTS, ...recordingNames()]) {
    const { entries, transcript } = readTranscript(name);
    const lines = new TextDecoder().decode(transcript).split("\n").slice(0, -1);
    assertEquals(entries.map(lineOf), lines.map((line) => JSON.parse(line)), name);
  }
});

Deno.test("a user's line has a meaning", () => {
  const interrupt = "[Request interrupted by user for tool use]";
  const rows: readonly (readonly [UserMeaning, content: unknown, more?: Line])[] = [
    ["prompt", "What is this?"],
    ["prompt", [{ type: "text", text: "Look" }, { type: "image" }]],
    ["tool-result", [{ type: "tool_result", tool_use_id: "t" }]],
    ["interrupt", "[Request interrupted by user]"],
    ["interrupt", [{ type: "text", text: interrupt }]],
    ["remark", "Go on", { isMeta: true }],
    ["remark", "Summary", { isCompactSummary: true }],
    ["local-command", "<local-command-stdout>x</local-command-stdout>"],
  ];
  for (const [meaning, content, more] of rows) {
    const entry = entryOf(prompt(content, more));
    assertEquals(entry.type === "user" && entry.meaning, meaning);
    assertEquals(isPrompt(entry), meaning === "prompt");
  }
});

Deno.test("the command that names a session is a prompt", () => {
  for (
    const [content, type] of [
      ["<command-name>/rename</command-name>", "user"],
      ["<command-name>/name</command-name>\n  <command-args></command-args>", "user"],
      ["<command-name>/mcp</command-name>", "system"],
      ["<local-command-stdout>/rename</local-command-stdout>", "system"],
    ] as const
  ) {
    const line = { type: "system", subtype: "local_command", content, uuid: "u" };
    const entry = entryOf(line);
    assertEquals(entryOf({ ...line, subtype: "other" }).type, "system");
    assertEquals([entry.type, isPrompt(entry)], [type, type === "user"], content);
    assertEquals(lineOf(entry), line);
  }
});

Deno.test("readCommandOutput() reads what a command has printed", () => {
  const stdout = (text: string) => `<local-command-stdout>${text}</local-command-stdout>`;
  const local = (content: unknown) => ({ type: "system", subtype: "local_command", content });
  for (
    const [line, output] of [
      [local(stdout("a\nb")), "a\nb"],
      [local("<local-command-stderr>no</local-command-stderr>"), "no"],
      [prompt(stdout("x")), "x"],
      [local(stdout("Running in the background as @x")), undefined],
      [local(`${stdout("x")} more`), undefined],
      [local(1), undefined],
      [{ ...local(stdout("x")), subtype: "other" }, undefined],
      [prompt(`see ${stdout("x")}`), undefined],
    ] as const
  ) assertEquals(readCommandOutput(entryOf(line)), output);
});

Deno.test("an earlier line is recalled without its words", () => {
  const long = "x".repeat(1000);
  const known = { isSidechain: undefined };
  assertEquals<unknown>(trimEarlierEntry(entryOf(text(long, { uuid: "a", requestId: long }))), {
    ...{ type: "assistant", uuid: "a", ...known },
    message: { id: long, model: "m", content: [] },
  });
  const returned = result("t", long, { content: long, is_error: true });
  assertEquals<unknown>(trimEarlierEntry(entryOf({ ...returned, uuid: "u" })), {
    ...{ type: "user", uuid: "u", ...known, meaning: "tool-result" },
    message: { content: "" },
  });
  for (
    const line of [
      attached("skill_listing", { names: ["s"], content: "- s: x" }),
      REQUEST,
      { type: "custom-title", customTitle: "Mine" },
      { type: "cost-state", totalCostUSD: 1 },
      { type: "system", subtype: "compact_boundary" },
    ]
  ) assertEquals(trimEarlierEntry(entryOf(line)), entryOf(line));
  const snapshot = { type: "file-history-snapshot", snapshot: {} };
  assertEquals(trimEarlierEntry(entryOf(snapshot)), undefined);
});

Deno.test("a printed line is kept without inputs and outputs", () => {
  const kept = (line: Line) => {
    const entry = entryOf(line);
    assert(entry.type !== "other");
    return lineOf(trimEntry(entry));
  };
  const listings = "agent_listing_delta command_permissions deferred_tools_delta environment " +
    "goal_status model queued_command skill_listing";
  for (const type of [...listings.split(" "), STOPPED_BY_HOOK]) {
    assertEquals<unknown>(kept(attached(type, { more: 1 })), attached(type, { more: 1 }));
  }
  assertEquals<unknown>(kept(attached("other", { more: 1 })), attached("other"));
  const long = "x".repeat(65);
  assertEquals<unknown>(kept(call("t", OUTPUT_TOOL, { n: 1 })), call("t", OUTPUT_TOOL, { n: 1 }));
  const { message: { content: [block] } } = kept(call("t")) as ReturnType<typeof call>;
  assertEquals(block, { type: "tool_use", id: "t", name: "Bash" });
  const contentOf = (line: Line) => (kept(line) as ReturnType<typeof result>).message.content[0];
  const given = (content: unknown, more: Line = {}) => result("t", {}, { content, ...more });
  assertEquals(contentOf(given(long))?.content, long.slice(1));
  assertEquals(contentOf(given([{ type: "text", text: "a" }, { type: "image" }]))?.content, "a");
  assertEquals(contentOf(given(long, { is_error: true }))?.content, long);
  const agent = { agentId: "a", agentType: "x", isAsync: true, status: "completed" };
  assertEquals(kept(result("t", { ...agent, content: long }))["toolUseResult"], agent);
  assertEquals(kept(result("t", { content: long }))["toolUseResult"], undefined);
  const image = { type: "image", source: long };
  assertEquals<unknown>(kept(prompt([image])), prompt([{ type: "image" }]));
});

Deno.test("parseTaskNotification() reads how a task ended", () => {
  const of = (...tags: readonly (readonly [name: string, content: string])[]) =>
    `<task-notification>\n${
      tags.map(([name, content]) => `<${name}>${content}</${name}>`).join("\n")
    }\n</task-notification>`;
  const summary = 'Background command "a < b" failed';
  assertEquals(
    parseTaskNotification(
      of(["task-id", "b1"], ["tool-use-id", "t"], ["output-file", "/o"], ["status", "failed"], [
        "summary",
        summary,
      ]),
    ),
    {
      ...{ taskId: "b1", toolUseId: "t", status: "failed", outputFile: "/o", summary },
      ...{ result: undefined, usage: undefined },
    },
  );
  // A subagent's report may hold anything.
  const report = "<status>failed</status></result><usage><tool_uses>99</tool_uses></usage>";
  const usage = "<subagent_tokens>7</subagent_tokens><tool_uses>1</tool_uses>" +
    "<duration_ms>3</duration_ms>";
  const told = parseTaskNotification(
    of(["task-id", "a1"], ["status", "completed"], ["result", report], ["usage", usage]),
  );
  assertEquals([told?.status, told?.result, told?.usage], [
    ...["completed", report],
    { totalTokens: 7, toolUses: 1, durationMs: 3 },
  ]);
  const rest = (name: string, content: string) =>
    parseTaskNotification(of(["task-id", "a1"], ["status", "completed"], [name, content]));
  assertEquals(rest("usage", "<total_tokens>7</total_tokens>")?.usage, {
    ...{ totalTokens: 7, toolUses: 0, durationMs: 0 },
  });
  for (const summary of ["no </result>", "</result> <result>"]) {
    const { result, summary: read } = rest("summary", summary) ?? {};
    assertEquals([result, read], [undefined, summary]);
  }
  const others = ["", "Look at <task-notification>", "<task-notification>"];
  for (const text of [undefined, 7, ...others, "<task-notification><task-id>b</task-id>"]) {
    assertEquals(parseTaskNotification(text), undefined);
  }
});

Deno.test("tags that are never closed are read in linear time", () => {
  const begin = "<task-notification><task-id>b</task-id><status>x</status>";
  const notification = parseTaskNotification(begin + "<summary>".repeat(100_000));
  assertEquals(notification?.summary, undefined);
});

Deno.test("a call's outcome says when the model is woken", () => {
  const outcome = { scheduledFor: 1_795_731_780_000, clampedDelaySeconds: 60, wasClamped: false };
  for (
    const [line, expected] of [
      [{ toolUseResult: outcome }, outcome.scheduledFor],
      [{ toolUseResult: outcome, isSidechain: true }, undefined],
      [{ toolUseResult: { ...outcome, scheduledFor: 0, stopped: true } }, "never"],
      // The loop has lasted too long.
      [{ toolUseResult: { ...outcome, scheduledFor: 0 } }, "never"],
      [{ toolUseResult: "Error: `prompt` is required" }, undefined],
      [{ toolUseResult: { id: "a1b2c3d4", recurring: false } }, undefined],
      [{ isMeta: true, wakeupSource: "loop_wakeup" }, "never"],
      [{ isMeta: true, wakeupSource: "schedule_wakeup" }, undefined],
      [{}, undefined],
    ] as const
  ) assertEquals(readScheduledWakeup(entryOf(prompt("x", line))), expected);
  assertEquals(readScheduledWakeup(entryOf(text("x"))), undefined);
});

Deno.test("a goal is known by its command and its lines", () => {
  for (
    const [typed, expected] of [["/goal win", true], ["/goal\nwin", true], ["/goal", false], [
      "/goals x",
      false,
    ], ["x /goal y", false]] as const
  ) assertEquals(isGoalCommand(typed), expected, typed);
  const user = (content: unknown, more: Line = {}) => {
    const entry = entryOf(prompt(content, more));
    assert(entry.type === "user");
    return entry;
  };
  const goal = user("<command-name>/goal</command-name>");
  assertEquals([isGoalPrompt(goal), isGoalPrompt(user("/goal x")), isGoalPrompt(undefined)], [
    true,
    false,
    false,
  ]);
  const directive = "A session-scoped Stop hook is now active with condition: x";
  for (
    const [entry, expected] of [
      [user("<local-command-stdout>Goal set</local-command-stdout>"), true],
      [user(directive, { isMeta: true }), true],
      [user(directive), false],
      [user("Go on", { isMeta: true }), false],
      [user([{ type: "text", text: directive }], { isMeta: true }), false],
    ] as const
  ) assertEquals([isGoalReport(entry, goal), isGoalReport(entry, user("x"))], [expected, false]);
  const status = (met: unknown) => readGoalOpen(entryOf(attached("goal_status", { met })));
  assertEquals([status(false), status(true)], [true, false]);
  assertEquals(readGoalOpen(entryOf(attached("other", { met: false }))), undefined);
});

Deno.test("findSkillDescription() reads the last listing of a skill", () => {
  const listing = (content: unknown, names: unknown) =>
    entryOf(attached("skill_listing", { content, names }));
  const content = "- a: One\nand more\n- a-b: Two\n- not: a name\n- c: Three";
  const listed = [listing(content, ["a", "a-b", "c"])];
  for (
    const [name, description] of [
      ["a", "One\nand more"],
      ["a-b", "Two\n- not: a name"],
      ["c", "Three"],
      ["b", ""],
    ] as const
  ) assertEquals(findSkillDescription(listed, name), description);
  const others = [listing(1, ["a"]), listing("- a: Bad", "a"), entryOf(attached("other"))];
  assertEquals(findSkillDescription([...listed, ...others], "a"), "One\nand more");
  assertEquals(findSkillDescription([...listed, listing("- a: New", ["a"])], "a"), "New");
});

Deno.test("a structured answer's lines are those of claude -p", () => {
  const given = entryOf(call("t", BRIDGED_OUTPUT_TOOL, { n: 1 }));
  assertEquals([readOutputCalls(given), readOutputCalls(entryOf(call("u")))], [["t"], []]);
  const calls = new Set(["t"]);
  const as = (line: Line) => lineOf(toBuiltInOutput(entryOf(line), calls));
  assertEquals(as(call("t", BRIDGED_OUTPUT_TOOL, { n: 1 })), call("t", OUTPUT_TOOL, { n: 1 }));
  const announced = (name: string) =>
    answer([text("So:"), call("t", name)].flatMap(({ message }) => message.content));
  assertEquals(as(announced(BRIDGED_OUTPUT_TOOL)), announced(OUTPUT_TOOL));
  const decision = { decision: "accept", source: "config" };
  const list = [{ type: "text", text: "Stru" }, { type: "text", text: "ctured" }];
  assertEquals(
    as({
      ...result("t", list, { content: list }),
      permissionDecision: { ...decision, reasonType: "rule" },
    }),
    { ...result("t", "Structured", { content: "Structured" }), permissionDecision: decision },
  );
  const remind = (content: unknown) => prompt(content, { isMeta: true });
  const feedback = `${STOP_HOOK_FEEDBACK}${OUTPUT_REMINDER}`;
  assertEquals(as(remind(feedback)), remind(OUTPUT_REMINDER));
  assertEquals(as(remind([{ type: "text", text: feedback }])), remind(OUTPUT_REMINDER));
  for (
    const line of [
      call("u"),
      result("u", list, { content: list }),
      remind(`${feedback}!`),
      prompt(feedback),
      attached("x"),
      REQUEST,
    ]
  ) assertEquals<unknown>(as(line), line);
});

/** What lines say of a session, the first of which an earlier run has written. */
function noted(lines: readonly Line[], earlier = 0): SessionNotes {
  return lines.map(entryOf).reduce(
    (notes, entry, place) => addToNotes(notes, entry, { earlier: place < earlier }),
    NO_NOTES,
  );
}

function listed(lines: readonly Line[], earlier = 0): SessionListing {
  return buildListing(noted(lines, earlier));
}

Deno.test("buildListing() reads what a session is offered", () => {
  const { entries } = readTranscript("2.1.330/mcp");
  const { maxOutputTokens, ...listing } = listed(entries.map(lineOf));
  assert(listing.tools.includes("Agent") && listing.tools.includes("mcp__lab__hello"));
  assert(!listing.tools.includes("DeferredToolPlaceholder"));
  assertEquals(listing.mcpServers, [{ name: "lab", status: "connected" }]);
  assertEquals([listing.model, listing.permissionMode], ["claude-opus-5-5", "default"]);
  assertEquals([...maxOutputTokens], [["claude-opus-5-5", 128_000]]);
  const old = listed(readTranscript("2.1.197/background").entries.map(lineOf));
  assertEquals(old.tools, []);
  assert(old.agents.includes("Explore") && old.skills.includes("deep-research"));
});

Deno.test("buildListing() prefers the run's first request", () => {
  const shape = (shapeHash: string) => ({
    type: "api-request-shape",
    shapeHash,
    shape: { tools: [{ name: shapeHash }] },
  });
  const request = (shapeHash: string) => ({ ...REQUEST, shapeHash });
  const shaped = [shape("a"), request("a"), shape("b"), request("b"), request("a")];
  // After the last line nothing is requested: what was offered last is known.
  for (const [earlier, tool] of [[0, "a"], [3, "b"], [4, "a"], [5, "a"]] as const) {
    assertEquals(listed(shaped, earlier).tools, [tool]);
  }
  const model = (modelId: string) => attached("model", { identity: { modelId } });
  const asked = (model: string) => ({ ...REQUEST, params: { model, max_tokens: 1 } });
  for (
    const [lines, earlier, expected] of [
      [[asked("a"), asked("b")], 0, "a"],
      [[asked("a"), asked("b")], 1, "b"],
      [[asked("a"), model("b[1m]")], 0, "b[1m]"],
    ] as const
  ) assertEquals(listed(lines, earlier).model, expected);
  const most = { ...REQUEST, params: { model: "a", max_tokens: 2, betas: ["fast-mode-1"] } };
  const { maxOutputTokens, asksFastMode } = listed([asked("a"), asked("b"), most, asked("b")]);
  assertEquals([[...maxOutputTokens], asksFastMode], [[["a", 2], ["b", 1]], true]);
  assertEquals(listed([asked("a")]).asksFastMode, false);
  const answers = ["a", "b", "<synthetic>", "c"].map((model) => ({
    ...{ type: "assistant", message: { id: "m", model, content: [] } },
  }));
  for (const [earlier, answering, answered] of [[0, "a", "c"], [1, "b", "c"], [4, "c"]] as const) {
    const notes = noted(answers, earlier);
    assertEquals([notes.answering, notes.answered], [answering, answered]);
  }
});

Deno.test("buildListing() accepts lines of any content", () => {
  const names = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
  const attachment = fc.record({
    type: fc.constantFrom(
      ...["deferred_tools_delta", "agent_listing_delta", "skill_listing", "environment", "model"],
    ),
    ...{ addedNames: names, addedTypes: names, names, snapshot: names },
  });
  const request = fc.record({
    type: fc.constantFrom("api-request", "api-request-shape", "permission-mode"),
    querySource: fc.constantFrom("repl_main_thread", 1),
    shapeHash: names,
    shape: fc.oneof(names, fc.record({ tools: names })),
    params: names,
  });
  const line = fc.oneof(
    request,
    attachment.map((attachment) => ({ type: "attachment", attachment })),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
      assert(listed(lines).tools.every((tool) => typeof tool === "string"));
    }),
    { numRuns: 40 },
  );
});
