import { assertEquals, assertMatch } from "@std/assert";
import type { CallbackHook } from "../../../../src/session/control/caller_options.ts";
import { DEFERRAL } from "../../../../src/session/hook_answers.ts";
import type { Message } from "../../../../src/session/message.ts";
import { readEntry } from "../../../../src/transcript/entry.ts";
import type { CallerQuestion } from "../../../../src/wire/control.ts";
import { PROMPT } from "../../../transcript/lines.ts";
import { simulate, type Simulation } from "../../simulation.ts";

const INPUT = { command: "touch a", description: "Touch" };

/** A session in a turn, whose caller is asked for permissions and has hooks. */
function working(
  callbacks: readonly CallbackHook[] = [],
  timeoutMs = 60_000,
  version = "2.1.332",
  permissions: { readonly permissions?: true } = { permissions: true },
): Simulation {
  const session = simulate({
    conversation: true,
    version,
    timeoutMs,
    otherStopHooks: true,
    caller: { idPrefix: "q", ...permissions, callbacks, servers: ["calc"] },
  });
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  session.receive({
    type: "message",
    message: { text: "go", way: "rendezvous" } as Message,
  });
  session.receive({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "go" } });
  session.receive({ type: "status", status: "busy" });
  return session;
}

const line = (session: Simulation, written: object) => {
  const entry = readEntry(written);
  if (entry !== undefined) session.receive({ type: "transcript", entry });
  session.receive({ type: "read" });
};
const call = (session: Simulation, id = "toolu_1", input: unknown = INPUT) =>
  line(session, {
    type: "assistant",
    message: { id: "m", model: "m", content: [{ type: "tool_use", id, name: "Bash", input }] },
  });
const returned = (session: Simulation, id: string) =>
  line(session, {
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "" }] },
  });
const needsPermission = (
  session: Simulation,
  id: string,
  input: unknown = INPUT,
  more: Readonly<Record<string, unknown>> = {},
) =>
  session.receive({
    type: "hook",
    event: "PermissionRequest",
    payload: { tool_name: "Bash", tool_input: input, cwd: "/w", ...more },
    id,
  });
const answer = (session: Simulation, response: unknown, id = "q-1") =>
  session.receive({ type: "answer", answer: { id, response } });
const asked = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "ask" ? [effect] : []);
const callIdOf = (question: CallerQuestion) => "tool_use_id" in question && question.tool_use_id;
const replies = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "answer" ? [effect] : []);
const decisions = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "decided" ? [effect.decision] : []);
const decision = (session: Simulation) => {
  const output = replies(session).at(-1)?.reply?.["hookSpecificOutput"];
  return (output as { readonly decision?: unknown } | undefined)?.decision;
};

Deno.test("a permission is asked for once its call has been told, and a yes names the input", () => {
  const session = working();
  needsPermission(session, "7");
  assertEquals(asked(session), []);
  call(session);
  assertEquals(asked(session).map(({ id, question }) => [id, question]), [["q-1", {
    subtype: "can_use_tool",
    tool_name: "Bash",
    display_name: "Bash",
    input: INPUT,
    description: "Touch",
    tool_use_id: "toolu_1",
  }]]);
  answer(session, { behavior: "allow" });
  assertEquals(replies(session).map(({ id }) => id), ["7"]);
  assertEquals(decision(session), { behavior: "allow", updatedInput: INPUT });
  assertEquals(decisions(session), ["accepted"]);
});

Deno.test("what a call is about is told in a few words, but of a tool of a server's", () => {
  const asker = (input: unknown, more: Readonly<Record<string, unknown>> = {}) => {
    const session = working();
    needsPermission(session, "7", input, more);
    session.wait(5000);
    const [{ question } = {}] = asked(session);
    const { description, display_name: name, mcp_server: server } =
      (question ?? {}) as unknown as Readonly<Record<string, unknown>>;
    return [description, name, server];
  };
  const long = `touch ${"x".repeat(44)}`;
  assertEquals(asker({ command: long, description: "" }), [long, "Bash", undefined]);
  assertEquals(asker({ url: `${long}x` })[0], `${long.slice(0, -1)}…`);
  assertEquals(asker({ file_path: "/w/a.txt" })[0], "a.txt");
  const ofServer = (name: string, source: string, tool: string) =>
    asker(INPUT, { tool_name: `mcp__${name}__${tool}`, mcp_server: { name, source } });
  assertEquals(ofServer("calc", "dynamic", "add_two-UPs"), [
    undefined,
    "Add Two-UPs",
    { name: "calc", source: "sdk" },
  ]);
  assertEquals(ofServer("other", "user", "of__many"), [
    undefined,
    "Many",
    { name: "other", source: "user" },
  ]);
});

Deno.test("a call that is never told is asked about all the same", () => {
  const session = working();
  needsPermission(session, "7");
  session.wait(5000);
  assertEquals(asked(session).map(({ question }) => callIdOf(question)), [""]);
});

Deno.test("a call is not taken for one before it whose result has not been written", () => {
  const session = working();
  call(session, "toolu_a", { command: "a" });
  needsPermission(session, "1", { command: "a" });
  answer(session, { behavior: "allow" });
  needsPermission(session, "2", { command: "b" });
  assertEquals(asked(session).length, 1);
  call(session, "toolu_b", { command: "b" });
  assertEquals(asked(session).map(({ question }) => callIdOf(question)), [
    "toolu_a",
    "toolu_b",
  ]);
});

Deno.test("calls of one tool are told apart by their input", () => {
  const session = working();
  call(session, "toolu_a", { command: "a" });
  call(session, "toolu_b", { command: "b" });
  needsPermission(session, "2", { command: "b" });
  needsPermission(session, "1", { command: "a" });
  assertEquals(asked(session).map(({ question }) => callIdOf(question)), [
    "toolu_b",
    "toolu_a",
  ]);
});

Deno.test("a refusal is passed on in the caller's words, and may end the turn", () => {
  const session = working();
  call(session);
  needsPermission(session, "7");
  answer(session, { behavior: "deny", message: "Never" });
  assertEquals(decision(session), { behavior: "deny", message: "Never" });
  assertEquals([decisions(session), session.state.phase], [["rejected"], "working"]);
  call(session, "toolu_2");
  needsPermission(session, "8");
  answer(session, { behavior: "deny", message: "Stop", interrupt: true }, "q-2");
  assertEquals(decision(session), { behavior: "deny", message: "Stop", interrupt: true });
  assertEquals(decisions(session), ["rejected", "withdrawn"]);
  assertEquals([session.state.phase, session.typed], ["aborting", ""]);
});

const chooseMode = (session: Simulation, mode: string) =>
  session.receive({
    type: "control",
    request: { id: "r", subtype: "set_permission_mode", body: { mode } },
  });

Deno.test("a mode chosen in mid-turn goes with the next call that is allowed", () => {
  const modes = (response: object) => {
    const session = working();
    call(session);
    needsPermission(session, "7");
    chooseMode(session, "acceptEdits");
    answer(session, response);
    return (decision(session) as { readonly updatedPermissions?: readonly object[] })
      .updatedPermissions;
  };
  const chosen = { type: "setMode", mode: "acceptEdits", destination: "session" };
  const rule = { type: "addRules", rules: [], behavior: "allow", destination: "session" };
  const own = { type: "setMode", mode: "plan", destination: "session" };
  assertEquals(modes({ behavior: "allow" }), [chosen]);
  assertEquals(modes({ behavior: "allow", updatedPermissions: [rule] }), [rule, chosen]);
  assertEquals(modes({ behavior: "allow", updatedPermissions: [own] }), [own]);
  assertEquals(modes({ behavior: "deny", message: "No" }), undefined);
});

Deno.test("a stricter mode chosen in mid-turn has calls asked about until it is applied", () => {
  const replies = (loose: boolean, mode: string) => {
    const session = simulate({
      ...{ conversation: true, version: "2.1.332", ...(loose ? { loose } : {}) },
      caller: { idPrefix: "q", permissions: true, callbacks: [], servers: [] },
    });
    const reply = (id: string) => {
      const payload = { tool_name: "Bash", tool_input: INPUT };
      session.receive({ type: "hook", event: "PreToolUse", payload, id });
      const { reply } = session.effects.findLast((each) => each.type === "answer") ?? {};
      return (reply?.["hookSpecificOutput"] as Readonly<Record<string, unknown>> | undefined)
        ?.["permissionDecision"];
    };
    session.receive({ type: "status", status: "busy" });
    const before = reply("1");
    chooseMode(session, mode);
    const after = reply("2");
    call(session);
    needsPermission(session, "3");
    answer(session, { behavior: "allow" });
    return [before, after, reply("4")];
  };
  assertEquals(replies(true, "default"), [undefined, "ask", undefined]);
  assertEquals(replies(true, "bypassPermissions")[1], undefined);
  assertEquals(replies(false, "acceptEdits")[1], undefined);
});

Deno.test("dontAsk chosen in mid-turn denies the next call without a question", () => {
  const session = working();
  call(session);
  chooseMode(session, "dontAsk");
  needsPermission(session, "7");
  assertEquals(asked(session), []);
  const { behavior, message } = decision(session) as Readonly<Record<string, string>>;
  assertEquals(behavior, "deny");
  assertEquals(message?.startsWith("Permission to use Bash has been denied because "), true);
});

Deno.test("an answer that says nothing denies, and an error too", () => {
  for (
    const response of [undefined, null, 7, {}, { behavior: "deny" }, {
      behavior: "allow",
      updatedInput: 7,
    }]
  ) {
    const session = working();
    call(session);
    needsPermission(session, "7");
    answer(session, response);
    assertEquals((decision(session) as { readonly behavior: string }).behavior, "deny");
    assertEquals(decisions(session), ["failed"]);
  }
  const session = working();
  call(session);
  needsPermission(session, "7");
  session.receive({ type: "answer", answer: { id: "q-1", error: "broken" } });
  assertEquals(decision(session), {
    behavior: "deny",
    message: "Tool permission request failed: Error: broken",
  });
});

Deno.test("late, double and foreign answers are nothing to anybody", () => {
  const session = working();
  call(session);
  needsPermission(session, "7");
  answer(session, { behavior: "allow" }, "q-2");
  answer(session, { behavior: "allow" }, "other");
  assertEquals(replies(session), []);
  answer(session, { behavior: "deny", message: "No" });
  answer(session, { behavior: "allow" });
  assertEquals(replies(session).length, 1);
});

Deno.test("a caller that goes away in the middle of a question denies by that, and later questions too", () => {
  const session = working();
  call(session);
  needsPermission(session, "7");
  session.receive({ type: "closed" });
  const gone = {
    behavior: "deny",
    message: "Tool permission request failed: AbortError: " +
      "Tool permission stream closed before response received",
  };
  assertEquals(decision(session), gone);
  const other = { command: "touch other" };
  call(session, "toolu_2", other);
  needsPermission(session, "8", other);
  const later = { ...gone, message: "Tool permission request failed: AbortError: Stream closed" };
  assertEquals([decision(session), asked(session).length], [later, 1]);
});

Deno.test("a call that a hook of a caller's could have forbidden who has gone is not carried out", () => {
  const output = (session: Simulation) =>
    replies(session).map(({ reply }) =>
      (reply?.["hookSpecificOutput"] as { readonly permissionDecision?: string } | undefined)
        ?.permissionDecision
    );
  const hooked = () => working([PRE], 60_000);
  {
    const denied = "deny";
    const asking = hooked();
    call(asking);
    preToolUse(asking);
    const waiting = hooked();
    preToolUse(waiting);
    const later = hooked();
    for (const session of [asking, waiting, later]) session.receive({ type: "closed" });
    call(later);
    preToolUse(later);
    for (const session of [asking, waiting, later]) {
      assertEquals(output(session), [denied]);
      assertEquals(decisions(session), denied === undefined ? [] : ["gone"]);
    }
  }
  const after = working([{ ...PRE, event: "PostToolUse" }]);
  after.receive({ type: "closed" });
  call(after);
  preToolUse(after);
  assertEquals(output(after), [undefined]);
});

Deno.test("no key is pressed while the caller decides what the screen asks", () => {
  const session = working();
  session.draw("Do you want to proceed?", "❯ 1. Yes", "  2. No");
  call(session);
  needsPermission(session, "7");
  session.receive({ type: "status", status: "waiting" });
  session.wait(30_000);
  assertEquals([session.typed, session.ending], ["", undefined]);
});

Deno.test("an interrupt takes questions back first", () => {
  const session = working();
  session.receive(PROMPT);
  call(session);
  needsPermission(session, "7");
  session.receive({ type: "control", request: { id: "r", subtype: "interrupt", body: {} } });
  const kinds = session.effects.map(({ type }) => type)
    .filter((type) => ["ask", "withdraw", "respond", "write"].includes(type));
  assertEquals(kinds, ["ask", "withdraw", "respond", "write"]);
  assertEquals(decisions(session), ["withdrawn"]);
  answer(session, { behavior: "allow" });
  assertEquals(replies(session), []);
});

const PRE: CallbackHook = { event: "PreToolUse", matcher: "Bash", id: "hook_0", timeoutS: 2 };
const preToolUse = (session: Simulation, id = "5", event = "PreToolUse") =>
  session.receive({
    type: "hook",
    event,
    payload: { hook_event_name: event, tool_name: "Bash", tool_use_id: "toolu_1" },
    id,
    callback: 0,
  });

Deno.test("a hook of the caller's is called once the call has been told, and its answer is the hook's", () => {
  const session = working([PRE]);
  preToolUse(session);
  assertEquals(asked(session), []);
  call(session);
  assertEquals(asked(session).map(({ question }) => question), [{
    subtype: "hook_callback",
    callback_id: "hook_0",
    input: { hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: "toolu_1" },
    tool_use_id: "toolu_1",
  }]);
  const output = {
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny" },
  };
  answer(session, output);
  assertEquals(replies(session).map(({ reply }) => reply), [output]);
  assertEquals(decisions(session), ["forbidden"]);
});

Deno.test("a call that a hook of the caller's puts off is not carried out, and the turn ends with it", () => {
  const session = working([PRE]);
  preToolUse(session);
  call(session);
  answer(session, {
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "defer" },
  });
  assertEquals(replies(session).map(({ reply }) => reply), [DEFERRAL]);
  assertEquals(decisions(session), []);
});

Deno.test("a hook of the caller's that says nothing in time lets no tool be called, and no prompt be sent", () => {
  const late = (event: string) => {
    const session = working([{ ...PRE, event }], 60_000);
    call(session);
    preToolUse(session, "5", event);
    session.wait(1999);
    assertEquals(replies(session), []);
    session.wait(1);
    assertEquals(session.effects.filter(({ type }) => type === "withdraw").length, 1);
    const [{ reply } = {}] = replies(session);
    return reply;
  };
  const { permissionDecision, permissionDecisionReason: reason } = late("PreToolUse")
    ?.["hookSpecificOutput"] as Readonly<Record<string, string>>;
  assertEquals(permissionDecision, "deny");
  assertMatch(
    reason ?? "",
    /^PreToolUse hook did not respond before its timeout .* not have completed\.$/u,
  );
  for (const event of ["UserPromptSubmit", "UserPromptExpansion"]) {
    assertEquals(late(event), {
      decision: "block",
      reason: `${event} hook callback timed out after 2000ms`,
      hookSpecificOutput: { hookEventName: event, suppressOriginalPrompt: true },
    });
  }
  assertEquals(late("PostToolUse"), undefined);
});

Deno.test("that the caller says nothing to a Stop hook in time is told, once until it answers one", () => {
  const told = () => {
    const session = working([{ event: "Stop", id: "hook_0", timeoutS: 2 }], 60_000);
    const stop = (id: string) =>
      session.receive({ type: "hook", event: "Stop", payload: {}, id, callback: 0 });
    for (const id of ["1", "2"]) {
      stop(id);
      session.wait(2000);
    }
    stop("3");
    answer(session, {}, "q-3");
    stop("4");
    session.wait(2000);
    return replies(session).map(({ reply }) => reply);
  };
  const silent = {
    systemMessage: "The app driving this session didn't respond, so this turn ended without it.",
  };
  assertEquals(told(), [silent, undefined, {}, silent]);
});

Deno.test("of what a hook of the caller's says ahead of a compaction its message alone is told to whoever makes the summary", () => {
  const event = "PreCompact";
  const replied = (response: unknown) => {
    const session = working([{ event, id: "hook_0", blocks: true }]);
    session.receive({ type: "hook", event, payload: {}, id: "5", callback: 0 });
    answer(session, response);
    return replies(session).map(({ reply }) => reply);
  };
  assertEquals(replied({}), [undefined]);
  assertEquals(replied({ systemMessage: "m", reason: "r" }), [{ systemMessage: "m" }]);
  assertEquals(replied({ decision: "block", reason: "r" }), [{ decision: "block" }]);
  assertEquals(replied({ decision: "block", systemMessage: "m" }), [
    { decision: "block", reason: "m" },
  ]);
  const [failed] = replied(7);
  assertMatch(`${failed?.["reason"]}`, /^failed; blocking because onFailure is "block"\n/u);
});

Deno.test("what a hook of the caller's says of a call that has been carried out forbids nothing", () => {
  const event = "PostToolUseFailure";
  const session = working([{ event, id: "hook_0" }]);
  call(session);
  preToolUse(session, "5", event);
  const reply = { decision: "block", reason: "look again" };
  answer(session, reply);
  assertEquals(replies(session).map((each) => each.reply), [reply]);
  assertEquals(decisions(session), []);
});

Deno.test("hooks of the caller's have the time that they had left once this program was stopped and goes on", () => {
  const session = working([PRE, { ...PRE, id: "hook_1", timeoutS: 5 }]);
  call(session);
  preToolUse(session);
  session.receive({
    type: "hook",
    event: "PreToolUse",
    payload: { tool_name: "Bash", tool_use_id: "toolu_1" },
    id: "6",
    callback: 1,
  });
  session.wait(1000);
  session.sleep(20_000);
  const answered = () => replies(session).map(({ id }) => id);
  session.wait(999);
  assertEquals(answered(), []);
  session.wait(1);
  assertEquals(answered(), ["5"]);
  session.wait(2999);
  assertEquals(answered(), ["5"]);
  session.wait(1);
  assertEquals(answered(), ["5", "6"]);
});

Deno.test("that a hook of the caller's has failed is told, with what comes of it", () => {
  const remarks = (version: string, hook: Partial<CallbackHook>) => {
    const event = "PostToolUse";
    const session = working([{ event, id: "hook_0", ...hook }], 60_000, version);
    session.receive({ type: "hook", event, payload: {}, id: "5", callback: 0 });
    session.receive({ type: "answer", answer: { id: "q-1", error: "x" } });
    return session.effects.flatMap((effect) => effect.type === "remark" ? [effect.text] : []);
  };
  const failed =
    "PostToolUse: Hook callback hook_0 failed: the SDK host replied with an error or " +
    "an invalid answer.";
  assertEquals(remarks("2.1.332", {}), [`${failed} Its answer was treated as empty.`]);
  assertEquals(
    remarks("2.1.332", { blocks: true }),
    [`${failed} onFailure is "block", so this failure counts as a block.`],
  );
});

Deno.test("where nobody can be asked a call is refused in the words of the caller's hook that wants it", () => {
  const refused = (permission: string, reason: string | undefined, tool = "Bash") => {
    const session = working([PRE], 60_000, "2.1.332", {});
    call(session);
    preToolUse(session);
    const output = {
      hookEventName: "PreToolUse",
      permissionDecision: permission,
      ...(reason === undefined ? {} : { permissionDecisionReason: reason }),
    };
    answer(session, { hookSpecificOutput: output });
    needsPermission(session, "7", INPUT, { tool_name: tool });
    const { behavior, message } = decision(session) as Readonly<Record<string, string>>;
    return [behavior, message, decisions(session)];
  };
  assertEquals(refused("ask", "the hook asks"), ["deny", "the hook asks", ["unasked"]]);
  assertEquals(refused("ask", undefined), [
    "deny",
    "Hook PreToolUse:Bash asked for confirmation for this tool",
    ["unasked"],
  ]);
  assertEquals(refused("allow", "x"), ["deny", "This command requires approval", []]);
  const [, words, decided] = refused("ask", "x", "Write");
  assertEquals([words, decided], [
    "Claude requested permissions to use Write, but you haven't granted it yet.",
    [],
  ]);
});

Deno.test("a hook of the caller's that fails stops what it guards if it says so", () => {
  const blocked = (event: string, response: unknown, more: Partial<CallbackHook> = {}) => {
    const { version = "2.1.332", ...hook } = more as { readonly version?: string };
    const session = working([{ event, id: "hook_0", blocks: true, ...hook }], 60_000, version);
    const payload = { hook_event_name: event };
    session.receive({ type: "hook", event, payload, id: "5", callback: 0 });
    const id = "q-1";
    session.receive(
      response instanceof Error
        ? { type: "answer", answer: { id, error: response.message } }
        : { type: "answer", answer: { id, response } },
    );
    return replies(session).map(({ reply }) => reply?.["decision"]);
  };
  const failures: readonly unknown[] = [
    ...[new Error("x"), 7, null, { decision: "maybe" }, { hookSpecificOutput: 7 }],
    ...[{ permissionDecision: "deny" }, { hookEventName: "Sometime" }].map((output) => ({
      hookSpecificOutput: output,
    })),
    { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "perhaps" } },
  ];
  for (const failure of failures) {
    assertEquals(blocked("PreToolUse", failure), ["block"], JSON.stringify(failure));
    assertEquals(blocked("UserPromptSubmit", failure), ["block"]);
    assertEquals(blocked("Stop", failure), [undefined]);
  }
  for (
    const [event, blocks, told] of [["Stop", true, true], ["Stop"], ["PostToolUse", true]] as const
  ) {
    const session = working([{ event, id: "hook_0", ...(blocks ? { blocks } : {}) }]);
    session.receive({ type: "hook", event, payload: {}, id: "5", callback: 0 });
    session.receive({ type: "answer", answer: { id: "q-1", error: "x" } });
    const remark = session.effects.find(({ type }) => type === "remark");
    assertEquals(remark?.type === "remark" && remark.ofStop, told);
  }
  assertEquals(blocked("PreToolUse", {}), [undefined]);
  assertEquals(blocked("PreToolUse", { decision: "approve" }), ["approve"]);
});

Deno.test("a hook of the caller's that answers for another event says nothing, and lets no tool be called", () => {
  const hear = (event: string, version: string, name = "PostToolBatch") => {
    const session = working([{ event, id: "hook_0" }], 60_000, version);
    const isOfCall = event === "PreToolUse";
    if (isOfCall) call(session);
    const payload = isOfCall ? { tool_use_id: "toolu_1" } : {};
    session.receive({ type: "hook", event, payload, id: "5", callback: 0 });
    const output = { hookEventName: name, additionalContext: "x" };
    session.receive({
      type: "answer",
      answer: { id: "q-1", response: { hookSpecificOutput: output } },
    });
    return session;
  };
  const reasonOf = () => {
    const [{ reply } = {}] = replies(hear("PreToolUse", "2.1.332"));
    const { permissionDecision, permissionDecisionReason } = reply?.["hookSpecificOutput"] as {
      readonly permissionDecision: string;
      readonly permissionDecisionReason: string;
    };
    return [permissionDecision, permissionDecisionReason.split(".")[0]];
  };
  assertEquals(reasonOf(), ["deny", "PreToolUse hook failed with an unexpected error"]);
  const remarks = (session: ReturnType<typeof hear>) =>
    session.effects.flatMap((effect) =>
      effect.type === "remark" ? [[effect.text, effect.own]] : []
    );
  const wrong = (event: string) =>
    `Hook returned incorrect event name: expected '${event}' but got 'PostToolBatch'. ` +
    'Full stdout: {\n  "hookSpecificOutput": {\n    "hookEventName": "PostToolBatch",\n' +
    '    "additionalContext": "x"\n  }\n}';
  for (const [event, told] of [["Stop", true], ["PostToolUse", false]] as const) {
    const session = hear(event, "2.1.332");
    assertEquals(remarks(session), told ? [[`Stop hook failed: ${wrong(event)}`, true]] : []);
    assertEquals(replies(session).map(({ reply }) => reply), [undefined]);
    assertEquals(replies(hear(event, "2.1.332", event)).length, 1);
  }
  // It ends claude -p, too.
  for (const version of ["2.1.285", "2.1.332"]) {
    const session = hear("UserPromptSubmit", version);
    assertEquals(session.state.ending, {
      kind: "misnamed-answer",
      message: wrong("UserPromptSubmit"),
    });
  }
});

Deno.test("a hook of the caller's for a command of a skill has its say, and without one nothing runs", () => {
  const event = "PreSkillShellCommand";
  const asking = () => {
    const session = working([{ event, id: "hook_0", timeoutS: 2 }], 60_000, "2.1.332");
    session.receive({ type: "hook", event, payload: { tool_use_id: "u:0" }, id: "5", callback: 0 });
    session.wait(1000);
    return session;
  };
  const given = (session: Simulation) => replies(session).map(({ reply }) => reply);
  for (const name of [event, "PreToolUse", "PermissionRequest"]) {
    const session = asking();
    const no = { hookSpecificOutput: { hookEventName: name, permissionDecision: "deny" } };
    answer(session, no);
    assertEquals(given(session), [no]);
  }
  const notRun = (reason: string) => [{ decision: "block", reason }];
  const misnamed = asking();
  answer(misnamed, { hookSpecificOutput: { hookEventName: "Stop" } });
  assertEquals(given(misnamed), notRun("the hook couldn't run"));
  const late = asking();
  late.wait(1000);
  assertEquals(given(late), notRun("the hook didn't answer"));
  const left = asking();
  left.receive({ type: "closed" });
  assertEquals(given(left), notRun("the hook didn't answer"));
});

Deno.test("what a hook of the caller's says of an event that is not known is the child's to judge", () => {
  const said = (event: string) => {
    const session = working([{ event, id: "hook_0" }]);
    session.receive({ type: "hook", event, payload: {}, id: "5", callback: 0 });
    answer(session, { hookSpecificOutput: { hookEventName: event, permissionDecision: "deny" } });
    return replies(session).map(({ reply }) => reply !== undefined);
  };
  assertEquals(said("PreSomethingNew"), [true]);
  assertEquals(said("TaskCompleted"), [false]);
});

Deno.test("an answer of the caller's server that Claude Code could not read is an error by its size", () => {
  const answered = (length: number) => {
    const session = working();
    const message = { jsonrpc: "2.0", id: 3, method: "tools/list" };
    session.receive({ type: "mcp-message", server: "calc", message });
    answer(session, { mcp_response: { jsonrpc: "2.0", id: 0, result: { x: "x".repeat(length) } } });
    return session.effects.flatMap((effect) =>
      effect.type === "mcp-message" ? [Object.keys(effect.message)] : []
    );
  };
  assertEquals(answered(16_777_100), [["jsonrpc", "id", "result"]]);
  assertEquals(answered(16_777_216), [["jsonrpc", "id", "error"]]);
});

Deno.test("a server of the caller's that does not say what it is has failed", () => {
  const initialize = { jsonrpc: "2.0", id: 3, method: "initialize" };
  const cancelled = {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 3 },
  };
  const failed = working();
  failed.receive({ type: "mcp-message", server: "calc", message: initialize });
  assertEquals(failed.state.servers.get("calc"), undefined);
  failed.receive({ type: "answer", answer: { id: "q-1", error: "no such server" } });
  assertEquals(failed.state.servers.get("calc"), { failed: true });
  const mute = working();
  mute.receive({ type: "mcp-message", server: "calc", message: initialize });
  const other = { ...cancelled, params: { requestId: 4 } };
  mute.receive({ type: "mcp-message", server: "calc", message: other });
  assertEquals(mute.state.servers.get("calc"), undefined);
  mute.receive({ type: "mcp-message", server: "calc", message: cancelled });
  assertEquals(mute.state.servers.get("calc"), { failed: true });
});

Deno.test("a hook about what a tool has done is called after the call, and one about several after their results", () => {
  const events = ["PostToolUse", "PostToolBatch"];
  const session = working(events.map((event) => ({ event, id: event })));
  const payloads = [
    { tool_name: "Bash", tool_use_id: "toolu_1" },
    { tool_calls: [{ tool_use_id: "toolu_1" }, { tool_use_id: "toolu_2" }] },
  ];
  for (const [callback, event] of events.entries()) {
    const payload = payloads[callback] ?? {};
    session.receive({ type: "hook", event, payload, id: `${callback}`, callback });
  }
  const called = () =>
    asked(session).map(({ question }) => "callback_id" in question && question.callback_id);
  assertEquals(called(), []);
  call(session);
  assertEquals(called(), ["PostToolUse"]);
  call(session, "toolu_2");
  returned(session, "toolu_1");
  assertEquals(called().length, 1);
  returned(session, "toolu_2");
  assertEquals(called(), events);
});

Deno.test("hooks about a subagent are called once its call has been told, and its last words", () => {
  const events = ["SubagentStart", "SubagentStop", "PostToolUse"];
  const session = working(events.map((event) => ({ event, id: event })));
  const hook = (event: string, payload: Readonly<Record<string, unknown>>) => {
    const callback = events.indexOf(event);
    session.receive({ type: "hook", event, payload, id: event, callback });
  };
  const called = () =>
    asked(session).map(({ question }) => "callback_id" in question && question.callback_id);
  const said = (content: readonly object[]) => {
    const subagent = { agentId: "a1", toolUseId: "toolu_1", type: "Explore", description: "Look" };
    const entry = readEntry({ type: "assistant", message: { id: "m", model: "m", content } });
    if (entry !== undefined) session.receive({ type: "subagent", line: { subagent, entry } });
    session.receive({ type: "read" });
  };
  hook("SubagentStart", { agent_id: "a1", agent_type: "Explore" });
  call(session);
  assertEquals(called(), []);
  const content = [{ type: "tool_use", id: "toolu_2", name: "Agent", input: {} }];
  line(session, { type: "assistant", message: { id: "m", model: "m", content } });
  assertEquals(called(), ["SubagentStart"]);
  hook("SubagentStop", { agent_id: "a1", last_assistant_message: "found" });
  hook("PostToolUse", {
    tool_name: "Agent",
    tool_use_id: "toolu_2",
    tool_response: { status: "completed", agentId: "a1" },
  });
  said([{ type: "text", text: "I look." }, {
    type: "tool_use",
    id: "toolu_3",
    name: "Bash",
    input: INPUT,
  }]);
  assertEquals(called(), ["SubagentStart"]);
  said([{ type: "text", text: "found" }]);
  assertEquals(called(), events);
  // Of one that nothing is known of, as of a compaction, nothing is waited for.
  hook("SubagentStop", { agent_id: "a2" });
  assertEquals(called().length, 4);
});

Deno.test("a hook about a permission is called after the question of it, whichever of the two the child asks first", () => {
  const session = working([{ event: "PermissionRequest", id: "hook_0" }]);
  const hook = (id: string, input: unknown) =>
    session.receive({
      type: "hook",
      event: "PermissionRequest",
      payload: {
        tool_name: "Bash",
        tool_input: input,
        mcp_server: { name: "calc", source: "dynamic" },
      },
      id,
      callback: 0,
    });
  const subjects = () =>
    asked(session).map(({ question }) =>
      "input" in question ? [question.subtype, question.input] : undefined
    );
  const [first, second] = [{ command: "a" }, { command: "b" }];
  hook("1", first);
  call(session, "toolu_a", first);
  call(session, "toolu_b", second);
  assertEquals(subjects(), []);
  needsPermission(session, "2", first);
  hook("3", second);
  needsPermission(session, "4", second);
  const told = (input: unknown) => [
    ["can_use_tool", input],
    ["hook_callback", {
      tool_name: "Bash",
      tool_input: input,
      mcp_server: { name: "calc", source: "sdk" },
    }],
  ];
  assertEquals(subjects(), [...told(first), ...told(second)]);
});

Deno.test("a hook whose callback is not registered vetoes", () => {
  const session = working();
  preToolUse(session);
  assertEquals(replies(session).map(({ id, veto }) => [id, veto]), [["5", true]]);
});

const fromChild = (session: Simulation, message: Readonly<Record<string, unknown>>) =>
  session.receive({ type: "mcp-message", server: "calc", message });
const toChild = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "mcp-message" ? [effect.message] : []);

Deno.test("what the child says to a server of the caller's is asked, and the answer keeps its id", () => {
  const session = working();
  fromChild(session, { jsonrpc: "2.0", id: 7, method: "tools/list" });
  fromChild(session, { jsonrpc: "2.0", method: "notifications/initialized" });
  assertEquals(asked(session).map(({ question }) => question), [
    {
      subtype: "mcp_message",
      server_name: "calc",
      message: { jsonrpc: "2.0", id: 7, method: "tools/list" },
    },
    {
      subtype: "mcp_message",
      server_name: "calc",
      message: { jsonrpc: "2.0", method: "notifications/initialized" },
    },
  ]);
  answer(session, { mcp_response: { jsonrpc: "2.0", id: 0, result: { tools: [] } } });
  answer(session, { mcp_response: { jsonrpc: "2.0", id: 0, result: {} } }, "q-2");
  assertEquals(toChild(session), [{ jsonrpc: "2.0", id: 7, result: { tools: [] } }]);
});

const callTool = (session: Simulation, id: number, meta?: Readonly<Record<string, unknown>>) =>
  fromChild(session, {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "add", ...(meta === undefined ? {} : { _meta: meta }) },
  });

Deno.test("a tool of the caller's is called once its call has been told, and one that is nobody's at once", () => {
  const session = working();
  callTool(session, 1, { "claudecode/toolUseId": "toolu_1" });
  callTool(session, 2);
  fromChild(session, { jsonrpc: "2.0", id: 3, method: "tools/list" });
  const ids = () =>
    asked(session).map(({ question }) =>
      question.subtype === "mcp_message" ? (question.message as { id: number }).id : undefined
    );
  assertEquals(ids(), [2, 3]);
  call(session);
  assertEquals(ids(), [2, 3, 1]);
  needsPermission(session, "7");
  answer(session, { behavior: "allow" }, "q-4");
  callTool(session, 4, { "claudecode/toolUseId": "toolu_1" });
  assertEquals(
    ids(),
    [2, 3, 1, undefined, 4],
    "that its permission was asked for takes nothing back",
  );
});

Deno.test("a call of the caller's tool that is never told is made all the same, but not after its turn", () => {
  const session = working();
  callTool(session, 1, { "claudecode/toolUseId": "toolu_1" });
  session.wait(5000);
  assertEquals(asked(session).length, 1);
  callTool(session, 2, { "claudecode/toolUseId": "toolu_2" });
  session.receive({
    type: "control",
    request: { id: "i", subtype: "interrupt", body: { subtype: "interrupt" } },
  });
  assertEquals(asked(session).length, 1);
  assertEquals(toChild(session).map(({ id, error }) => [id, error !== undefined]), [[2, true]]);
});

Deno.test("a server's call ends in an error when the caller errs, says nothing of use, or goes away", () => {
  const session = working();
  const codes = () => toChild(session).map(({ error }) => (error as { code: number }).code);
  for (const id of [1, 2, 3]) fromChild(session, { jsonrpc: "2.0", id, method: "tools/call" });
  session.receive({ type: "answer", answer: { id: "q-1", error: "broken" } });
  answer(session, { nothing: true }, "q-2");
  session.receive({ type: "closed" });
  fromChild(session, { jsonrpc: "2.0", id: 4, method: "tools/call" });
  assertEquals(codes(), Array(4).fill(-32603));
  fromChild(session, { jsonrpc: "2.0", id: 5, method: "server/discover" });
  assertEquals([codes().at(-1), asked(session).length], [-32601, 3]);
});

const HOUR = 3_600_000;

/** The dialog of a call on the screen, which a rule keeps there whatever the hook says. */
function stands(session: Simulation, command = INPUT.command): void {
  session.draw(
    ...["─".repeat(80), " Bash command", `   ${command}`, `   ${INPUT.description}`],
    ...[" Do you want to proceed?", " ❯ 1. Yes", "   2. No"],
  );
  session.receive({ type: "status", status: "waiting", waitingFor: "permission prompt" });
}

Deno.test("a dialog that stands though its call was allowed is answered with a yes, a yes to something else is not", () => {
  const pressed = (decision: unknown, ms: number, shown = INPUT.command) => {
    const session = working([], HOUR);
    call(session);
    needsPermission(session, "7");
    stands(session, shown);
    session.wait(60_000);
    const before = session.typed;
    answer(session, decision);
    session.wait(ms);
    return session.typed.slice(before.length);
  };
  const yes = { behavior: "allow", updatedInput: INPUT };
  assertEquals([pressed(yes, 2000), pressed(yes, 2500)], ["", "\r"]);
  assertEquals(pressed({ behavior: "allow" }, 2500), "\r");
  const ESCAPE = "\x1b";
  for (const ms of [10_000, 11_000]) {
    const typed = ms === 10_000 ? "" : ESCAPE;
    assertEquals(pressed({ behavior: "deny", message: "No" }, ms), typed);
    assertEquals(pressed({ behavior: "allow", updatedInput: { command: "ls" } }, ms), typed);
    assertEquals(pressed(yes, ms, "touch other"), typed);
  }
});

Deno.test("any number of calls are allowed that a rule asks about, and a key that shows nothing is not pressed for ever", () => {
  const session = working([], HOUR);
  const before = session.typed;
  for (let count = 1; count <= 30; count++) {
    const input = { ...INPUT, command: `touch ${count}` };
    call(session, `toolu_${count}`, input);
    needsPermission(session, `${count}`, input);
    stands(session, input.command);
    answer(session, { behavior: "allow" }, `q-${count}`);
    session.wait(2500);
    assertEquals(session.typed, before + "\r".repeat(count));
    session.draw("❯ ");
    session.receive({ type: "status", status: "busy" });
    returned(session, `toolu_${count}`);
  }
  call(session, "last");
  needsPermission(session, "last");
  stands(session);
  answer(session, { behavior: "allow" }, "q-31");
  session.wait(600_000);
  assertEquals(session.ending?.kind, "dialog");
});
