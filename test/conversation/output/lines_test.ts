import { assert, assertEquals, assertMatch } from "@std/assert";
import { runTurns } from "../../../src/conversation/output/turns/run_turns.ts";
import type { Entry } from "../../../src/claude/transcript/entry.ts";
import { message } from "../control/caller_inputs.ts";
import { COST, cost, hook, READ, stop } from "../control/inputs.ts";
import {
  answer,
  at,
  attached,
  call,
  entryOf,
  type Line,
  notification,
  OVER,
  prompt,
  REQUEST,
  result,
  text,
} from "./lines.ts";
import { fieldsOf, kinds } from "./outlines.ts";
import { begun, FramesRun, type News, VERSION } from "./runs.ts";

const SHAPE = { type: "api-request-shape", shapeHash: "h", shape: { tools: [{ name: "Bash" }] } };
const AGENTS = attached("agent_listing_delta", { addedTypes: ["Explore"] });
const SKILLS = attached("skill_listing", { names: ["verify"] });

Deno.test("a session begins at most ten seconds after its prompt", () => {
  const run = new FramesRun();
  run.push(attached("x"));
  assertEquals(run.due("init"), undefined);
  run.push(prompt());
  assertEquals([run.take(), run.due("init")], [[], 10_000]);
  run.push(text("early"));
  assertEquals([run.take(), run.due("init")], [[], 10_000]);
  run.pass("init");
  assertEquals(kinds(run.take()), "init assistant");
});

Deno.test("a slash command's prompt and its text have no frames", () => {
  const run = begun({}, prompt("<command-message>x</command-message>"));
  const remark = (uuid: string, parentUuid: string) =>
    prompt("A remark", { uuid, parentUuid, isMeta: true });
  run.push(remark("text", "p"));
  assertEquals(kinds(run.take()), "");
  run.push(remark("other", "text"));
  assertEquals(kinds(run.take()), "user");
});

Deno.test("a session begins with its last given title", () => {
  const before = { results: 1, totalUsd: 0, apiDurationMs: 0 };
  const rows = [
    [{}, [], ["init"]],
    [{ title: "Mine" }, [], ["Mine", "init"]],
    [{}, ["One", "Two", ""], ["Two", "init"]],
    [{ title: "Mine" }, ["One"], ["Mine", "init"]],
    [{ title: "Mine", before }, [], ["init"]],
  ] as const;
  for (const [options, given, told] of rows) {
    const run = new FramesRun(options);
    const entries = given.map((customTitle) => entryOf({ type: "custom-title", customTitle }));
    run.give({ type: "earlier", entries });
    run.push(prompt(), REQUEST);
    assertEquals<unknown>(run.take().map(({ subtype, title }) => title ?? subtype), told);
  }
});

Deno.test("a session that wrote nothing begins at its end", () => {
  const run = new FramesRun();
  run.push("no json", '{"type":"something-new"}');
  run.finish();
  assertEquals(fieldsOf(run.take(), "init", "claude_code_version"), [[VERSION]]);
});

const RETRY = { attempt: 1, maxRetries: 10, delayMs: 1000, status: 529 };

Deno.test("a retry is printed after the session's beginning", () => {
  const run = new FramesRun();
  run.give({ type: "retry", retry: RETRY });
  assertEquals(run.take(), []);
  run.push(prompt(), REQUEST);
  run.give({ type: "retry", retry: { ...RETRY, attempt: 2 } });
  const frames = run.take();
  assertEquals(kinds(frames), "init api_retry api_retry");
  assertEquals(fieldsOf(frames, "api_retry", "attempt"), [[1], [2]]);
});

const FAULT = { attempt: 1, maxRetries: 10, status: 500 };

Deno.test("an unannounced retry is printed before the next answer", () => {
  const run = begun();
  const retries = () => fieldsOf(run.take(), "api_retry", "attempt", "retry_delay_ms");
  run.give({ type: "fault", fault: FAULT }, { type: "retry", retry: { ...FAULT, delayMs: 2000 } });
  assertEquals(retries(), [[1, 2000]]);
  run.give({ type: "fault", fault: { ...FAULT, attempt: 2 } });
  run.give({ type: "fault", fault: { ...FAULT, attempt: 3 } });
  assertEquals(retries(), [[2, 1000]], "the next failure shows it too");
  run.push(text("Hello"));
  assertEquals(retries(), [[3, 2000]]);
  // The screen was drawn late.
  run.give({ type: "retry", retry: { ...FAULT, attempt: 3, delayMs: 2000 } });
  assertEquals(retries(), []);
  // It was made again, and in vain.
  run.give({ type: "fault", fault: { ...FAULT, maxRetries: 1 } });
  run.give({ type: "fault", fault: { ...FAULT, attempt: 2, maxRetries: 1 } });
  run.push({ ...text("API Error"), isApiErrorMessage: true });
  assertEquals(retries(), [[1, 1000]]);
});

Deno.test("a request that is not repeated is no retry", () => {
  const failed = { ...text("API Error"), isApiErrorMessage: true };
  const rows = [
    ["a bad request", { ...FAULT, status: 400 }, text("Hello")],
    ["too many attempts", { ...FAULT, attempt: 11 }, text("Hello")],
    ["another model", { ...FAULT, attempt: 3, status: 529 }, text("Hello")],
    ["a failed turn", FAULT, failed, text("Hello")],
  ] as const;
  for (const [name, fault, ...lines] of rows) {
    const run = begun();
    run.give({ type: "fault", fault });
    for (const line of lines) run.push(line);
    assertEquals(fieldsOf(run.take(), "api_retry", "attempt"), [], name);
  }
  const run = begun();
  run.give({ type: "fault", fault: FAULT }, hook("StopFailure"));
  run.push(text("Hello"));
  assertEquals(kinds(run.take()), "assistant");
});

Deno.test("a resumed session begins with what earlier runs were offered", () => {
  const run = new FramesRun();
  const entries = [AGENTS, SKILLS, SHAPE, REQUEST, text("earlier")].map(entryOf);
  run.give({ type: "earlier", entries });
  run.push(prompt());
  run.pass("init");
  assertEquals(fieldsOf(run.take(), "init", "agents", "skills", "tools", "model"), [
    [["Explore"], ["verify"], ["Bash"], "m"],
  ]);
});

Deno.test("an answer written before the session's description is printed after", () => {
  const [asked, agents, skills, answered] = [
    prompt(),
    { ...AGENTS, uuid: "g", parentUuid: "p" },
    { ...SKILLS, uuid: "s", parentUuid: "g" },
    answer([], "m", { uuid: "a", parentUuid: "s" }),
  ] as const;
  const rows = [
    [[answered], [asked, agents, skills, SHAPE, REQUEST]],
    [[asked, agents, skills, answered], [SHAPE, REQUEST]],
  ];
  for (const [first, later] of rows) {
    const run = new FramesRun();
    run.push(...first ?? []);
    assertEquals([run.take(), run.due("init")], [[], 10_000]);
    run.push(...later ?? []);
    const frames = run.take();
    assertEquals(kinds(frames), "init assistant");
    assertEquals(fieldsOf(frames, "init", "agents", "skills", "tools"), [
      [["Explore"], ["verify"], ["Bash"]],
    ]);
  }
});

Deno.test("a run has the same unique ids each time", () => {
  const ids = () => {
    const run = new FramesRun();
    run.push(prompt(), ...Array.from({ length: 100 }, (_, at) => text(`${at}`)));
    run.finish();
    return run.take().map(({ uuid }) => `${uuid}`);
  };
  const all = ids();
  assertEquals(all, ids());
  assertEquals(new Set(all).size, 101);
  for (const id of all) {
    assertMatch(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
  }
});

Deno.test("a session begins with its own first request", () => {
  const run = new FramesRun();
  run.push(prompt());
  run.push(SHAPE);
  run.push({ ...REQUEST, querySource: "agent:x" });
  assertEquals(run.take(), []);
  run.push(REQUEST);
  assertEquals(fieldsOf(run.take(), "init", "tools"), [[["Bash"]]]);
});

Deno.test("an older version's session begins with its skills", () => {
  const old = (line: Line) => ({ ...line, version: "2.1.285" });
  const offer: News = {
    type: "stream",
    request: 1,
    part: { kind: "request", offer: { tools: ["Bash"], fast: false } },
  };
  const rows = [
    [{}, [], "init"],
    [{ heard: true }, [], ""],
    [{ heard: true }, [offer], "init"],
    [{ partial: "exact" }, [], ""],
    [{ partial: "exact" }, [offer], "init status"],
  ] as const;
  for (const [options, news, told] of rows) {
    const run = new FramesRun(options);
    run.give(...news);
    run.push(old(prompt()), old(AGENTS));
    assertEquals(run.take(), []);
    run.push(old(SKILLS));
    assertEquals(kinds(run.take()), told);
  }
});

Deno.test("a session begins with the states of its servers", () => {
  const server = (name: string, unreached?: true) => ({
    ...{ name, source: "user", disabled: name === "off" },
    ...(unreached && { unreached }),
  });
  const servers = [server("new"), server("on"), server("off"), server("gone", true)];
  const run = new FramesRun({ servers: [...servers, server("back", true)] });
  const connected = { on: "connected", off: "connected", back: "connected" } as const;
  run.state = { ...run.state, facts: { ...run.state.facts, servers: connected } };
  run.push(prompt(), REQUEST);
  const [[told] = []] = fieldsOf(run.take(), "init", "mcp_servers");
  const states = ["new pending", "on connected", "off disabled", "gone failed", "back connected"];
  assertEquals((told as Line[]).map(({ name, status }) => `${name} ${status}`), states);
});

Deno.test("a long turn keeps no calls that have returned", () => {
  const run = begun();
  const names = Array.from({ length: 500 }, (_, at) => `t${at}`);
  run.push(
    ...names.flatMap((id) => [call(id, "Bash", {}, at(0)), result(id)]),
    ...[call("agent", "Agent", {}), result("agent")],
  );
  assertEquals(run.take().length, 2 * 501);
  const { toolUses, agentCalls, shells } = run.state;
  // A subagent may go on in the background.
  assertEquals([toolUses.size, shells.size], [0, 0]);
  assertEquals([...agentCalls.keys()], ["agent"]);
});

/** A line that is written in a second, or at an unknown time. */
const line = (uuid: string, second?: number): Line =>
  call(uuid, "Read", {}, { uuid, ...(second === undefined ? {} : at(second * 1000)) });

/** The order in which lines are printed that were read together; the first one calls the subagent. */
function ordered(own: readonly Line[], theirs: readonly Line[] = []) {
  const run = new FramesRun({ version: VERSION });
  const toolUseId = `${own[0]?.["uuid"]}`;
  const subagent = { agentId: "a", toolUseId, type: "x", description: "" };
  const entries = (lines: readonly Line[]): readonly Entry[] =>
    lines.map((each) => entryOf({ version: VERSION, sessionId: "s", ...each }));
  for (const entry of entries([REQUEST, ...own])) run.give({ type: "transcript", entry });
  for (const entry of entries(theirs)) run.give({ type: "subagent", line: { subagent, entry } });
  run.give(READ);
  return run.take().flatMap((frame) => frame.type === "assistant" ? [frame["uuid"]] : []).join(" ");
}

Deno.test("subagents' lines are printed among the session's by time", () => {
  const own = [line("first"), line("call", 1), line("note"), line("result", 4)];
  const theirs = [line("prompt", 2), line("untimed"), line("answer", 3)];
  assertEquals(ordered(own, theirs), "first call note prompt untimed answer result");
});

Deno.test("the lines of one transcript keep their order", () => {
  const own = [line("late", 5), line("early", 1), line("last", 6)];
  assertEquals(ordered(own), "late early last");
  assertEquals(ordered(own, [line("theirs", 5)]), "late early theirs last");
});

Deno.test("lines are printed after their parents", () => {
  const run = new FramesRun({ version: VERSION });
  run.push(
    attached("note", {}, { uuid: "h", parentUuid: "call" }),
    { ...result("call"), uuid: "result", parentUuid: "h" },
    { ...line("next"), parentUuid: "result" },
    prompt("Hi", { parentUuid: null }),
    attached("skill_listing", {}, { uuid: "l", parentUuid: "p" }),
    { ...line("call"), parentUuid: "l" },
    REQUEST,
    { ...OVER, uuid: "end", parentUuid: "next" },
  );
  assertEquals(run.take().map(({ type, uuid }) => type === "system" ? type : uuid), [
    ...["system", "call", "result", "next"],
  ]);
});

Deno.test("a turn begins with the model that its command names", () => {
  const session = attached("model", { identity: { modelId: "opus" } });
  const named = attached("command_permissions", { allowedTools: [], model: "haiku" });
  const command = prompt("<command-message>a</command-message>");
  const rows = [
    [[command, session, named], "haiku"],
    [[named, command, session], "opus"],
  ] as const;
  for (const [lines, model] of rows) {
    const run = new FramesRun();
    run.push(...lines, { ...REQUEST, params: {} });
    assertEquals(fieldsOf(run.take(), "init", "model"), [[model]]);
  }
});

/** What frames say, in a word each, and something of them. */
const words = (run: FramesRun, field: string) =>
  run.take().map((frame) => [frame.subtype ?? frame.state ?? frame.type, (frame as Line)[field]]);

Deno.test("a cleared conversation goes on in another session", () => {
  const run = new FramesRun({ version: VERSION, sessionId: "old", replay: true });
  const carried = { name: "clear", begun: "new" };
  const settled = { kind: "local", text: "", version: VERSION, carried } as const;
  run.settle({ text: "/clear  it all", uuid: "m", settled });
  assertEquals(words(run, "session_id"), [
    ["queued", "old"],
    ["started", "old"],
    ["conversation_reset", "old"],
    ["background_tasks_changed", "old"],
    ["init", "new"],
    ["user", "new"],
    ["success", "new"],
    ["completed", "new"],
  ]);
});

Deno.test("a blank message is answered without the model", () => {
  const run = new FramesRun({ version: VERSION, replay: true });
  const settled = { kind: "local", text: "Blank", version: VERSION, blank: true } as const;
  run.settle({ text: " ", uuid: "m", settled });
  const frames = run.take();
  assertEquals(frames.map(({ subtype, state, type }) => subtype ?? state ?? type), [
    ...["queued", "started", "init", "informational", "success", "completed"],
  ]);
  assertEquals(fieldsOf(frames, "informational", "content"), [["Blank"]]);
  assertEquals(fieldsOf(frames, "result", "result", "num_turns"), [["Blank", 0]]);
});

Deno.test("ends that wait for a subagent keep their order", () => {
  const run = begun();
  run.push(call("a", "Agent"));
  run.push(result("a", { agentId: "a1", status: "completed" }), OVER);
  run.endTurn({ kind: "max-turns" }, { recorded: true });
  const settled = { kind: "local", text: "Said", version: VERSION } as const;
  run.endTurn({ kind: "settled", message: { text: "/say", settled } }, { recorded: true });
  run.take();
  run.pass("subagent");
  assertEquals(fieldsOf(run.take(), "result", "subtype"), [["error_max_turns"], ["success"]]);
});

Deno.test("a child's first answer has an init of its own", () => {
  const run = new FramesRun({});
  run.settle({ text: "/logout", settled: { kind: "local", text: "not here", version: VERSION } });
  run.take();
  run.give(message("Hi"));
  run.push({ ...line("answer", 2), parentUuid: "p" }, prompt(), REQUEST);
  assertEquals(kinds(run.take()), "init assistant");
});

Deno.test("turns whose lines are read together have their own results", () => {
  const run = new FramesRun({ version: VERSION });
  for (const text of ["One", "Two"]) {
    run.give(message(text));
    run.endTurn({ kind: "answered", stop: {} }, { recorded: false });
  }
  const turn = (words: string, parentUuid: string | null) => [
    prompt(words, { uuid: `${words}?`, parentUuid }),
    REQUEST,
    text(words, { uuid: words, parentUuid: `${words}?` }),
    { ...OVER, uuid: `${words}.`, parentUuid: words },
  ];
  run.push(...turn("One", null), ...turn("Two", "One."));
  assertEquals(
    run.take().map((frame) => frame.type === "result" ? frame.result : frame.type),
    ["system", "assistant", "One", "system", "assistant", "Two"],
  );
  assertEquals(run.state.reports.map(({ result }) => result.result), ["One", "Two"]);
});

Deno.test("a hook's time tells which turn's lines follow", () => {
  const run = begun({ conversation: true });
  run.push(text("One"));
  run.give(stop("One", { background_tasks: [{ id: "b", type: "shell" }] }), cost(1));
  const endedBy = Date.parse(at(2000).timestamp);
  run.endTurn({ kind: "answered", stop: {} }, { recorded: false, endedBy });
  run.give(cost(2));
  run.push(
    { ...OVER, ...at(1000) },
    prompt(notification("b"), { uuid: "n", ...at(1100) }),
    text("Two", at(1900)),
    { ...OVER, ...at(2100) },
  );
  const results = fieldsOf(run.take(), "result", "result", "total_cost_usd");
  assertEquals(results, [["One", 1], ["Two", 1]]);
  // Nothing was written of the turn that has ended.
  run.endTurn({ kind: "aborted" }, { recorded: false, endedBy: Date.parse(at(3000).timestamp) });
  run.push(prompt(notification("c"), { uuid: "o", ...at(3100) }), text("Three"));
  assertEquals(kinds(run.take()), "init result init assistant");
});

Deno.test("a turn after the run's last end is not printed", () => {
  const run = begun({ conversation: true });
  run.ending({ endedBy: Date.parse(at(2000).timestamp) });
  run.push(text("One", at(1900)), { ...OVER, ...at(2100) });
  run.push(prompt(notification("b"), { uuid: "n", ...at(2200) }), text("Two", at(2300)));
  assertEquals(kinds(run.take()), "assistant");
});

Deno.test("a stopped turn before an answered one has no answer", () => {
  const rows = [
    [{ kind: "answered", stop: {} }, "error_during_execution"],
    [{ kind: "failed", failure: {} }, "error_during_execution"],
    [{ kind: "timeout" }, "timeout"],
  ] as const;
  for (const [ending, subtype] of rows) {
    const run = begun({ conversation: true });
    run.push(
      prompt("[Request interrupted by user]", { uuid: "i" }),
      prompt(notification("b"), { uuid: "n" }),
      text("Two"),
      OVER,
    );
    run.endTurn(ending, { recorded: true });
    assertEquals(fieldsOf(run.take(), "result", "subtype")[0], [subtype]);
  }
});

const COMMAND = {
  text: "/x",
  settled: { kind: "local", text: "done", version: VERSION },
} as const;

Deno.test("a command follows the result of a turn with tasks", () => {
  const run = begun({ conversation: true });
  run.push(text("One"), { type: "system", subtype: "stop_hook_summary" });
  run.give(stop("One", { background_tasks: [{ id: "b", type: "shell" }] }));
  run.settle(COMMAND);
  run.push(OVER);
  assertEquals(fieldsOf(run.take(), "result", "result"), [["One"], ["done"]]);
});

Deno.test("a command follows a result that waits for a subagent", () => {
  const run = begun({ conversation: true });
  run.push(call("t", "Agent"));
  run.pushSubagent({ toolUseId: "t" }, prompt("Look", { uuid: "s" }));
  for (const line of [result("t", { status: "completed", agentId: "a1" }), text("One"), OVER]) {
    run.give({ type: "transcript", entry: entryOf(line) });
  }
  run.endTurn({ kind: "max-turns" }, { recorded: true });
  run.give({ type: "message", message: COMMAND });
  run.endTurn({ kind: "settled", message: COMMAND }, { recorded: true });
  run.take();
  run.pass("subagent");
  const results = fieldsOf(run.take(), "result", "subtype");
  assertEquals(results, [["error_max_turns"], ["success"]]);
});

Deno.test("a stopped turn's tasks give no later turn a result", () => {
  const run = begun({ conversation: true });
  run.give(stop("One", { background_tasks: [{ id: "b", type: "shell" }] }));
  run.push(text("One"), prompt("[Request interrupted by user]", { uuid: "i" }));
  run.endTurn({ kind: "aborted" }, { recorded: true });
  run.take();
  run.push(prompt(notification("b"), { uuid: "n" }), call("t"), OVER);
  assertEquals(kinds(run.take()), "init assistant");
});

Deno.test("a turn that was stopped before another's tasks is no answer", () => {
  const run = begun({ conversation: true });
  run.push(text("One"), prompt("[Request interrupted by user]", { uuid: "i" }));
  run.push(prompt(notification("b"), { uuid: "n" }), text("Two"));
  run.give(stop("Two", { background_tasks: [{ id: "c", type: "shell" }] }));
  run.push(OVER);
  const results = fieldsOf(run.take(), "result", "subtype");
  assertEquals(results, [["error_during_execution"], ["success"]]);
});

Deno.test("a blocked Stop's tasks give a halted turn no result", () => {
  const run = begun({ conversation: true });
  run.give(stop("One", { background_tasks: [{ id: "b", type: "shell" }] }));
  run.push(text("One"), prompt("Stop hook feedback:\nNo.", { uuid: "f", isMeta: true }));
  run.push(call("t"), result("t"), attached("hook_stopped_continuation"), OVER);
  assertEquals(kinds(run.take()), "assistant user assistant user");
});

Deno.test("an urgent command is begun before an earlier message", () => {
  const run = new FramesRun({ conversation: true });
  run.give(message("One", { uuid: "1" }), message("/x", { uuid: "2", command: "/x" }));
  run.push(prompt("<command-message>x</command-message>\n<command-name>/x</command-name>"));
  const states = fieldsOf(run.take(), "command_lifecycle", "command_uuid", "state");
  assertEquals(states, [["1", "queued"], ["2", "queued"], ["2", "started"]]);
});

Deno.test("a command is begun after a result that waits for it", () => {
  const run = begun({ conversation: true });
  run.give(message("One", { uuid: "1" }), message("/x", { uuid: "2", command: "/x" }));
  run.push({ type: "attachment", attachment: { type: "queued_command", prompt: "One" } });
  run.push(text("Yes"), OVER);
  run.endTurn({ kind: "answered", stop: {} }, { recorded: false });
  run.take();
  run.push(prompt("<command-message>x</command-message>\n<command-name>/x</command-name>"));
  assertEquals(kinds(run.take()), "result command_lifecycle command_lifecycle");
});

Deno.test("an end with nothing new has no second result", () => {
  const run = begun({ conversation: true });
  run.give(COST);
  for (const [line, told] of [[text("One"), ["One"]], [OVER, []]] as const) {
    run.push(line);
    run.endTurn({ kind: "answered", stop: {} }, { recorded: true });
    assertEquals<unknown>(fieldsOf(run.take(), "result", "result").flat(), told);
  }
});

const commandLine = (name: string) =>
  `<command-name>/${name}</command-name>\n  <command-message>${name}</command-message>\n` +
  "  <command-args></command-args>";

/** The lines that Claude Code writes of a command that it has carried out, and what is printed of them. */
function carriedOut(name: string, output: Line, options: { readonly typed?: string } = {}) {
  const run = new FramesRun();
  const { typed } = options;
  if (typed !== undefined) {
    const message = { text: `${typed} now`, way: "paste", command: typed } as const;
    run.give({ type: "message", message });
  }
  const content = commandLine(name);
  run.push(
    prompt("<local-command-caveat>…", { isMeta: true, uuid: "caveat" }),
    name === "rename"
      ? { type: "system", subtype: "local_command", uuid: "command", content }
      : prompt(content, { uuid: "command" }),
    { type: "system", subtype: "local_command", uuid: "output", ...output },
  );
  const told = run.take().map((frame) => {
    const { message, local_command_run, local_command_outcome } = frame as Line;
    const [block] = (message as { readonly content: readonly Line[] } | undefined)?.content ?? [];
    return [kinds([frame]), block?.["text"], local_command_run, local_command_outcome]
      .filter((each) => each !== undefined);
  });
  return { told, typed: run.state.typedCommand };
}
const stdout = (text: string) => ({
  content: `<local-command-stdout>${text}</local-command-stdout>`,
});

Deno.test("a command's output is printed as claude -p does", () => {
  const heapdump = { command: "heapdump", args: "" };
  assertEquals(carriedOut("heapdump", { ...stdout("A file"), commandRun: heapdump }), {
    told: [["init"], ["assistant", "A file", heapdump]],
    typed: { command: "heapdump", result: "A file" },
  });
  const run = { command: "list-agents", args: "" };
  const failed = { commandRun: run, commandOutcome: { kind: "failed" } };
  assertEquals(carriedOut("list-agents", { ...stdout("No"), ...failed }), {
    told: [["init"], ["assistant", "No", run, { kind: "failed" }]],
    typed: { command: "list_agents", result: "No" },
  });
  const rename = { command: "rename", args: "" };
  const renamed = "Session renamed to: My own";
  assertEquals(carriedOut("rename", { ...stdout(renamed), commandRun: rename }), {
    told: [["session_title_changed"], ["init"], ["assistant", renamed, rename]],
    typed: { command: "rename", result: renamed },
  });
});

Deno.test("a user's own command has no name in its result", () => {
  assertEquals(carriedOut("mine", stdout("It failed: \n")), {
    told: [["init"], ["assistant", "It failed:"]],
    typed: { command: "custom", result: "It failed: \n" },
  });
  const output = prompt("<local-command-stderr>No</local-command-stderr>");
  assertEquals(carriedOut("mine", output), {
    told: [["init"], ["user"]],
    typed: { command: "custom", result: "" },
  });
});

Deno.test("a result has the name that was typed", () => {
  const { typed } = carriedOut("list-agents", stdout("None"), { typed: "/__remote-workflow" });
  assertEquals(typed, { command: "remote_workflow", result: "None" });
});

Deno.test("a command's remark to the model is not printed", () => {
  const run = new FramesRun();
  run.push(prompt(commandLine("list-agents")), {
    ...{ type: "system", subtype: "local_command", uuid: "o" },
    ...stdout("No"),
  });
  run.take();
  run.push(prompt(
    "<system-reminder>\nThe output of /list-agents was shown to the user and not to you. " +
      "To see what it lists, call ListAgents.\n</system-reminder>",
    { isMeta: true },
  ));
  assertEquals(run.take(), []);
});

Deno.test("a goal is printed, and its answer has a result", () => {
  const run = new FramesRun();
  const message = { text: "/goal  win it ", way: "paste", command: "/goal" } as const;
  run.give({ type: "message", message });
  const directive = 'A session-scoped Stop hook is now active with condition: "win it". Begin';
  run.push(
    prompt(commandLine("goal"), { uuid: "prompt" }),
    prompt(stdout("Goal set: win it").content, { uuid: "output", parentUuid: "prompt" }),
    prompt(directive, { uuid: "goal", parentUuid: "output", isMeta: true }),
    prompt("Stop hook feedback:", { uuid: "f", parentUuid: "goal", isMeta: true }),
  );
  const frames = run.take();
  assertEquals(kinds(frames), "init assistant user");
  assertEquals(fieldsOf(frames, "assistant", "local_command_run"), [
    [{ command: "goal", args: "win it" }],
  ]);
  assert(run.state.typedCommand === undefined);
  assertEquals(runTurns(run.state).recent.map(({ numTurns }) => numTurns), [2]);
});
