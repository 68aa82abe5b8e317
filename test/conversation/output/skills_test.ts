import { assertEquals } from "@std/assert";
import type { OutputOptions } from "../../../src/conversation/output/output_options.ts";
import { CLOSED, message } from "../control/caller_inputs.ts";
import { BUSY, COST, IDLE, REACHABLE, stop, submit } from "../control/inputs.ts";
import {
  answer,
  at,
  attached,
  call,
  type Line,
  notice,
  OVER,
  prompt,
  REQUEST,
  result,
  text,
} from "./lines.ts";
import { fieldsOf, kinds } from "./outlines.ts";
import { ConversationRun, FramesRun, type News, VERSION } from "./runs.ts";

/** A run that has begun, in which there are two skills. */
function begun(options: Partial<OutputOptions> = {}) {
  const run = new FramesRun(options);
  const content = "- busy: Works\n- a lot\n- quick: Answers";
  run.push(attached("skill_listing", { names: ["busy", "quick"], content }));
  run.push(prompt());
  run.pass("init");
  run.take();
  return run;
}

const skill = (name: string, id: string) => call(id, "Skill", { skill: name });
const SHELL = call("b", "Bash", { command: "ls" });
const forked = (id: string, agentId: string, more: Line = {}) => ({
  ...result(id, { status: "forked", agentId, ...more }),
  ...at(9000),
});
const fork = (agentId: string, more: object = {}) => ({
  agentId,
  type: "general-purpose",
  description: "/busy now",
  ...more,
});

/** The first line of a skill's subagent. That of a custom command names no folder. */
const skillText = (folder?: string) =>
  prompt(`${folder === undefined ? "" : `Base directory for this skill: ${folder}\n\n`}Work`, {
    isMeta: true,
    parentUuid: null,
  });
const BUSY_TEXT = skillText("/w/skills/busy");
const REMARK = prompt("A hook says no", { isMeta: true, parentUuid: "x" });
const DONE = text("It is done");

/** What is printed of a foreground skill. */
const ofSkill = (id: string, frames = "") =>
  `task_started user@${id} ${frames}task_notification user`;

Deno.test("a skill's subagent is printed as it works", () => {
  const run = begun();
  // Its first line may be read before that of the call.
  run.pushSubagent(fork("a1"), BUSY_TEXT);
  assertEquals(run.take(), []);
  run.push(skill("busy", "s1"));
  run.pushSubagent(fork("a1"), SHELL, result("b"), REMARK, DONE);
  run.push(forked("s1", "a1"));
  const frames = run.take();
  assertEquals(kinds(frames), `assistant ${ofSkill("s1", "assistant@s1 user@s1 ")}`);
  const [said] = frames.filter(({ parent_tool_use_id: parent }) => parent === "s1");
  assertEquals(said?.["subagent_type"], "general-purpose");
  assertEquals(said?.["task_description"], "Works\n- a lot");
  run.push(skill("quick", "s2"));
  run.pushSubagent(fork("a2"), skillText("/w/skills/quick"), DONE);
  run.push(forked("s2", "a2"));
  assertEquals(kinds(run.take()), `assistant ${ofSkill("s2")}`);
});

Deno.test("a skill's subagent belongs to the call of its folder", () => {
  const run = begun();
  for (const [name, id] of [["busy", "s1"], ["plugin:quick", "s2"], ["/quick", "s3"]] as const) {
    run.push(skill(name, id));
  }
  run.take();
  run.pushSubagent(fork("a1"), BUSY_TEXT, SHELL);
  assertEquals(kinds(run.take()), "task_started user@s1 assistant@s1");
  run.pushSubagent(fork("a1"), DONE);
  run.push(forked("s1", "a1"));
  run.take();
  // Both others are meant by this, and any by the command that names no folder.
  run.pushSubagent(fork("a2"), skillText("/w/skills/quick"), SHELL, DONE);
  assertEquals(run.take(), []);
  run.push(forked("s2", "a2"));
  assertEquals(kinds(run.take()), ofSkill("s2", "assistant@s2 "));
  run.push(skill("busy", "s4"));
  run.pushSubagent(fork("a3"), skillText(), DONE);
  assertEquals(kinds(run.take()), "assistant");
  run.push(forked("s3", "a3"));
  assertEquals(kinds(run.take()), ofSkill("s3"));
});

const OUTPUT = {
  type: "system",
  subtype: "local_command",
  content: "<local-command-stdout>It is done</local-command-stdout>",
};

Deno.test("a typed skill is printed at its end", () => {
  const run = new FramesRun();
  const listing = attached("skill_listing", { names: ["busy"], content: "- busy: Works" });
  run.pushSubagent(fork("a1"), BUSY_TEXT, listing, SHELL, result("b"));
  run.push(prompt("/busy now"));
  run.push({ ...OUTPUT, ...at(10_000) });
  // Its last words are in a file of their own.
  assertEquals(run.take(), []);
  run.pushSubagent(fork("a1"), { ...DONE, isApiErrorMessage: true });
  const frames = run.take();
  const of = "@forked-command-busy";
  const begins = "task_started task_notification init";
  assertEquals(kinds(frames), `${begins} user${of} assistant${of} user${of} assistant`);
  const work = frames.filter(({ parent_tool_use_id: parent }) => typeof parent === "string");
  assertEquals(work.map((frame) => frame["task_description"]), ["Works", "Works", "Works"]);
  assertEquals(fieldsOf(frames, "task_started", "description", "subagent_type", "prompt"), [
    ["/busy", "general-purpose", "Base directory for this skill: /w/skills/busy\n\nWork"],
  ]);
  assertEquals(fieldsOf(frames, "task_notification", "status"), [["failed"]]);
  assertEquals(run.state.typedCommand, { command: "custom", result: "It is done" });
});

Deno.test("an older version prints no words of typed skills", () => {
  const run = new FramesRun();
  const old = (line: Line) => ({ ...line, version: "2.1.285" });
  run.pushSubagent(fork("a1"), ...[BUSY_TEXT, DONE].map(old));
  run.push(old(prompt("/busy now")));
  run.push(old(OUTPUT));
  assertEquals(kinds(run.take()), "task_started task_notification init assistant");
});

Deno.test("a typed review has the name of its command", () => {
  const rows = [["/code-review", "code_review"], ["/review", "review"]] as const;
  for (const [given, command] of rows) {
    const run = new FramesRun();
    run.give({ type: "message", message: { text: `${given} high`, way: "paste", command: given } });
    run.push(prompt("/code-review high"));
    run.push(OUTPUT);
    // Nothing is read of its subagent.
    run.pass("subagent");
    assertEquals(run.state.typedCommand, { command, result: "It is done" });
  }
});

Deno.test("a skill that runs in the session has no subagent", () => {
  const run = begun();
  run.push(skill("busy", "s1"));
  run.push(result("s1"));
  run.push(REMARK);
  run.take();
  // Somebody has typed it.
  run.pushSubagent(fork("a1"), skillText(), SHELL);
  run.pushSubagent(fork("a2"), SHELL);
  run.push(OVER);
  run.push(skill("busy", "s2"));
  assertEquals(kinds(run.take()), "assistant");
  run.pushSubagent(fork("a3"), skillText(), SHELL);
  assertEquals(kinds(run.take()), "task_started user@s2 assistant@s2");
});

Deno.test("the result of a skill waits for its subagent's words", () => {
  const run = begun();
  run.push(skill("busy", "s1"));
  run.push(forked("s1", "a1"));
  run.pushSubagent(fork("a1"), BUSY_TEXT);
  assertEquals(kinds(run.take()), "assistant");
  run.pushSubagent(fork("a1"), DONE);
  assertEquals(kinds(run.take()), ofSkill("s1"));
  run.push(skill("busy", "s2"));
  run.push(forked("s2", "a2"));
  assertEquals(kinds(run.take()), "assistant");
  run.pass("subagent");
  assertEquals(kinds(run.take()), "user", "nothing has been read of it");
});

Deno.test("a skill's task is ambient and may fail", () => {
  const run = begun({ subagentText: true });
  run.push(skill("busy", "s1"));
  run.pushSubagent(fork("a1"), BUSY_TEXT, REMARK, {
    ...text("API Error"),
    isApiErrorMessage: true,
  });
  run.push(forked("s1", "a1"));
  const frames = run.take();
  assertEquals(kinds(frames), `assistant ${ofSkill("s1", "user@s1 assistant@s1 ")}`);
  const started = ["description", "ambient", "skip_transcript", "prompt", "is_backgrounded"];
  assertEquals(fieldsOf(frames, "task_started", ...started), [
    ["/busy", true, true, "Base directory for this skill: /w/skills/busy\n\nWork", false],
  ]);
  const ended = ["summary", "status", "ambient", "skip_transcript"];
  assertEquals(fieldsOf(frames, "task_notification", ...ended), [["/busy", "failed", true, true]]);
});

Deno.test("a skill may run as a subagent of a subagent", () => {
  const run = begun();
  const of = { agentId: "a0", toolUseId: "t" };
  run.push(call("t", "Agent", { description: "Look", prompt: "Look", run_in_background: false }));
  run.pushSubagent(of, skill("busy", "s1"));
  run.take();
  run.pushSubagent(fork("a1"), BUSY_TEXT, SHELL);
  run.pushSubagent(of, forked("s1", "a1"));
  const frames = run.take();
  assertEquals(kinds(frames), "task_started task_notification user@t");
  assertEquals(fieldsOf(frames, "task_started", "parent_task_id", "spawn_depth"), [["a0", 2]]);
  assertEquals(frames[2]?.["tool_use_result"], { status: "forked", agentId: "a1" });
});

Deno.test("a background skill is a background subagent", () => {
  const run = begun();
  const background = fork("a1", { background: true });
  run.push(skill("busy", "s1"));
  run.take();
  run.push(forked("s1", "a1", { background: true }));
  run.pushSubagent(background, BUSY_TEXT, SHELL, DONE);
  const frames = run.take();
  assertEquals(
    kinds(frames),
    "user background_tasks_changed task_started assistant@s1 task_progress assistant@s1",
  );
  assertEquals(fieldsOf(frames, "task_started", "description", "is_backgrounded", "ambient"), [
    ["/busy now", true, undefined],
  ]);
  const moved = begun();
  moved.push(skill("busy", "s1"));
  moved.pushSubagent(fork("a1"), BUSY_TEXT);
  moved.take();
  moved.push(forked("s1", "a1", { background: true }));
  moved.pushSubagent(fork("a1"), DONE);
  assertEquals(kinds(moved.take()), "background_tasks_changed task_updated user assistant@s1");
});

/** A conversation that waits for a typed skill's subagent, with its results by their texts. */
class TypedRun extends ConversationRun {
  constructor(frames: Partial<OutputOptions> = {}) {
    super({
      session: { conversation: true, version: VERSION },
      frames: { conversation: true, version: VERSION, ...frames },
    });
    this.give({ type: "spawned" }, REACHABLE, IDLE);
  }

  ask(text: string, command?: string): void {
    const pasted = command === undefined ? {} : { way: "paste", command } as const;
    this.give(message(text, pasted), submit(text), BUSY);
  }

  answer(text: string): void {
    this.give(stop(text), COST, IDLE);
  }

  get told(): string {
    return this.frames.map((frame) =>
      frame.type === "result" ? `"${frame.result}"` : kinds([frame]).replace(/@.*/u, "@it")
    ).join(" ");
  }
}

/** All that the session's own transcript has of a typed skill, and its subagent's. */
const TYPED = [prompt("/busy now", at(3000)), { ...OUTPUT, ...at(3000) }];
const WORK = [
  prompt("Work", { isMeta: true, parentUuid: null, ...at(1000) }),
  text("It is done", at(2000)),
];
const WHOLE = 'task_started task_notification init user@it assistant "It is done"';
/** What is printed where nothing is known of its subagent. */
const BARE = 'init assistant "It is done"';

function typed(frames: Partial<OutputOptions> = {}) {
  const run = new TypedRun(frames);
  run.ask("/busy now", "/busy");
  run.answer("It is done");
  return run;
}

/** The lines of a typed skill's subagent, as inputs. */
const work = (run: TypedRun, lines = WORK) =>
  run.pushSubagent(fork("a", { description: "" }), ...lines);

const ORDERS: Readonly<Record<string, (run: TypedRun) => void>> = {
  "later, at once": (run) => {
    run.push(...TYPED);
    work(run);
  },
  "later, by and by": (run) => {
    work(run, WORK.slice(0, 1));
    run.push(...TYPED);
    work(run, WORK.slice(1));
  },
  "at the same time": (run) => {
    const [typed = {}, output = {}] = TYPED;
    work(run, WORK.slice(0, 1));
    run.push(typed);
    run.push(output);
    work(run, WORK.slice(1));
  },
  "too late": (run) => {
    run.push(...TYPED);
    work(run, WORK.slice(0, 1));
    run.pass("subagent");
    work(run, WORK.slice(1));
  },
};

Deno.test("a typed skill's result waits a second for its subagent", () => {
  const before = typed();
  work(before);
  before.push(...TYPED);
  assertEquals([before.told, before.due("subagent")], [WHOLE, undefined]);
  for (const [name, order] of Object.entries(ORDERS)) {
    const run = typed();
    order(run);
    assertEquals(run.told, WHOLE, name);
  }
  const silent = typed();
  silent.push(...TYPED);
  assertEquals([silent.told, silent.due("subagent")], ["", 1000]);
  silent.pass("subagent");
  assertEquals(silent.told, BARE);
  const unread = typed({ subagentsUnread: true });
  unread.push(...TYPED);
  assertEquals([unread.told, unread.due("subagent")], [BARE, undefined]);
});

Deno.test("the next turn waits for a typed skill's result", () => {
  const asked = () => {
    const run = typed();
    run.push(...TYPED);
    run.ask("Two");
    run.push(prompt("Two", { uuid: "two", ...at(4000) }), { ...REQUEST, ...at(5000) });
    return run;
  };
  const ends = (run: TypedRun) => {
    run.push(text("Second"), { ...OVER, ...at(6000) });
    run.answer("Second");
  };
  const heard = asked();
  work(heard);
  assertEquals(heard.told, `${WHOLE} init`);
  ends(heard);
  assertEquals(heard.told, `${WHOLE} init assistant "Second"`);
  const begun = asked();
  begun.pass("subagent");
  assertEquals(begun.told, `${BARE} init`);
  // Nothing tells of the subagent as long as the next turn goes on.
  const gone: News = {
    type: "exit",
    exit: { kind: "exited", code: 143 },
    remains: { version: VERSION },
  };
  const cases = [
    (run: TypedRun) => run.pass("subagent"),
    (run: TypedRun) => run.give(CLOSED, gone),
  ];
  for (const end of cases) {
    const late = asked();
    ends(late);
    assertEquals([late.told, late.due("subagent")], ["", 1000]);
    end(late);
    assertEquals(late.told, `${BARE} init assistant "Second"`);
  }
});

Deno.test("a subagent's end waits for its beginning and its words", () => {
  const launch = () => {
    const run = new TypedRun();
    run.ask("One");
    run.push(prompt("One", { uuid: "one", ...at(1000) }), { ...REQUEST, ...at(1000) });
    run.push({ ...notice("a"), ...at(4000) });
    run.push(
      answer([{ type: "tool_use", id: "t", name: "Agent", input: { run_in_background: true } }]),
      { ...result("t", { isAsync: true, status: "async_launched", agentId: "a" }), ...at(1000) },
    );
    assertEquals(run.due("subagent"), 1000);
    return run;
  };
  const ends = "task_updated task_notification background_tasks_changed";
  const heard = launch();
  heard.pushSubagent({ agentId: "a", toolUseId: "t" }, ...WORK);
  assertEquals(heard.told.endsWith(` assistant@it ${ends}`), true, heard.told);
  const silent = launch();
  silent.pass("subagent");
  assertEquals(silent.told.endsWith(`user ${ends}`), true, silent.told);
});
