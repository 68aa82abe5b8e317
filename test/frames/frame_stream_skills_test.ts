import { assertEquals } from "@std/assert";
import type { Frame } from "../../src/wire/frame.ts";
import { startTelling } from "./telling.ts";

const version = "2.1.332";

/** A session that has begun, in which there are skills, and what is said of it from then on. */
function begin(options: { readonly subagentText?: true } = {}) {
  const told = startTelling(options);
  const { frames } = told;
  const push = (line: object) => told.push({ version, ...line });
  const pushFork = (agentId: string, line: object, more: { readonly background?: true } = {}) =>
    told.pushSubagent({ agentId, type: "general-purpose", description: "/busy now", ...more }, {
      version,
      isSidechain: true,
      ...line,
    });
  push({
    type: "attachment",
    attachment: {
      type: "skill_listing",
      names: ["busy", "quick"],
      content: "- busy: Works\n- a lot\n- quick: Answers",
    },
  });
  push({ type: "user", uuid: "p", message: { content: "Hi" } });
  told.begin();
  frames.length = 0;
  return { ...told, push, pushFork };
}

const answer = (content: object, id: string) => ({
  type: "assistant",
  message: { id: `m-${id}`, model: "m", content: [content] },
});
const call = (skill: string, id: string) =>
  answer({ type: "tool_use", id, name: "Skill", input: { skill } }, id);
const shell = answer({ type: "tool_use", id: "b", name: "Bash", input: { command: "ls" } }, "b");
const words = (text: string) => answer({ type: "text", text }, text);
const result = (id: string, toolUseResult: object = { success: true }) => ({
  type: "user",
  timestamp: "2026-01-01T00:00:09.000Z",
  toolUseResult,
  message: { content: [{ type: "tool_result", tool_use_id: id, content: "done" }] },
});
const forked = (agentId: string, more: object = {}) => ({ status: "forked", agentId, ...more });

/** With what the subagent of a skill begins; that of a custom command names no folder. */
const skillText = (folder?: string) => ({
  type: "user",
  isMeta: true,
  parentUuid: null,
  message: {
    content: `${folder === undefined ? "" : `Base directory for this skill: ${folder}\n\n`}Work`,
  },
});
const remark = {
  type: "user",
  isMeta: true,
  parentUuid: "x",
  message: { content: "A hook says no" },
};

const kinds = (frames: readonly Frame[]) =>
  frames.map(({ type, subtype, parent_tool_use_id: parent }) =>
    `${subtype ?? type}${typeof parent === "string" ? ` of ${parent}` : ""}`
  );

/** What is printed of a skill for which the turn waits. */
const ofSkill = (id: string, frames: readonly string[] = []) => [
  "task_started",
  `user of ${id}`,
  ...frames,
  "task_notification",
  "user",
];

Deno.test("frames: a skill that runs as a subagent is told as it works", () => {
  const { frames, push, pushFork } = begin();
  // Its first line may be read before that of the call.
  pushFork("a1", skillText("/w/skills/busy"));
  assertEquals(frames, []);
  push(call("busy", "s1"));
  pushFork("a1", shell);
  pushFork("a1", result("b"));
  const work = ["assistant of s1", "user of s1"];
  assertEquals(kinds(frames).slice(-2), work);
  pushFork("a1", remark);
  pushFork("a1", words("It is done"));
  push(result("s1", forked("a1")));
  assertEquals(kinds(frames), ["assistant", ...ofSkill("s1", work)]);
  const said = frames.find(({ parent_tool_use_id: parent }) => parent === "s1");
  assertEquals(
    [said?.["subagent_type"], said?.["task_description"]],
    ["general-purpose", "Works\n- a lot"],
  );

  frames.length = 0;
  push(call("quick", "s2"));
  pushFork("a2", skillText("/w/skills/quick"));
  pushFork("a2", words("It is done"));
  push(result("s2", forked("a2")));
  assertEquals(kinds(frames), ["assistant", ...ofSkill("s2")]);
});

Deno.test("frames: of several calls of skills that one is meant whose folder is named, or that returns", () => {
  const { frames, push, pushFork } = begin();
  push(call("busy", "s1"));
  push(call("plugin:quick", "s2"));
  push(call("/quick", "s3"));
  frames.length = 0;
  pushFork("a1", skillText("/w/skills/busy"));
  pushFork("a1", shell);
  assertEquals(kinds(frames).at(-1), "assistant of s1");
  pushFork("a1", words("It is done"));
  push(result("s1", forked("a1")));
  frames.length = 0;
  // Both others are meant by this, and any by the command that names no folder.
  pushFork("a2", skillText("/w/skills/quick"));
  pushFork("a2", shell);
  pushFork("a2", words("It is done"));
  assertEquals(frames, []);
  push(result("s2", forked("a2")));
  assertEquals(kinds(frames), ofSkill("s2", ["assistant of s2"]));
  frames.length = 0;
  push(call("busy", "s4"));
  pushFork("a3", skillText());
  pushFork("a3", words("It is done"));
  assertEquals(kinds(frames), ["assistant"]);
  push(result("s3", forked("a3")));
  assertEquals(kinds(frames), ["assistant", ...ofSkill("s3")]);
});

Deno.test("frames: a typed skill is told with its output, ahead of which is what it did", () => {
  const { frames, push, pushSubagent, state } = startTelling();
  const subagent = { agentId: "a1", type: "general-purpose", description: "" };
  const pushFork = (line: object) =>
    pushSubagent(subagent, { version, isSidechain: true, ...line });
  const typed = { type: "user", version, uuid: "p", message: { content: "/busy now" } };
  pushFork(skillText("/w/skills/busy"));
  pushFork({
    type: "attachment",
    attachment: { type: "skill_listing", names: ["busy"], content: "- busy: Works" },
  });
  pushFork(shell);
  pushFork(result("b"));
  push(typed);
  const content = "<local-command-stdout>It is done</local-command-stdout>";
  const output = { type: "system", subtype: "local_command", content };
  push({ ...output, version, timestamp: "2026-01-01T00:00:10.000Z" });
  // Its last words are in a file of their own.
  assertEquals(frames, []);
  pushFork({ ...words("It is done"), isApiErrorMessage: true });
  const of = " of forked-command-busy";
  assertEquals(
    kinds(frames),
    [
      ...["task_started", "task_notification", "init"],
      ...[`user${of}`, `assistant${of}`, `user${of}`, "assistant"],
    ],
  );
  const work = frames.filter(({ parent_tool_use_id: parent }) => typeof parent === "string");
  assertEquals(
    work.every(({ task_description: description }) => description === "Works"),
    true,
  );
  const statuses = frames.flatMap(({ status }) => status === undefined ? [] : [status]);
  assertEquals(statuses, ["failed"]);
  assertEquals(state().typed, { command: "custom", result: "It is done" });
});

Deno.test("frames: a version may print no frames of a typed skill's subagent", () => {
  const { frames, push, pushSubagent } = startTelling();
  const old = { version: "2.1.285" };
  const subagent = { agentId: "a1", type: "general-purpose", description: "" };
  for (const line of [skillText("/w/skills/busy"), words("It is done")]) {
    pushSubagent(subagent, { ...old, isSidechain: true, ...line });
  }
  push({ ...old, type: "user", uuid: "p", message: { content: "/busy now" } });
  const content = "<local-command-stdout>It is done</local-command-stdout>";
  push({ ...old, type: "system", subtype: "local_command", content });
  assertEquals(kinds(frames), ["task_started", "task_notification", "init", "assistant"]);
});

Deno.test("frames: a review of Claude Code's own that was typed has its name", () => {
  const content = "<local-command-stdout>Fine</local-command-stdout>";
  for (
    const [given, command] of [["/code-review", "code_review"], ["/review", "review"]] as const
  ) {
    const { push, tell, state } = startTelling();
    tell({ type: "message", message: { text: `${given} high`, way: "paste", command: given } });
    push({ type: "user", version, uuid: "p", message: { content: "/code-review high" } });
    push({ type: "system", subtype: "local_command", version, content });
    // Nothing is read of its subagent.
    tell({ type: "deadline", name: "subagent" });
    assertEquals(state().typed, { command, result: "Fine" });
  }
});

Deno.test("frames: a skill that runs in the session itself gives no subagent's call", () => {
  const { frames, push, pushFork } = begin();
  push(call("busy", "s1"));
  push(result("s1"));
  push(remark);
  frames.length = 0;
  // Somebody has typed it, and nobody is told.
  pushFork("a1", skillText());
  pushFork("a1", shell);
  pushFork("a2", shell);
  push({ type: "system", subtype: "turn_duration", durationMs: 1 });
  push(call("busy", "s2"));
  assertEquals(kinds(frames), ["assistant"]);
  pushFork("a3", skillText());
  pushFork("a3", shell);
  assertEquals(kinds(frames).at(-1), "assistant of s2");
});

Deno.test("frames: the result of a skill waits for what its subagent has said", () => {
  const { frames, push, pushFork, tell } = begin();
  push(call("busy", "s1"));
  push(result("s1", forked("a1")));
  pushFork("a1", skillText("/w/skills/busy"));
  assertEquals(kinds(frames), ["assistant"]);
  pushFork("a1", words("It is done"));
  assertEquals(kinds(frames), ["assistant", ...ofSkill("s1")]);

  push(call("busy", "s2"));
  frames.length = 0;
  push(result("s2", forked("a2")));
  tell({ type: "deadline", name: "subagent" });
  assertEquals(kinds(frames), ["user"], "nothing has been read of it");
});

Deno.test("frames: tasks that are skills are told as parts of their calls", () => {
  const { frames, push, pushFork } = begin({ subagentText: true });
  push(call("busy", "s1"));
  pushFork("a1", skillText("/w/skills/busy"));
  pushFork("a1", remark);
  pushFork("a1", { ...words("API Error"), isApiErrorMessage: true });
  push(result("s1", forked("a1")));
  assertEquals(kinds(frames), [
    "assistant",
    ...ofSkill("s1", ["user of s1", "assistant of s1"]),
  ]);
  const tasks = frames.filter(({ type }) => type === "system");
  assertEquals(
    tasks.map(({ description, summary, status, ambient, skip_transcript }) => [
      ...[description ?? summary, status, ambient, skip_transcript],
    ]),
    [["/busy", undefined, true, true], ["/busy", "failed", true, true]],
  );
  assertEquals(
    [tasks[0]?.["prompt"], tasks[0]?.["is_backgrounded"]],
    ["Base directory for this skill: /w/skills/busy\n\nWork", false],
  );
});

Deno.test("frames: a skill may run as a subagent of a subagent", () => {
  const { frames, push, pushFork, pushSubagent } = begin();
  const input = { description: "Look", prompt: "Look", run_in_background: false };
  push(answer({ type: "tool_use", id: "t", name: "Agent", input }, "t"));
  const inAgent = (line: object) =>
    pushSubagent({ agentId: "a0", toolUseId: "t", type: "Explore", description: "Look" }, {
      version,
      isSidechain: true,
      ...line,
    });
  inAgent(call("busy", "s1"));
  frames.length = 0;
  pushFork("a1", skillText("/w/skills/busy"));
  pushFork("a1", shell);
  inAgent(result("s1", forked("a1")));
  assertEquals(kinds(frames), ["task_started", "task_notification", "user of t"]);
  const [started, , told] = frames;
  assertEquals([started?.["parent_task_id"], started?.["spawn_depth"]], ["a0", 2]);
  assertEquals<unknown>(told?.["tool_use_result"], forked("a1"));
});

Deno.test("frames: a skill for which the turn does not wait is told like other subagents in the background", () => {
  const { frames, push, pushFork } = begin();
  push(call("busy", "s1"));
  frames.length = 0;
  push(result("s1", forked("a1", { background: true })));
  for (const line of [skillText("/w/skills/busy"), shell, words("It is done")]) {
    pushFork("a1", line, { background: true });
  }
  assertEquals(kinds(frames), [
    "user",
    "background_tasks_changed",
    "task_started",
    "assistant of s1",
    "task_progress",
    "assistant of s1",
  ]);
  const started = frames[2];
  assertEquals(
    [started?.["description"], started?.["is_backgrounded"], started?.["ambient"]],
    ["/busy now", true, undefined],
  );

  const moved = begin();
  moved.push(call("busy", "s1"));
  moved.pushFork("a1", skillText("/w/skills/busy"));
  moved.frames.length = 0;
  moved.push(result("s1", forked("a1", { background: true })));
  moved.pushFork("a1", words("It is done"));
  assertEquals(kinds(moved.frames), [
    "background_tasks_changed",
    "task_updated",
    "user",
    "assistant of s1",
  ]);
});
