import { assertEquals } from "@std/assert";
import { runTurns } from "../../../src/frames/turns/run_turns.ts";
import { type Entry, parseEntry } from "../../../src/transcript/entry.ts";
import type { AssistantMessage } from "../../../src/wire/message_frames.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import { startTelling, type Telling } from "../telling.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
const version = "2.1.332";

/** When something was written, so many milliseconds after the start. */
const at = (ms: number) => ({ timestamp: new Date(START + ms).toISOString() });

const prompt = {
  type: "user",
  uuid: "prompt",
  parentUuid: null,
  ...at(0),
  message: { content: "Work" },
};

function answer(uuid: string, ms: number, block: object = { type: "text", text: uuid }) {
  const message = { id: `m-${uuid}`, model: "m", content: [block], usage: { output_tokens: 2 } };
  return { type: "assistant", uuid, ...at(ms), message };
}

const call = (id: string, ms: number) =>
  answer(`call-${id}`, ms, { type: "tool_use", id, name: "Bash", input: { command: "x" } });

function result(id: string, ms: number) {
  const content = [{ tool_use_id: id, type: "tool_result", content: id }];
  return { type: "user", uuid: `result-${id}`, ...at(ms), message: { role: "user", content } };
}

const PRESERVED = {
  anchorUuid: "summary",
  uuids: ["call-b", "result-b"],
  allUuids: ["call-b", "result-b"],
};

const boundary = {
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
    preservedMessages: PRESERVED,
    postTokens: 751,
    cumulativeDroppedTokens: 18864,
    preCompactOrganizations: ["o"],
  },
};

const summary = {
  type: "user",
  uuid: "summary",
  parentUuid: "boundary",
  ...at(450),
  isCompactSummary: true,
  isVisibleInTranscriptOnly: true,
  message: { role: "user", content: "The short of it" },
};

const over = { type: "system", subtype: "turn_duration", uuid: "over", ...at(700) };

/** The lines that a typed /compact leaves besides those of every compaction. */
const caveat = {
  type: "user",
  uuid: "caveat",
  parentUuid: "summary",
  isMeta: true,
  ...at(400),
  message: { content: "<local-command-caveat>Caveat: …</local-command-caveat>" },
};
const command = {
  type: "user",
  uuid: "command",
  parentUuid: "caveat",
  ...at(400),
  message: {
    content: "<command-name>/compact</command-name>\n  <command-message>compact" +
      "</command-message>\n  <command-args>keep it</command-args>",
  },
};
const output = {
  type: "user",
  uuid: "output",
  parentUuid: "command",
  ...at(600),
  message: {
    content: "<local-command-stdout>\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m" +
      "</local-command-stdout>",
  },
};

interface Compacted extends Telling {
  readonly hook: (event: string, ms: number, payload?: object) => void;
}

/** Begins a session whose prompt has been read. */
function start(): Compacted {
  const begun = resume();
  begun.push(prompt);
  begun.begin();
  return begun;
}

/** Begins a session. */
function resume(): Compacted {
  const telling = startTelling();
  const push = (line: string | object) =>
    telling.push(typeof line === "string" ? line : { version, ...line });
  const hook: Compacted["hook"] = (event, ms, payload = {}) =>
    telling.tell({
      type: "hook",
      event,
      payload: { trigger: "auto", ...payload },
      ranAt: START + ms,
    });
  return { ...telling, push, hook };
}

/** What a frame is, as briefly as it can be told. */
function brief(frame: Frame): string {
  const { type, subtype, status, compact_result, compact_error, uuid } = frame;
  return subtype === "status"
    ? [status, compact_result, compact_error].filter((word) => word !== undefined).join(" ")
    : type === "system"
    ? `${subtype}`
    : `${uuid}`;
}

const BEGINNING = ["init", "call-a", "result-a"];
const COMPACTED = ["call-b", "result-b", "compacting", " success", "compact_boundary", "summary"];

/** What is said where there is no conversation. */
const NOTHING = "Error: No messages to compact";

Deno.test("a compaction is told between the lines before and after it", () => {
  const { push, hook, tell, frames } = start();
  hook("PreCompact", 200);
  // A hook of the caller's is called for the same one.
  tell({ type: "hook", event: "PreCompact", payload: {}, id: "1", callback: 0 });
  push(call("a", 100));
  push(result("a", 150));
  // The first has failed: the answer came without a boundary.
  push(call("b", 300));
  hook("PreCompact", 400);
  push(result("b", 350));
  hook("PostCompact", 480);
  for (const line of [boundary, summary, answer("done", 600), over]) push(line);
  const failed = ["compacting", " failed too_few_groups"];
  assertEquals(frames.map(brief), [...BEGINNING, ...failed, ...COMPACTED, "done"]);
  const { uuid: _, ...compacting } = frames[3] as Frame;
  assertEquals(compacting, {
    type: "system",
    subtype: "status",
    status: "compacting",
    session_id: "s",
    compact_output_chars: 0,
  });
});

Deno.test("the request for a summary is refused in the API's words", () => {
  const refused = (error: string, agent: object = { agent_id: "x" }) => {
    const { push, hook, frames } = start();
    hook("PreCompact", 200);
    hook("StopFailure", 300, { ...agent, last_assistant_message: error });
    push(answer("done", 400));
    return frames.map(({ compact_error }) => compact_error).filter(Boolean);
  };
  assertEquals(refused("API Error: 400 no"), ["API Error: 400 no"]);
  assertEquals(refused("Prompt is too long"), ["exhausted"]);
  // A subagent that failed meanwhile has a type.
  assertEquals(refused("no", { agent_id: "x", agent_type: "Explore" }), ["too_few_groups"]);
});

Deno.test("why there is no summary may be told after the answer that follows", () => {
  const told = (more: (hook: Compacted["hook"]) => void) => {
    const { push, hook, finish, frames } = start();
    for (const line of [call("a", 100), result("a", 150), call("b", 160)]) push(line);
    hook("PreCompact", 200);
    for (const line of [result("b", 180), answer("done", 400)]) push(line);
    assertEquals(frames.map(brief).slice(BEGINNING.length), ["call-b", "result-b"]);
    more(hook);
    const heard = frames.map(brief).slice(BEGINNING.length + 2);
    finish(version);
    assertEquals(brief(frames.at(-1) as Frame), "done");
    return [heard, frames.map(({ compact_error }) => compact_error).filter(Boolean)];
  };
  const refusal = { agent_id: "x", last_assistant_message: "API Error: 400 no" };
  assertEquals(told((hook) => hook("StopFailure", 300, refusal)), [
    ["compacting", " failed API Error: 400 no", "done"],
    ["API Error: 400 no"],
  ]);
  // A hook of ours may be lost, whatever happens: then nobody knows it.
  assertEquals(told(() => {}), [[], ["too_few_groups"]]);
});

Deno.test("compactions of subagents are not told", () => {
  const { push, hook, frames } = start();
  hook("PreCompact", 200, { agent_id: "x" });
  hook("PostCompact", 250, { agent_id: "x" });
  push(answer("done", 400));
  assertEquals(frames.map(brief), ["init", "done"]);
});

Deno.test("that a compaction is under way is told before its outcome", () => {
  const { push, hook, tell, frames } = start();
  push(call("a", 100));
  hook("PreCompact", 200);
  tell({ type: "deadline", name: "compaction" });
  // What the tool gave has not been read yet.
  assertEquals(frames.map(brief), ["init", "call-a"]);
  push(result("a", 150));
  tell({ type: "deadline", name: "compaction" });
  assertEquals(frames.map(brief), [...BEGINNING, "compacting"]);
  tell({ type: "deadline", name: "compaction" });
  push(boundary);
  push(summary);
  const told = ["compacting", " success", "compact_boundary", "summary"];
  assertEquals(frames.map(brief), [...BEGINNING, ...told]);
});

Deno.test("a compaction begins once the outcome of the one before it is told", () => {
  const { push, hook, tell, frames } = start();
  for (const line of [call("a", 100), result("a", 150)]) push(line);
  hook("PreCompact", 200);
  hook("PreCompact", 400);
  tell({ type: "deadline", name: "compaction" });
  tell({ type: "deadline", name: "compaction" });
  assertEquals(frames.map(brief), [...BEGINNING, "compacting"]);
  for (const line of [call("b", 300), result("b", 350)]) push(line);
  tell({ type: "deadline", name: "compaction" });
  const failed = ["compacting", " failed too_few_groups"];
  const rest = [...failed, "call-b", "result-b", "compacting"];
  assertEquals(frames.map(brief), [...BEGINNING, ...rest]);
});

Deno.test("one result tells of a turn that was compacted", () => {
  const { push, hook, state, finish, frames } = start();
  for (const line of [call("b", 300), result("b", 350)]) push(line);
  hook("PreCompact", 400);
  for (const line of [boundary, summary, answer("done", 600)]) push(line);
  finish(version);
  assertEquals(frames.map(brief), ["init", ...COMPACTED, "done"]);
  const [turn, ...more] = runTurns(state()).recent;
  assertEquals(more, []);
  assertEquals([turn?.numTurns, turn?.text, turn?.answers], [3, "done", 2]);
  assertEquals(turn?.usage, { output_tokens: 4 });
});

Deno.test("neither the order of the lines nor what is written twice is told", () => {
  const { push, hook, state, finish, frames } = start();
  push(call("b", 300));
  hook("PreCompact", 400);
  hook("PostCompact", 510);
  // As it was written once, and worse: the answer before the boundary.
  for (const line of [result("b", 350), answer("one", 600), boundary, call("c", 610)]) push(line);
  assertEquals(frames.map(brief), ["init", ...COMPACTED.slice(0, -1)]);
  push(summary);
  push({ ...call("b", 300), parentUuid: "summary" });
  push({ ...result("b", 350), slug: "x" });
  push(result("c", 620));
  push(answer("done", 650));
  push(over);
  finish(version);
  const rest = ["one", "call-c", "result-c", "done"];
  assertEquals(frames.map(brief), ["init", ...COMPACTED, ...rest]);
  assertEquals(runTurns(state()).recent.map(({ numTurns }) => numTurns), [4]);
});

Deno.test("lines that wait for a summary are told at the end of the turn, or of the run", () => {
  const lacking = (...lines: readonly object[]) => {
    const { push, hook, finish, frames } = start();
    hook("PreCompact", 400);
    hook("PostCompact", 510);
    for (const line of lines) push(line);
    const before = frames.length;
    finish(version);
    return [before, frames.length];
  };
  assertEquals(lacking(answer("done", 600)), [1, 2]);
  assertEquals(lacking(answer("done", 600), over), [2, 2]);
  assertEquals(lacking(boundary, answer("done", 600), over), [5, 5]);
});

Deno.test("the boundary of a compaction has the fields of claude -p", () => {
  const { push, frames } = start();
  push(boundary);
  assertEquals(frames.at(-1), {
    type: "system",
    subtype: "compact_boundary",
    compact_metadata: {
      trigger: "auto",
      pre_tokens: 19615,
      post_tokens: 751,
      cumulative_dropped_tokens: 18864,
      duration_ms: 49,
      preserved_segment: { head_uuid: "call-b", anchor_uuid: "summary", tail_uuid: "result-b" },
      preserved_messages: {
        anchor_uuid: "summary",
        uuids: PRESERVED.uuids,
        all_uuids: PRESERVED.allUuids,
      },
    },
    logical_parent_uuid: "result-b",
    uuid: "boundary",
    session_id: "s",
  });
});

Deno.test("a boundary of which only the transcript knows tells its compaction", () => {
  const { push, frames } = start();
  push({ ...boundary, compactMetadata: "?" });
  assertEquals(frames.slice(1).map(brief), ["compacting", " success", "compact_boundary"]);
  assertEquals(frames.at(-1)?.["compact_metadata"], {});
});

Deno.test("a typed compaction is told before the session begins, with its output", () => {
  const { push, state, frames } = resume();
  push({ ...boundary, compactMetadata: { trigger: "manual", preTokens: 12009 } });
  for (const line of [summary, caveat, command, output]) push(line);
  const told = ["compacting", " success", "init", "compact_boundary", "summary", "output"];
  assertEquals(frames.map(brief), told);
  const [compacting] = frames;
  assertEquals(compacting?.["compact_output_chars"], undefined);
  const shown = frames.slice(-2).map(({ message, isReplay, isSynthetic }) => {
    const { content } = message as { readonly content: unknown };
    return [content, isReplay, isSynthetic];
  });
  assertEquals(shown, [
    ["The short of it", false, true],
    ["<local-command-stdout>Compacted </local-command-stdout>", true, undefined],
  ]);
  assertEquals(state().typed, { command: "compact", result: "" });
});

Deno.test("a typed compaction that fails is told with what Claude Code says of it", () => {
  const said = (text: string, isResumed: boolean) => {
    const { tell, push, state, frames } = resume();
    const earlier = parseEntry(JSON.stringify(prompt)) as Entry;
    if (isResumed) tell({ type: "earlier", entries: [earlier] });
    const content = `<local-command-stderr>${text}</local-command-stderr>`;
    const failed = { type: "system", subtype: "local_command", uuid: "f", ...at(500), content };
    for (const line of [caveat, command, failed]) push(line);
    const last = frames.at(-1);
    const source = isResumed ? content : `<local-command-stderr>${NOTHING}</local-command-stderr>`;
    assertEquals(last?.["local_command_source"], source);
    assertEquals(
      last?.["local_command_run"],
      { command: "compact", args: "keep it" },
    );
    const { content: [block] } = last?.["message"] as AssistantMessage;
    return [frames.map(brief), block?.text, state().typed?.result];
  };
  const failed = ["compacting", " failed Too short.", "init", "f"];
  assertEquals(said("Too short.", true), [failed, "Too short.", "Too short."]);
  assertEquals(said("Too short.", false), [["init", "f"], NOTHING, ""]);
  // One that was stopped says nothing in its result.
  const canceled = "Compaction canceled.";
  const why = " failed API Error: Request was aborted.";
  assertEquals(said(canceled, true), [["compacting", why, "init", "f"], canceled, ""]);
  const blocked = "Compaction blocked by PreCompact hook: [callback]";
  assertEquals(said(blocked, true), [
    ["compacting", ` failed skipped: ${blocked}`, "init", "f"],
    blocked,
    blocked,
  ]);
});

Deno.test("the output of a command is not told in a turn, nor what makes room for a prompt", () => {
  const { push, begin, state, frames } = resume();
  const text = (text: string) => ({ content: [{ type: "text", text }] });
  const makeRoom = (before: string) => {
    const remark = text("Continue from where you left off.");
    push({ type: "user", uuid: `${before}r`, isMeta: true, message: remark });
    const message = { id: "m", model: "<synthetic>", ...text("No response requested.") };
    push({ type: "assistant", uuid: `${before}a`, message });
  };
  makeRoom("before");
  push(prompt);
  begin();
  makeRoom("after");
  push({ type: "system", subtype: "local_command", content: output.message.content });
  push(output);
  assertEquals(frames.map(brief), ["init"]);
  push(answer("done", 700));
  assertEquals(runTurns(state()).recent.map(({ numTurns, answers }) => [numTurns, answers]), [[
    2,
    1,
  ]]);
});

Deno.test("a compaction in vain is told before the error, which is dated before it", () => {
  const { push, hook, frames } = start();
  push(call("a", 100));
  push(result("a", 150));
  hook("PreCompact", 300);
  push({ ...answer("Prompt is too long", 200), isApiErrorMessage: true });
  assertEquals(frames.map(brief), [
    ...BEGINNING,
    "compacting",
    " failed too_few_groups",
    "Prompt is too long",
  ]);
});
