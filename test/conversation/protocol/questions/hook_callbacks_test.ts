import { assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import type { CallbackHook } from "../../../../src/conversation/protocol/caller_options.ts";
import { DEFERRAL } from "../../../../src/conversation/control/hook_answers.ts";
import { answer, call, returned } from "../../control/lines.ts";
import {
  callback,
  callbackHook,
  caller,
  CLOSED,
  failure,
  reply,
} from "../../control/caller_inputs.ts";
import { type Given, hook, READ } from "../../control/inputs.ts";
import { type Simulation, working } from "../../control/simulation.ts";

const INPUT = { command: "touch a" };
const PRE = callback("PreToolUse", { matcher: "Bash", timeoutS: 2 });
const GUARDING = ["PreToolUse", "UserPromptSubmit"];

/** A turn whose caller has hooks, and is asked for permissions unless it is not. */
function hooked(callbacks: readonly CallbackHook[], permissions = true): Simulation {
  const asked = caller({ callbacks, servers: ["calc"], ...(permissions ? { permissions } : {}) });
  return working({ otherStopHooks: true, timeoutMs: 60_000, caller: asked });
}

const callLine = (id = "toolu_1", input: unknown = INPUT) => [call(id, input), READ];
const toolHook = (event = "PreToolUse", id = "5", place = 0) => {
  const payload = { hook_event_name: event, tool_name: "Bash", tool_use_id: "toolu_1" };
  return callbackHook(event, payload, id, place);
};
const output = (hookEventName: string, permissionDecision?: string, more = {}) => ({
  hookSpecificOutput: {
    hookEventName,
    ...(permissionDecision ? { permissionDecision } : {}),
    ...more,
  },
});
const callbackIds = ({ asked }: Simulation) =>
  asked.map((question) => "callback_id" in question && question.callback_id);

/** What comes of one hook of the caller's, whose event is about a call, once it is answered. */
function after(event: string, given: Given, more: Partial<CallbackHook> = {}): Simulation {
  const session = hooked([callback(event, more)]);
  session.receive(...callLine(), toolHook(event), given);
  return session;
}

Deno.test("hook is called once its call is emitted", () => {
  const session = hooked([PRE]);
  session.receive(toolHook());
  assertEquals(session.asked, []);
  session.receive(...callLine());
  assertEquals<unknown>(session.asked, [{
    subtype: "hook_callback",
    callback_id: "hook_0",
    input: toolHook().payload,
    tool_use_id: "toolu_1",
  }]);
});

Deno.test("PreToolUse hook decides on its call", () => {
  const rows = [
    ["allow", []],
    ["deny", ["forbidden"]],
    ["ask", []],
  ] as const;
  for (const [permission, decisions] of rows) {
    for (const more of [{}, { blocks: true } as const]) {
      const response = output("PreToolUse", permission);
      const session = after("PreToolUse", reply(response), more);
      assertEquals([session.replies, session.decisions], [[response], decisions]);
      assertEquals(session.of("remark"), []);
    }
  }
  const deferred = after("PreToolUse", reply(output("PreToolUse", "defer")));
  assertEquals([deferred.replies, deferred.decisions], [[DEFERRAL], []]);
});

Deno.test("hook after a call forbids nothing", () => {
  const response = { decision: "block", reason: "look again" };
  const session = after("PostToolUseFailure", reply(response));
  assertEquals([session.replies, session.decisions], [[response], []]);
});

Deno.test("late hook blocks its tool or prompt", () => {
  const late = (event: string) => {
    const session = hooked([{ ...PRE, event }]);
    session.receive(...callLine(), toolHook(event));
    session.wait(1999);
    assertEquals(session.replies, []);
    session.wait(1);
    assertEquals(session.withdrawals, 1);
    return session.replies[0];
  };
  const { permissionDecision, permissionDecisionReason: reason } = late("PreToolUse")
    ?.["hookSpecificOutput"] as JsonObject;
  assertEquals(permissionDecision, "deny");
  assertMatch(`${reason}`, /^PreToolUse hook did not respond .* not have completed\.$/u);
  for (const event of ["UserPromptSubmit", "UserPromptExpansion"]) {
    assertEquals(late(event), {
      decision: "block",
      reason: `${event} hook callback timed out after 2000ms`,
      hookSpecificOutput: { hookEventName: event, suppressOriginalPrompt: true },
    });
  }
  assertEquals(late("PostToolUse"), undefined);
});

Deno.test("silent Stop hook is reported once", () => {
  const session = hooked([callback("Stop", { timeoutS: 2 })]);
  const stops = (id: string) => session.receive(callbackHook("Stop", {}, id));
  for (const id of ["1", "2"]) {
    stops(id);
    session.wait(2000);
  }
  stops("3");
  session.receive(reply({}, "q-3"));
  stops("4");
  session.wait(2000);
  const systemMessage =
    "The app driving this session didn't respond, so this turn ended without it.";
  assertEquals(session.replies, [{ systemMessage }, undefined, {}, { systemMessage }]);
});

Deno.test("time in which this program was stopped extends hooks", () => {
  const session = hooked([PRE, { ...PRE, id: "hook_1", timeoutS: 5 }]);
  session.receive(...callLine(), toolHook(), toolHook("PreToolUse", "6", 1));
  session.wait(1000);
  session.sleep(20_000);
  for (const [ms, answered] of [[999, []], [1, ["5"]], [2999, ["5"]], [1, ["5", "6"]]] as const) {
    session.wait(ms);
    assertEquals(session.answered, answered);
  }
});

Deno.test("PreCompact hook can add a message or block", () => {
  const rows = [
    [{}, undefined],
    [{ systemMessage: "m", reason: "r" }, { systemMessage: "m" }],
    [{ decision: "block", reason: "r" }, { decision: "block" }],
    [{ decision: "block", systemMessage: "m" }, { decision: "block", reason: "m" }],
  ] as const;
  for (const [response, expected] of rows) {
    const session = after("PreCompact", reply(response), { blocks: true });
    assertEquals<unknown>(session.replies, [expected]);
  }
  const [failed] = after("PreCompact", reply(7), { blocks: true }).replies;
  assertMatch(`${failed?.["reason"]}`, /^failed; blocking because onFailure is "block"\n/u);
});

Deno.test("failed hook is reported with its consequence", () => {
  const failed = (event: string) =>
    `${event}: Hook callback hook_0 failed: the SDK host replied with an error or an invalid answer.`;
  const empty = "Its answer was treated as empty.";
  const blocks = 'onFailure is "block", so this failure counts as a block.';
  const rows = [
    ["PostToolUse", {}, empty, undefined],
    ["PostToolUse", { blocks: true }, blocks, undefined],
    ["Stop", {}, empty, undefined],
    ["Stop", { blocks: true }, empty, true],
  ] as const;
  for (const [event, more, consequence, ofStop] of rows) {
    const [remark] = after(event, failure("x"), more).of("remark");
    assertEquals([remark?.text, remark?.ofStop], [`${failed(event)} ${consequence}`, ofStop]);
  }
});

Deno.test("failed hook blocks what it guards if it says so", () => {
  const failures: readonly unknown[] = [
    ...[7, null, { decision: "maybe" }, { hookSpecificOutput: 7 }],
    { hookSpecificOutput: { permissionDecision: "deny" } },
    output("Sometime"),
    output("PreToolUse", "perhaps"),
  ];
  for (const given of [failure("x"), ...failures.map((each) => reply(each))]) {
    for (const event of [...GUARDING, "Stop"]) {
      const [answered] = after(event, given, { blocks: true }).replies;
      const expected = event === "Stop" ? undefined : "block";
      assertEquals(answered?.["decision"], expected, `${event} ${JSON.stringify(given)}`);
    }
  }
  const { decisions } = after("PreToolUse", failure("x"), { blocks: true });
  assertEquals(decisions, ["forbidden"]);
});

Deno.test("answer for another event is dropped and blocks tools", () => {
  const misnamed = (event: string, name = "PostToolBatch") =>
    after(event, reply(output(name, undefined, { additionalContext: "x" })));
  const { permissionDecision, permissionDecisionReason } = misnamed("PreToolUse").output ?? {};
  assertEquals(permissionDecision, "deny");
  assertMatch(`${permissionDecisionReason}`, /^PreToolUse hook failed with an unexpected error\./u);
  const wrong = (event: string) =>
    `Hook returned incorrect event name: expected '${event}' but got 'PostToolBatch'. ` +
    'Full stdout: {\n  "hookSpecificOutput": {\n    "hookEventName": "PostToolBatch",\n' +
    '    "additionalContext": "x"\n  }\n}';
  for (const event of ["Stop", "PostToolUse"]) {
    const session = misnamed(event);
    const told = event === "Stop" ? [[`Stop hook failed: ${wrong(event)}`, true]] : [];
    assertEquals<unknown>(session.of("remark").map(({ text, own }) => [text, own]), told);
    assertEquals(session.replies, [undefined]);
    assertEquals(misnamed(event, "PreToolUse").replies, [undefined]);
    assertEquals(misnamed(event, event).replies.map((each) => each !== undefined), [true]);
  }
  // `claude -p` ends too.
  const message = wrong("UserPromptSubmit");
  assertEquals(misnamed("UserPromptSubmit").state.ending, { kind: "misnamed-answer", message });
});

Deno.test("hook of a skill's command answers or nothing runs", () => {
  const event = "PreSkillShellCommand";
  const asking = (...inputs: readonly Given[]) => {
    const session = hooked([callback(event, { timeoutS: 2 })]);
    session.receive(callbackHook(event, { tool_use_id: "u:0" }));
    session.wait(1000);
    session.receive(...inputs);
    session.wait(1000);
    return session.replies;
  };
  for (const name of [event, "PreToolUse", "PermissionRequest"]) {
    assertEquals(asking(reply(output(name, "deny"))), [output(name, "deny")]);
  }
  const blocked = (reason: string) => [{ decision: "block", reason }];
  assertEquals(asking(reply(output("Stop"))), blocked("the hook couldn't run"));
  assertEquals(asking(), blocked("the hook didn't answer"));
  assertEquals(asking(CLOSED), blocked("the hook didn't answer"));
});

Deno.test("child judges the answer to an unknown event", () => {
  for (const [event, isPassed] of [["PreSomethingNew", true], ["TaskCompleted", false]] as const) {
    const { replies } = after(event, reply(output(event, "deny")));
    assertEquals(replies.map((each) => each !== undefined), [isPassed], event);
  }
});

Deno.test("call whose hook cannot answer any more does not run", () => {
  const orders = [
    [...callLine(), toolHook(), CLOSED],
    [toolHook(), CLOSED],
    [CLOSED, ...callLine(), toolHook()],
  ];
  for (const inputs of orders) {
    const session = hooked([PRE]);
    session.receive(...inputs);
    assertEquals(session.output?.["permissionDecision"], "deny");
    assertEquals([session.replies.length, session.decisions], [1, ["gone"]]);
  }
  const done = hooked([{ ...PRE, event: "PostToolUse" }]);
  done.receive(CLOSED, ...callLine(), toolHook("PostToolUse"));
  assertEquals(done.replies, [undefined]);
});

Deno.test("hook's words refuse a call without a caller", () => {
  const request = (tool: string) =>
    hook("PermissionRequest", { tool_name: tool, tool_input: INPUT, cwd: "/w" }, "7");
  const rows = [
    ["ask", "the hook asks", "Bash", "the hook asks", ["unasked"]],
    [
      "ask",
      undefined,
      "Bash",
      "Hook PreToolUse:Bash asked for confirmation for this tool",
      ["unasked"],
    ],
    ["allow", "x", "Bash", "This command requires approval", []],
    [
      "ask",
      "x",
      "Write",
      "Claude requested permissions to use Write, but you haven't granted it yet.",
      [],
    ],
  ] as const;
  for (const [permission, reason, tool, message, decisions] of rows) {
    const session = hooked([PRE], false);
    const more = reason === undefined ? {} : { permissionDecisionReason: reason };
    session.receive(...callLine(), toolHook(), reply(output("PreToolUse", permission, more)));
    session.receive(request(tool));
    assertEquals(session.output?.["decision"], { behavior: "deny", message });
    assertEquals(session.decisions, decisions);
  }
});

Deno.test("hooks after calls wait for the lines they are about", () => {
  const events = ["PostToolUse", "PostToolBatch"];
  const session = hooked(events.map((event) => callback(event, { id: event })));
  const tool_calls = [{ tool_use_id: "toolu_1" }, { tool_use_id: "toolu_2" }];
  session.receive(toolHook("PostToolUse", "0"));
  session.receive(callbackHook("PostToolBatch", { tool_calls }, "1", 1));
  assertEquals(callbackIds(session), []);
  session.receive(...callLine());
  assertEquals(callbackIds(session), ["PostToolUse"]);
  session.receive(...callLine("toolu_2"), returned("toolu_1"), READ);
  assertEquals(callbackIds(session), ["PostToolUse"]);
  session.receive(returned("toolu_2"), READ);
  assertEquals(callbackIds(session), events);
});

Deno.test("subagent hooks wait for its call and last words", () => {
  const events = ["SubagentStart", "SubagentStop", "PostToolUse"];
  const session = hooked(events.map((event) => callback(event, { id: event })));
  const runs = (event: string, payload: JsonObject) =>
    callbackHook(event, payload, event, events.indexOf(event));
  const says = (content: Parameters<typeof answer>[0]): readonly Given[] => {
    const subagent = { agentId: "a1", toolUseId: "toolu_1", type: "Explore", description: "Look" };
    return [{ type: "subagent", line: { subagent, entry: answer(content).entry } }, READ];
  };
  session.receive(runs("SubagentStart", { agent_id: "a1", agent_type: "Explore" }), ...callLine());
  assertEquals(callbackIds(session), []);
  session.receive(call("toolu_2", {}, "Agent"), READ);
  assertEquals(callbackIds(session), ["SubagentStart"]);
  const tool_response = { status: "completed", agentId: "a1" };
  session.receive(
    runs("SubagentStop", { agent_id: "a1", last_assistant_message: "found" }),
    runs("PostToolUse", { tool_name: "Agent", tool_use_id: "toolu_2", tool_response }),
    ...says([
      { type: "text", text: "I look." },
      { type: "tool_use", id: "toolu_3", name: "Bash", input: INPUT },
    ]),
  );
  assertEquals(callbackIds(session), ["SubagentStart"]);
  session.receive(...says("found"));
  assertEquals(callbackIds(session), events);
  // Nothing is known of this one, as of that which makes a compaction's summary.
  session.receive(runs("SubagentStop", { agent_id: "a2" }));
  assertEquals(callbackIds(session).length, 4);
});

Deno.test("hook about a permission is called after its question", () => {
  const session = hooked([callback("PermissionRequest")]);
  const payload = (input: unknown, source: string) => ({
    ...{ tool_name: "Bash", tool_input: input, mcp_server: { name: "calc", source } },
  });
  const asks = (id: string, input: unknown) =>
    hook("PermissionRequest", { tool_name: "Bash", tool_input: input, cwd: "/w" }, id);
  const runs = (id: string, input: unknown) =>
    callbackHook("PermissionRequest", payload(input, "dynamic"), id);
  const [first, second] = [{ command: "a" }, { command: "b" }];
  session.receive(runs("1", first), ...callLine("toolu_a", first), ...callLine("toolu_b", second));
  assertEquals(session.asked, []);
  session.receive(asks("2", first), runs("3", second), asks("4", second));
  assertEquals(
    session.asked.map((question) => "input" in question && [question.subtype, question.input]),
    [first, second].flatMap((input) => [
      ["can_use_tool", input],
      ["hook_callback", payload(input, "sdk")],
    ]),
  );
});

Deno.test("hook whose callback is unknown vetoes", () => {
  const session = hooked([]);
  session.receive(toolHook());
  assertEquals(session.of("answer"), [{ type: "answer", id: "5", veto: true }]);
});
