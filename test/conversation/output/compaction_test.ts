import { assertEquals } from "@std/assert";
import { runTurns } from "../../../src/conversation/output/turns/run_turns.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import * as lines from "./lines.ts";
import { at, entryOf, type Line } from "./lines.ts";
import { fieldsOf } from "./outlines.ts";
import { FramesRun } from "./runs.ts";

const START = Date.UTC(2026, 0, 1);
const PROMPT = lines.prompt("Work", { uuid: "prompt", ...at(0) });

function answer(uuid: string, ms: number, block: Line = { type: "text", text: uuid }) {
  const message = { id: `m-${uuid}`, model: "m", content: [block], usage: { output_tokens: 2 } };
  return { type: "assistant", uuid, ...at(ms), message };
}
const call = (id: string, ms: number) =>
  answer(`call-${id}`, ms, { type: "tool_use", id, name: "Bash", input: { command: "x" } });
const result = (id: string, ms: number) => ({
  ...lines.result(id),
  uuid: `result-${id}`,
  ...at(ms),
});

const PRESERVED = ["call-b", "result-b"];
const BOUNDARY = {
  type: "system",
  subtype: "compact_boundary",
  uuid: "boundary",
  parentUuid: null,
  logicalParentUuid: "result-b",
  ...at(500),
  content: "Conversation compacted",
  compactMetadata: {
    trigger: "auto",
    preTokens: 19615,
    durationMs: 49,
    preservedSegment: { headUuid: "call-b", anchorUuid: "summary", tailUuid: "result-b" },
    preservedMessages: { anchorUuid: "summary", uuids: PRESERVED, allUuids: PRESERVED },
    postTokens: 751,
    cumulativeDroppedTokens: 18864,
    preCompactOrganizations: ["o"],
  },
};
const SUMMARY = lines.prompt("The short of it", {
  uuid: "summary",
  parentUuid: "boundary",
  ...at(450),
  isCompactSummary: true,
  isVisibleInTranscriptOnly: true,
});
const OVER = { ...lines.OVER, uuid: "over", ...at(700) };

/** The lines that a typed /compact leaves besides those of every compaction. */
const CAVEAT = lines.prompt("<local-command-caveat>Caveat: …</local-command-caveat>", {
  uuid: "caveat",
  parentUuid: "summary",
  isMeta: true,
  ...at(400),
});
const COMMAND = lines.prompt(
  "<command-name>/compact</command-name>\n  <command-message>compact" +
    "</command-message>\n  <command-args>keep it</command-args>",
  { uuid: "command", parentUuid: "caveat", ...at(400) },
);
const OUTPUT = lines.prompt(
  "<local-command-stdout>\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m" +
    "</local-command-stdout>",
  { uuid: "output", parentUuid: "command", ...at(600) },
);

/** A run, with its hooks. */
class CompactedRun extends FramesRun {
  frames: Frame[] = [];

  hook(event: string, ms: number, payload: Line = {}): void {
    this.give({ type: "hook", event, payload: { trigger: "auto", ...payload }, ranAt: START + ms });
  }

  each(...lines: readonly Line[]): void {
    for (const line of lines) this.push(line);
  }

  /** All frames so far, in a few words each. */
  get told(): string {
    this.frames.push(...this.take());
    return this.frames.map(({ type, subtype, status, compact_result, compact_error, uuid }) =>
      subtype === "status"
        ? `${status ?? `<${compact_error ?? compact_result}>`}`
        : type === "system"
        ? subtype
        : uuid
    ).join(" ");
  }
}

/** A run whose prompt has been read. */
function start(): CompactedRun {
  const run = new CompactedRun();
  run.push(PROMPT);
  run.pass("init");
  return run;
}

const BEGINNING = "init call-a result-a";
const COMPACTED = "call-b result-b compacting <success> compact_boundary summary";
const FAILED = "compacting <too_few_groups>";

Deno.test("a compaction is printed between the lines around it", () => {
  const run = start();
  run.hook("PreCompact", 200);
  // A hook of the caller's runs for the same compaction.
  run.give({ type: "hook", event: "PreCompact", payload: {}, id: "1", callback: 0 });
  run.each(call("a", 100), result("a", 150));
  // The first has failed: the answer came without a boundary.
  run.push(call("b", 300));
  run.hook("PreCompact", 400);
  run.push(result("b", 350));
  run.hook("PostCompact", 480);
  run.each(BOUNDARY, SUMMARY, answer("done", 600), OVER);
  assertEquals(run.told, `${BEGINNING} ${FAILED} ${COMPACTED} done`);
  assertEquals(fieldsOf(run.frames, "status", "status", "compact_output_chars")[0], [
    ...["compacting", 0],
  ]);
});

Deno.test("a failed summary is printed with the API's words", () => {
  const rows = [
    ["API Error: 400 no", {}, "API Error: 400 no"],
    ["Prompt is too long", {}, "exhausted"],
    // This subagent failed meanwhile.
    ["no", { agent_type: "Explore" }, "too_few_groups"],
    ["no", { agent_id: undefined }, "too_few_groups"],
  ] as const;
  for (const [words, agent, reason] of rows) {
    const run = start();
    run.hook("PreCompact", 200);
    run.hook("StopFailure", 300, { agent_id: "x", ...agent, last_assistant_message: words });
    run.push(answer("done", 400));
    assertEquals(run.told, `init compacting <${reason}> done`);
  }
});

Deno.test("an answer waits for the reason of a failed summary", () => {
  const asked = () => {
    const run = start();
    run.each(call("a", 100), result("a", 150), call("b", 160));
    run.hook("PreCompact", 200);
    run.each(result("b", 180), answer("done", 400));
    assertEquals(run.told, `${BEGINNING} call-b result-b`);
    return run;
  };
  const refused = asked();
  refused.hook("StopFailure", 300, { agent_id: "x", last_assistant_message: "API Error: 400 no" });
  assertEquals(
    refused.told,
    `${BEGINNING} call-b result-b compacting <API Error: 400 no> done`,
  );
  // The hook may be lost.
  const silent = asked();
  silent.finish();
  assertEquals(silent.told, `${BEGINNING} call-b result-b ${FAILED} done`);
});

Deno.test("compactions of subagents are not printed", () => {
  const run = start();
  run.hook("PreCompact", 200, { agent_id: "x" });
  run.hook("PostCompact", 250, { agent_id: "x" });
  run.push(answer("done", 400));
  assertEquals([run.told, run.due("compaction")], ["init done", undefined]);
});

Deno.test("a compaction begins in print a second after its hook", () => {
  const run = start();
  run.push(call("a", 100));
  run.hook("PreCompact", 200);
  assertEquals(run.due("compaction"), 1000);
  run.pass("compaction");
  // The result of the tool has not been read yet.
  assertEquals(run.told, "init call-a");
  run.push(result("a", 150));
  run.pass("compaction");
  assertEquals([run.told, run.due("compaction")], [`${BEGINNING} compacting`, undefined]);
  run.each(BOUNDARY, SUMMARY);
  assertEquals(run.told, `${BEGINNING} compacting <success> compact_boundary summary`);
});

Deno.test("a compaction begins after the outcome of the one before", () => {
  const run = start();
  run.each(call("a", 100), result("a", 150));
  run.hook("PreCompact", 200);
  run.hook("PreCompact", 400);
  run.pass("compaction");
  run.pass("compaction");
  assertEquals(run.told, `${BEGINNING} compacting`);
  run.each(call("b", 300), result("b", 350));
  run.pass("compaction");
  assertEquals(run.told, `${BEGINNING} ${FAILED} call-b result-b compacting`);
});

Deno.test("a compacted turn has one result", () => {
  const run = start();
  run.each(call("b", 300), result("b", 350));
  run.hook("PreCompact", 400);
  run.each(BOUNDARY, SUMMARY, answer("done", 600));
  run.finish();
  assertEquals(run.told, `init ${COMPACTED} done`);
  const turns = runTurns(run.state).recent;
  assertEquals(
    turns.map(({ numTurns, text, answers, usage }) => [numTurns, text, answers, usage]),
    [[3, "done", 2, { output_tokens: 4 }]],
  );
});

Deno.test("lines written twice or late are printed once, in order", () => {
  const run = start();
  run.push(call("b", 300));
  run.hook("PreCompact", 400);
  run.hook("PostCompact", 510);
  run.each(result("b", 350), answer("one", 600), BOUNDARY, call("c", 610));
  assertEquals(run.told, `init ${COMPACTED}`.replace(" summary", ""));
  run.each(SUMMARY, { ...call("b", 300), parentUuid: "summary" }, {
    ...result("b", 350),
    slug: "x",
  });
  run.each(result("c", 620), answer("done", 650), OVER);
  run.finish();
  assertEquals(run.told, `init ${COMPACTED} one call-c result-c done`);
  assertEquals(runTurns(run.state).recent.map(({ numTurns }) => numTurns), [4]);
});

Deno.test("lines wait for a summary until the turn ends", () => {
  const rows = [
    [[answer("done", 600)], "init", "init done"],
    [[answer("done", 600), OVER], "init done", ""],
    [[BOUNDARY, answer("done", 600), OVER], "init compacting <success> compact_boundary done", ""],
  ] as const;
  for (const [lines, before, after] of rows) {
    const run = start();
    run.hook("PreCompact", 400);
    run.hook("PostCompact", 510);
    run.each(...lines);
    const told = run.told;
    run.finish();
    assertEquals([told, run.told], [before, after || before]);
  }
});

Deno.test("a compaction's boundary has the fields of claude -p", () => {
  const run = start();
  run.push(BOUNDARY);
  assertEquals(run.told, "init compacting <success> compact_boundary");
  assertEquals(run.frames.at(-1), {
    type: "system",
    subtype: "compact_boundary",
    compact_metadata: {
      trigger: "auto",
      pre_tokens: 19615,
      post_tokens: 751,
      cumulative_dropped_tokens: 18864,
      duration_ms: 49,
      preserved_segment: { head_uuid: "call-b", anchor_uuid: "summary", tail_uuid: "result-b" },
      preserved_messages: { anchor_uuid: "summary", uuids: PRESERVED, all_uuids: PRESERVED },
    },
    logical_parent_uuid: "result-b",
    uuid: "boundary",
    session_id: "s",
  });
  run.push({ ...BOUNDARY, uuid: "another", compactMetadata: "?" });
  assertEquals(
    run.told,
    "init compacting <success> compact_boundary compacting <success> compact_boundary",
  );
  assertEquals(run.frames.at(-1)?.["compact_metadata"], {});
});

Deno.test("a typed compaction is printed before the session begins", () => {
  const run = new CompactedRun();
  run.each({ ...BOUNDARY, compactMetadata: { trigger: "manual", preTokens: 12009 } }, SUMMARY);
  run.each(CAVEAT, COMMAND, OUTPUT);
  assertEquals(run.told, "compacting <success> init compact_boundary summary output");
  assertEquals(run.frames[0]?.["compact_output_chars"], undefined);
  assertEquals(fieldsOf(run.frames, "user", "message", "isReplay", "isSynthetic"), [
    [{ role: "user", content: "The short of it" }, false, true],
    [
      { role: "user", content: "<local-command-stdout>Compacted </local-command-stdout>" },
      true,
      undefined,
    ],
  ]);
  assertEquals(run.state.typedCommand, { command: "compact", result: "" });
});

/** What is printed where there is no conversation. */
const NOTHING = "Error: No messages to compact";

Deno.test("a failed typed compaction is printed with its reason", () => {
  const blocked = "Compaction blocked by PreCompact hook: [callback]";
  const aborted = "<API Error: Request was aborted.>";
  const rows = [
    ["Too short.", true, "compacting <Too short.> init f", "Too short."],
    ["Too short.", false, "init f", ""],
    ["Compaction canceled.", true, `compacting ${aborted} init f`, ""],
    [blocked, true, `compacting <skipped: ${blocked}> init f`, blocked],
  ] as const;
  for (const [words, isResumed, told, result] of rows) {
    const run = new CompactedRun();
    if (isResumed) run.give({ type: "earlier", entries: [entryOf(PROMPT)] });
    const content = `<local-command-stderr>${words}</local-command-stderr>`;
    run.each(CAVEAT, COMMAND, {
      ...{ type: "system", subtype: "local_command", uuid: "f" },
      ...at(500),
      content,
    });
    assertEquals([run.told, run.state.typedCommand?.result], [told, result]);
    const last = run.frames.at(-1);
    const said = isResumed ? words : NOTHING;
    const source = `<local-command-stderr>${said}</local-command-stderr>`;
    assertEquals(last?.["local_command_source"], source);
    assertEquals(last?.["local_command_run"], { command: "compact", args: "keep it" });
    const { content: [block] } = last?.["message"] as { readonly content: readonly Line[] };
    assertEquals(block?.["text"], said);
  }
});

Deno.test("command output and lines that make room are no turn", () => {
  const run = new CompactedRun();
  const makeRoom = (name: string) => {
    const content = [{ type: "text", text: "No response requested." }];
    run.push(
      lines.prompt([{ type: "text", text: "Continue from where you left off." }], {
        uuid: `${name}r`,
        isMeta: true,
      }),
    );
    run.push({
      type: "assistant",
      uuid: `${name}a`,
      message: { id: "m", model: "<synthetic>", content },
    });
  };
  makeRoom("before");
  run.push(PROMPT);
  run.pass("init");
  makeRoom("after");
  run.push({ type: "system", subtype: "local_command", content: OUTPUT.message.content });
  run.push(OUTPUT);
  assertEquals(run.told, "init");
  run.push(answer("done", 700));
  const turns = runTurns(run.state).recent;
  assertEquals(turns.map(({ numTurns, answers }) => [numTurns, answers]), [[2, 1]]);
});

Deno.test("a vain compaction is printed before its earlier error", () => {
  const run = start();
  run.each(call("a", 100), result("a", 150));
  run.hook("PreCompact", 300);
  run.push({ ...answer("Prompt is too long", 200), isApiErrorMessage: true });
  assertEquals(run.told, `${BEGINNING} ${FAILED} Prompt is too long`);
});
