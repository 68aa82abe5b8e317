import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import type { Entry } from "../../../src/claude/transcript/entry.ts";
import { STOPPED_BY_HOOK } from "../../../src/claude/transcript/special_entries.ts";
import {
  OUTPUT_REMINDER,
  STOP_HOOK_FEEDBACK,
} from "../../../src/claude/transcript/structured_output_tool.ts";
import {
  addSpent,
  readCostOfClaudeJson,
  readCostOfEntries,
  readCostOfStatusLine,
  sumUsage,
} from "../../../src/claude/transcript/cost.ts";
import {
  collectPermissionDenials,
  denialText,
  isDenialText,
  readRefusal,
} from "../../../src/claude/transcript/permission_denials.ts";
import { splitTurns, type Turn } from "../../../src/claude/transcript/turn.ts";
import {
  answer,
  attached,
  call,
  entryOf,
  type Line,
  prompt,
  result,
  text,
} from "../../conversation/output/lines.ts";
import { OLD_TRANSCRIPTS, readRecording, readTranscript, recordingNames } from "./recording.ts";

const turnsIn = (...lines: readonly Line[]) => splitTurns(lines.map(entryOf));
const recorded = (name: string) => splitTurns(readTranscript(name).entries);

/** What of a turn does not depend on the order of the lines. */
function essence(turn: Turn): object {
  const { text, numTurns, usage, stopReason, error, end, answers, durationMs } = turn;
  return { text, numTurns, usage, stopReason, error, end, answers, durationMs };
}

Deno.test("without messages there is no turn", () => {
  assertEquals([turnsIn(), turnsIn({ type: "mode" }, { type: "system", subtype: "x" })], [[], []]);
});

Deno.test("a turn is the same wherever the file begins", () => {
  const names = [...OLD_TRANSCRIPTS, ...recordingNames()];
  for (const name of names.filter((name) => !/\/(subagent|background)$/.test(name))) {
    const { entries } = readTranscript(name);
    const expected = splitTurns(entries).map(essence);
    assertEquals(expected.length, 1);
    const step = Math.ceil(entries.length / 8);
    for (let cut = 1; cut < entries.length; cut += step) {
      const rotated = [...entries.slice(cut), ...entries.slice(0, cut)];
      assertEquals(splitTurns(rotated).map(essence), expected, `${name} at ${cut}`);
    }
  }
});

Deno.test("a slash command's text is no turn", () => {
  const remark = prompt([{ type: "text", text: "Do it" }], {
    uuid: "t",
    parentUuid: "p",
    isMeta: true,
  });
  for (
    const [content, count] of [
      ["<command-message>init</command-message>", 1],
      ["a prompt that has a remark", 2],
    ] as const
  ) assertEquals(turnsIn(prompt(content), remark)[0]?.numTurns, count);
});

Deno.test("an answer without a prompt's line is a turn", () => {
  const turns = turnsIn(text("Early"));
  assertEquals(turns.map(({ prompt, text, numTurns }) => [prompt, text, numTurns]), [
    [undefined, "Early", 1],
  ]);
});

Deno.test("lines of another claude -p are left out", () => {
  const [cli, print] = ["cli", "sdk-cli"].map((entrypoint) => ({ entrypoint }));
  const turns = turnsIn(
    prompt("Hi", cli),
    prompt("Sum up", { uuid: "q", parentUuid: "p", ...print }),
    text("A sum", { uuid: "b", parentUuid: "q", ...print }),
    text("Hello", { parentUuid: "p", ...cli }),
    { type: "system", subtype: "stop_hook_summary", parentUuid: "b", ...print },
  );
  assertEquals(turns.map(({ text, answers, end }) => [text, answers, end]), [
    ["Hello", 1, undefined],
  ]);
});

Deno.test("a turn's text is its last block", () => {
  const [one, two] = [{ type: "text", text: "a" }, { type: "text", text: "b\n" }];
  for (
    const [lines, text, textSoFar] of [
      [[answer([one, two])], "b\n", "b\n"],
      [[answer([one, { type: "thinking", thinking: "b" }])], "", "a"],
      [[answer([])], "", ""],
      // A turn that goes on with other blocks has a text so far.
      [[answer([one], "n"), call("t")], "", "a"],
      [[call("t")], "", ""],
    ] as const
  ) {
    const [turn] = turnsIn(prompt(), ...lines);
    assertEquals([turn?.text, turn?.textSoFar], [text, textSoFar]);
  }
});

Deno.test("each message counts once, with its last usage", () => {
  const paid = (id: string, usage: Line) => {
    const line = answer([], id);
    return { ...line, message: { ...line.message, usage } };
  };
  const [turn] = turnsIn(
    prompt(),
    paid("a", { input_tokens: 1, new_count: 1 }),
    paid("a", { input_tokens: 5, new_count: 1 }),
    paid("b", { input_tokens: 2 }),
  );
  assertEquals([turn?.usage, turn?.answers], [{ input_tokens: 7, new_count: 1 }, 2]);
});

Deno.test("lines of earlier runs are no turn", () => {
  for (const old of ["2.1.330/plain", "2.1.168/denied"]) {
    const before = readTranscript(old).entries;
    const ids = before.flatMap((entry) => entry.type === "other" ? [] : entry.uuid ?? []);
    const run = readTranscript("2.1.330/bash").entries.map((entry): Entry =>
      entry.type === "user" && entry.meaning === "prompt"
        ? { ...entry, parentUuid: ids.at(-1) }
        : entry
    );
    const known = new Set(ids);
    const expected = splitTurns(run).map(essence);
    assertEquals(splitTurns([...before, ...run], { known }).map(essence), expected);
    // A fork writes the older lines again, somewhere in between.
    const forked = [...run.slice(0, 5), ...before, ...run.slice(5)];
    assertEquals(splitTurns(forked, { known }).map(essence), expected);
    assertEquals(splitTurns([...before, ...run]).length, 2);
  }
});

Deno.test("a background task's end starts a turn", () => {
  for (const version of ["2.1.197", "2.1.330"]) {
    const turns = recorded(`${version}/background`);
    assertEquals(turns.map(({ numTurns, text, end }) => [numTurns, text, end]), [
      [2, "started", "completed"],
      [1, "the task is done", "completed"],
    ]);
  }
  const turns = recorded("2.1.330/subagent");
  assertEquals<unknown>(turns.map(({ numTurns, end }) => [numTurns, end]), [
    ...[[2, "completed"], [1, "completed"]],
  ]);
});

Deno.test("a turn has its end and its error", () => {
  for (
    const [name, end, error] of [
      ["2.1.168/denied", "completed", undefined],
      ["2.1.330/plain", "completed", undefined],
      ["2.1.330/interrupt", "interrupted-tool", undefined],
      // Claude Code leaves no mark after an API error.
      ["2.1.330/error400", undefined, "unknown"],
      ["2.1.330/error401", undefined, "authentication_failed"],
    ] as const
  ) {
    const [turn] = recorded(name);
    assertEquals([turn?.end, turn?.error?.kind], [end, error], name);
  }
  const [turn] = recorded("2.1.330/error401");
  assertEquals([turn?.error?.status, turn?.error?.type], [401, "authentication_error"]);
});

Deno.test("remarks to the model tell of answers without lines", () => {
  const remark = (content: string) => prompt(content, { isMeta: true, uuid: content });
  const refused = remark("Your response above was stopped by a safety classifier. Go on.");
  const silent = remark("[Your previous response had no visible output. Please continue.]");
  const long = remark("Output token limit hit. Resume directly.");
  const stopped = (stop_reason: string, more: Line = {}) => {
    const line = text(stop_reason, more);
    return { ...line, message: { ...line.message, stop_reason } };
  };
  const last = stopped("refusal", { isApiErrorMessage: true });
  for (
    const [name, lines, refusals, unseen] of [
      ["nothing", [text("x")], 0, undefined],
      ["a refusal with a line", [stopped("refusal"), refused, text("x")], 1, undefined],
      ["a refusal without a line", [refused, text("x")], 1, true],
      ["two refusals", [stopped("refusal"), refused, last], 2, true],
      ["a silent answer", [silent, text("x")], 0, true],
      ["a long answer with a line", [stopped("max_tokens"), long, text("x")], 0, undefined],
      ["a long answer without a line", [long, text("x")], 0, true],
      ["a user's own words", [prompt(refused.message.content)], 0, undefined],
    ] as const
  ) {
    const [turn] = turnsIn(prompt(), ...lines);
    assertEquals([turn?.refusals, turn?.unseen], [refusals, unseen], name);
  }
});

Deno.test("a line after a compaction belongs to its prompt", () => {
  const turns = turnsIn(
    prompt(),
    text("x", { uuid: "a", parentUuid: "p" }),
    prompt("Next", { uuid: "q", parentUuid: "a" }),
    { type: "system", uuid: "b", parentUuid: null, logicalParentUuid: "p" },
    text("y", { uuid: "c", parentUuid: "b" }),
  );
  assertEquals(turns.map(({ text, answers }) => [text, answers]), [["y", 2], ["", 0]]);
});

Deno.test("what a Stop hook wants in vain is no answer", () => {
  for (
    const [content, expected] of [
      [`${STOP_HOOK_FEEDBACK}More`, ""],
      [[{ type: "text", text: `${STOP_HOOK_FEEDBACK}More` }], ""],
      [OUTPUT_REMINDER, ""],
      ["Go on", "x"],
    ] as const
  ) {
    const remark = prompt(content, { uuid: "r", isMeta: true });
    const [turn] = turnsIn(
      prompt(),
      text("x"),
      attached(STOPPED_BY_HOOK, { hookEvent: "Stop" }),
      remark,
    );
    assertEquals([turn?.text, turn?.halted], [expected, "stop"]);
  }
});

Deno.test("ancestors in a circle do not hang", () => {
  const turns = turnsIn(
    prompt(),
    text("x", { uuid: "u", parentUuid: "v" }),
    { type: "system", uuid: "v", parentUuid: "u" },
  );
  assertEquals(turns.map(({ text }) => text), ["x"]);
});

Deno.test("splitTurns() accepts lines of any content", () => {
  const line = fc.record({
    type: fc.constantFrom("user", "assistant", "system", "attachment", "new"),
    uuid: fc.constantFrom("a", "b", "c"),
    parentUuid: fc.constantFrom("a", "b", "c", null),
    timestamp: fc.constantFrom("2026-01-01T00:00:00Z", "yesterday"),
    message: fc.record({
      id: fc.constantFrom("m", "n"),
      model: fc.constantFrom("x", "<synthetic>"),
      content: fc.array(fc.record({ type: fc.constantFrom("text", "tool_use", "tool_result") })),
      usage: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
    attachment: fc.record({ type: fc.string() }),
  }, { requiredKeys: ["type"] });
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      for (const turn of turnsIn(...lines)) assert(turn.numTurns >= 1);
    }),
    { numRuns: 40 },
  );
});

Deno.test("readCostOfClaudeJson() finds the session in any project", () => {
  const { run, entries } = readRecording("2.1.330/bash");
  const cost = readCostOfClaudeJson(run.claudeJson, splitTurns(entries)[0]?.sessionId ?? "");
  assertEquals(cost?.totalUsd, JSON.parse(run.print.json).total_cost_usd);
  assert((cost?.apiDurationMs ?? 0) > 0);
  assertEquals(readCostOfClaudeJson(run.claudeJson, "another session"), undefined);
  for (const value of [null, 1, "x", [], {}, { lastCost: 1 }]) {
    const project = { lastSessionId: "s", lastCost: value, lastAPIDuration: 1 };
    for (const json of [value, { projects: value }, { projects: { p: value } }]) {
      assertEquals(readCostOfClaudeJson(json, "s"), undefined);
    }
    if (value === 1) continue;
    assertEquals(readCostOfClaudeJson({ projects: { p: project } }, "s"), undefined);
  }
});

Deno.test("readCostOfEntries() reads the last cost-state line", () => {
  const { run, entries } = readRecording("2.1.330/parallel");
  const last = readCostOfClaudeJson(run.claudeJson, splitTurns(entries)[0]?.sessionId ?? "");
  const state = readCostOfEntries(entries);
  assertEquals([state?.totalUsd, state?.apiDurationMs], [last?.totalUsd, last?.apiDurationMs]);
  assertEquals(state?.hasUnknownPrice, false);
  assertEquals(state?.modelUsage["claude-opus-5-5"]?.cacheCreationEphemeral5mInputTokens, 70);
  assertEquals(readCostOfEntries(readTranscript("2.1.197/background").entries), undefined);
  const lines = [1, 2].map((totalCostUSD) =>
    entryOf({ type: "cost-state", totalCostUSD, totalAPIDuration: 3 })
  );
  assertEquals(readCostOfEntries([...lines, entryOf({ type: "mode" })])?.totalUsd, 2);
});

Deno.test("readCostOfStatusLine() reads what the child has spent", () => {
  const cost = { total_cost_usd: 0.5, total_api_duration_ms: 7 };
  const spent = { totalUsd: 0.5, apiDurationMs: 7 };
  for (
    const [payload, expected] of [
      [{ cost }, spent],
      [{ cost: { ...cost, total_lines_added: 2, total_lines_removed: 3 } }, {
        ...spent,
        lines: { added: 2, removed: 3 },
      }],
      [{ cost: { ...cost, total_lines_added: 2 } }, spent],
      [{ cost: { ...cost, total_lines_removed: 2 } }, spent],
      [{ cost: { total_cost_usd: 0.5 } }, undefined],
      [{ cost: { total_api_duration_ms: 7 } }, undefined],
      [{ cost: 1 }, undefined],
      [{}, undefined],
    ] as const
  ) assertEquals<unknown>(readCostOfStatusLine(payload), expected);
});

Deno.test("addSpent() adds what two children have spent", () => {
  const spent = (
    totalUsd: number,
    lines?: { readonly added: number; readonly removed: number },
  ) => ({
    totalUsd,
    apiDurationMs: 5,
    ...lines && { lines },
  });
  const one = { added: 1, removed: 2 };
  assertEquals(addSpent(spent(1), spent(2)), { totalUsd: 3, apiDurationMs: 10 });
  assertEquals(addSpent(spent(1, one), spent(2)).lines, one);
  assertEquals(addSpent(spent(1), spent(2, one)).lines, one);
  assertEquals(addSpent(spent(1, one), spent(2, one)).lines, { added: 2, removed: 4 });
});

Deno.test("sumUsage() adds counts and keeps the last of all else", () => {
  const one = { input_tokens: 1, cache: { short: 2 }, service_tier: "a", speed: "s", list: [1] };
  const other = { input_tokens: 4, cache: { short: 5, long: 6 }, service_tier: "b", speed: null };
  assertEquals(sumUsage([{ ...one, unknown: 3 }, { ...other, list: [] }]), {
    ...{ input_tokens: 5, cache: { short: 7, long: 6 }, service_tier: "b", speed: "s" },
    ...{ list: [], unknown: 3 },
  });
  assertEquals(sumUsage([one]), one);
  assertEquals(sumUsage([{ a: null }]), { a: null });
});

const rejected = (name: string, input: unknown, more: Line = {}) =>
  turnsIn(
    prompt(),
    answer([{ type: "tool_use", id: "t", name, input }]),
    {
      ...result("t", undefined, { is_error: true, content: "No" }),
      cwd: "/home/project",
      permissionDecision: { decision: "reject" },
      ...more,
    },
  )[0];

Deno.test("denied calls are known by their marks", () => {
  for (
    const [name, denied] of [
      ["denied", ["Write"]],
      ["denyrule", ["Bash"]],
      ["toolfail", []],
      ["interrupt", []],
      ["bash", []],
    ] as const
  ) {
    const [turn] = recorded(`2.1.330/${name}`);
    assert(turn !== undefined);
    assertEquals<unknown>(collectPermissionDenials(turn).map(({ tool_name }) => tool_name), denied);
  }
});

Deno.test("a decision of the caller's outweighs the transcript", () => {
  for (
    const [decision, count] of [
      ["accepted", 0],
      ["late", 0],
      ["denied", 1],
      ["unasked", 1],
      [undefined, 1],
    ] as const
  ) {
    const turn = rejected("Bash", {});
    assert(turn !== undefined);
    const decisions = new Map(decision === undefined ? [] : [["t", decision]]);
    assertEquals(collectPermissionDenials(turn, decisions).length, count, decision);
  }
  const accepted = rejected("Bash", {}, { permissionDecision: { decision: "accept" } });
  assertEquals(accepted && collectPermissionDenials(accepted), []);
});

Deno.test("a denied file has its whole path", () => {
  for (
    const [tool, path, whole] of [
      ["Write", "b.txt", "/home/project/b.txt"],
      ["Edit", "./x/../b.txt", "/home/project/b.txt"],
      ["Read", "../../../etc/shadow", "/etc/shadow"],
      ["Read", "/a//b/", "/a/b"],
      ["Read", " b.txt ", "/home/project/b.txt"],
      ["Read", "~/b.txt", "~/b.txt"],
      ["Read", "b\0.txt", "b\0.txt"],
      ["Read", 1, 1],
      ["mcp__s__read", "b.txt", "b.txt"],
    ] as const
  ) {
    const turn = rejected(tool, { file_path: path, content: "x" });
    assert(turn !== undefined);
    assertEquals(collectPermissionDenials(turn).map(({ tool_input }) => tool_input), [
      { file_path: whole, content: "x" },
    ]);
  }
});

Deno.test("readRefusal() reads a reason from the words", () => {
  const byRule = (tool: string) => `Permission to use ${tool} with\nx has been denied.`;
  for (
    const [toolDenialKind, words, expected] of [
      [undefined, byRule("Bash"), undefined],
      ["user-rejected", "", undefined],
      ["automode-parsing-error", "", { reasonType: "classifier" }],
      ["permission-rule", byRule("Bash"), { reasonType: "subcommandResults" }],
      ["permission-rule", byRule("Write"), { reasonType: "rule" }],
      ["permission-rule", `No. ${byRule("Write")}`, { reasonType: undefined }],
      ["permission-rule", "PreToolUse:Bash hook error: no", { reasonType: "hook" }],
      ["permission-rule", "This command requires approval", { reasonType: undefined }],
    ] as const
  ) {
    const entry = entryOf({ ...prompt([]), toolDenialKind });
    assert(entry.type === "user");
    assertEquals(readRefusal(entry, words), expected);
  }
});

Deno.test("denialText() asks for a permission as claude -p does", () => {
  const told = (what: string) =>
    `Claude requested permissions to ${what}, but you haven't granted it yet.`;
  for (
    const [tool, input, said] of [
      ["Bash", { command: "npm test" }, "This command requires approval"],
      ["Monitor", { command: "npm test" }, "This command requires approval"],
      ["Write", { file_path: "a.txt", content: "x" }, told("write to /p/a.txt")],
      ["Edit", { file_path: "/q/a.txt" }, told("write to /q/a.txt")],
      ["NotebookEdit", { notebook_path: "/q/n.ipynb" }, told("write to /q/n.ipynb")],
      ["Read", { file_path: "/etc/passwd" }, told("read from /etc/passwd")],
      ["Grep", { pattern: "x", path: "/etc" }, told("read from /etc")],
      ["Grep", { pattern: "x" }, told("use Grep")],
      ["Write", { file_path: 1 }, told("use Write")],
      ["WebFetch", { url: "http://x", prompt: "y" }, told("use WebFetch")],
      ["mcp__s__shout", { text: "x" }, told("use mcp__s__shout")],
      ["toString", {}, told("use toString")],
      ["Skill", {}, told("use Skill")],
      [
        "Skill",
        { skill: "s" },
        "Execute skill: s. The user can add the allow rule Skill(s) to " +
        ".claude/settings.local.json to let it run without asking.",
      ],
    ] as const
  ) {
    const facts = { tool, input, cwd: "/p" };
    assertEquals(denialText(facts), said);
    const unattended = denialText(facts, { unattended: true });
    assert(unattended.endsWith(` What required approval: ${said}`));
    assert(isDenialText(said) && isDenialText(unattended));
  }
  for (
    const text of [
      "",
      "Exit code 1\nThis command requires approval",
      "Permission to use Bash with command x has been denied.",
      "Execute skill: s\nfailed",
      "A hook says: Claude requested permissions to use X, but you haven't granted it yet.",
    ]
  ) assert(!isDenialText(text));
});
