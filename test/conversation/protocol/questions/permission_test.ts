import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import { call, PROMPT, returned, userLine } from "../../control/lines.ts";
import {
  caller,
  CLOSED,
  failure,
  fromServer,
  reply,
  request,
} from "../../control/caller_inputs.ts";
import { BUSY, exit, type Given, hook, READ, status, VERSION } from "../../control/inputs.ts";
import { run, type Simulation, type SimulationOptions, working } from "../../control/simulation.ts";

const INPUT = { command: "touch a", description: "Touch" };
const HOUR = 3_600_000;
const ALLOW = { behavior: "allow" };

const calls = (id = "toolu_1", input: unknown = INPUT) => [call(id, input), READ];
const needsPermission = (id = "7", input: unknown = INPUT, more: JsonObject = {}) =>
  hook("PermissionRequest", { tool_name: "Bash", tool_input: input, cwd: "/w", ...more }, id);
const chooseMode = (mode: string) => request("set_permission_mode", { mode });

/** A turn whose caller is asked for permissions. */
function asking(options: SimulationOptions = {}, ...inputs: readonly Given[]): Simulation {
  const asked = caller({ permissions: true, servers: ["calc"] });
  const session = working({ otherStopHooks: true, caller: asked, ...options }, ...inputs);
  return session;
}

/** The same once it has asked about its only call. */
const asked = (...inputs: readonly Given[]) => asking({}, ...calls(), needsPermission(), ...inputs);

const decision = ({ output }: Simulation) => output?.["decision"] as JsonObject | undefined;
const callIds = ({ asked }: Simulation) =>
  asked.map((question) => "tool_use_id" in question && question.tool_use_id);

Deno.test("caller is asked once the call is emitted", () => {
  const session = asking({}, needsPermission());
  assertEquals(session.asked, []);
  session.receive(...calls());
  assertEquals<unknown>(session.asked, [{
    subtype: "can_use_tool",
    tool_name: "Bash",
    display_name: "Bash",
    input: INPUT,
    description: "Touch",
    tool_use_id: "toolu_1",
  }]);
  session.receive(reply(ALLOW));
  assertEquals(session.answered, ["7"]);
  assertEquals(decision(session), { behavior: "allow", updatedInput: INPUT });
  assertEquals(session.decisions, ["accepted"]);
});

Deno.test("question describes the call, unless a server has its tool", () => {
  const question = (input: unknown, more: JsonObject = {}) => {
    const session = asking({}, needsPermission("7", input, more));
    session.wait(5000);
    const { description, display_name, mcp_server } = session.asked[0] as unknown as JsonObject;
    return [description, display_name, mcp_server];
  };
  const long = `touch ${"x".repeat(44)}`;
  assertEquals(question({ command: long, description: "" }), [long, "Bash", undefined]);
  assertEquals(question({ url: `${long}x` })[0], `${long.slice(0, -1)}…`);
  assertEquals(question({ file_path: "/w/a.txt" })[0], "a.txt");
  assertEquals(question({ file_path: "/x/a.txt" })[0], "/x/a.txt");
  const rows = [
    ["calc", "dynamic", "add_two-UPs", "Add Two-UPs", "sdk"],
    ["other", "user", "of__many", "Many", "user"],
  ] as const;
  for (const [name, source, tool, shown, shownSource] of rows) {
    const ofServer = { tool_name: `mcp__${name}__${tool}`, mcp_server: { name, source } };
    assertEquals(question(INPUT, ofServer), [undefined, shown, { name, source: shownSource }]);
  }
});

Deno.test("caller is asked after 2 s without the call", () => {
  const session = asking({}, needsPermission());
  session.wait(1999);
  assertEquals(session.asked, []);
  session.wait(1);
  assertEquals(callIds(session), [""]);
});

Deno.test("questions find their calls by tool, input and result", () => {
  const [a, b] = [{ command: "a" }, { command: "b" }];
  const next = asking({}, ...calls("toolu_a", a), needsPermission("1", a), reply(ALLOW));
  next.receive(needsPermission("2", b));
  assertEquals(callIds(next), ["toolu_a"], "that call has no result yet");
  next.receive(...calls("toolu_b", b));
  assertEquals(callIds(next), ["toolu_a", "toolu_b"]);
  const both = asking({}, ...calls("toolu_a", a), ...calls("toolu_b", b));
  both.receive(needsPermission("2", b), needsPermission("1", a));
  assertEquals(callIds(both), ["toolu_b", "toolu_a"]);
});

Deno.test("refusal keeps the caller's words and can end the turn", () => {
  const never = { behavior: "deny", message: "Never" };
  const session = asked(reply(never));
  assertEquals(decision(session), never);
  assertEquals([session.decisions, session.state.phase], [["rejected"], "working"]);
  const stop = { behavior: "deny", message: "Stop", interrupt: true };
  session.receive(...calls("toolu_2"), needsPermission("8"), reply(stop, "q-2"));
  assertEquals(decision(session), stop);
  assertEquals(session.decisions, ["rejected", "withdrawn"]);
  assertEquals([session.state.phase, session.typed], ["aborting", ""]);
});

Deno.test("refusal of a background subagent ends no turn", () => {
  for (const [isAsync, phase] of [[true, "working"], [false, "aborting"]] as const) {
    const content = [{ type: "tool_result", tool_use_id: "toolu_1" }];
    const session = asking({}, userLine(content, { toolUseResult: { isAsync, agentId: "a" } }));
    const subagent = { agentId: "a", toolUseId: "toolu_1", type: "Explore", description: "Look" };
    const { entry } = call("toolu_2", INPUT);
    session.receive({ type: "subagent", line: { subagent, entry } }, READ);
    session.receive(needsPermission("8", INPUT, { agent_id: "a" }));
    session.receive(reply({ behavior: "deny", message: "Stop", interrupt: true }));
    assertEquals([session.answered, session.state.phase], [["8"], phase]);
  }
});

Deno.test("mode chosen during a turn applies with an allowed call", () => {
  const chosen = { type: "setMode", mode: "acceptEdits", destination: "session" };
  const rule = { type: "addRules", rules: [], behavior: "allow", destination: "session" };
  const own = { type: "setMode", mode: "plan", destination: "session" };
  const rows = [
    [ALLOW, [chosen]],
    [{ ...ALLOW, updatedPermissions: [rule] }, [rule, chosen]],
    [{ ...ALLOW, updatedPermissions: [own] }, [own]],
    [{ behavior: "deny", message: "No" }, undefined],
  ] as const;
  for (const [response, permissions] of rows) {
    const session = asked(chooseMode("acceptEdits"), reply(response));
    assertEquals<unknown>(decision(session)?.["updatedPermissions"], permissions);
  }
});

Deno.test("stricter mode chosen during a turn asks until it applies", () => {
  const rows = [
    [true, "default", [undefined, "ask", undefined]],
    [true, "bypassPermissions", [undefined, undefined, undefined]],
    [false, "acceptEdits", [undefined, undefined, undefined]],
  ] as const;
  for (const [loose, mode, permissions] of rows) {
    const session = asking(loose ? { loose } : {});
    const permission = (id: string) => {
      session.receive(hook("PreToolUse", { tool_name: "Bash", tool_input: INPUT }, id));
      return session.output?.["permissionDecision"];
    };
    const first = permission("1");
    session.receive(chooseMode(mode));
    const second = permission("2");
    session.receive(...calls(), needsPermission("3"), reply(ALLOW));
    assertEquals([first, second, permission("4")], [...permissions]);
  }
});

Deno.test("dontAsk chosen during a turn denies without a question", () => {
  const session = asking({}, ...calls(), chooseMode("dontAsk"), needsPermission());
  assertEquals(session.asked, []);
  const { behavior, message } = decision(session) ?? {};
  assertEquals(behavior, "deny");
  assertEquals(`${message}`.split(" because ")[0], "Permission to use Bash has been denied");
});

Deno.test("malformed answers and errors deny", () => {
  const malformed = [
    ...[undefined, null, 7, {}, { behavior: "deny" }],
    { behavior: "allow", updatedInput: 7 },
  ];
  for (const answer of [...malformed.map((each) => reply(each)), failure("broken")]) {
    const session = asked(answer);
    assertEquals([decision(session)?.["behavior"], session.decisions], ["deny", ["failed"]]);
  }
  const message = "Tool permission request failed: Error: broken";
  assertEquals(decision(asked(failure("broken"))), { behavior: "deny", message });
});

Deno.test("late, double and foreign answers are ignored", () => {
  const session = asked(reply(ALLOW, "q-2"), reply(ALLOW, "other"));
  assertEquals(session.replies, []);
  session.receive(reply({ behavior: "deny", message: "No" }), reply(ALLOW));
  assertEquals(session.replies.length, 1);
});

Deno.test("caller that leaves denies open and later questions", () => {
  const session = asked(CLOSED);
  const denied = (reason: string) => ({
    behavior: "deny",
    message: `Tool permission request failed: AbortError: ${reason}`,
  });
  const gone = denied("Tool permission stream closed before response received");
  assertEquals(decision(session), gone);
  const other = { command: "touch other" };
  session.receive(...calls("toolu_2", other), needsPermission("8", other));
  assertEquals([decision(session), session.asked.length], [denied("Stream closed"), 1]);
  const absent = working({ caller: caller({ permissions: true, isAbsent: true }) });
  absent.receive(...calls(), needsPermission());
  assertEquals([decision(absent), absent.asked.length], [denied("Stream closed"), 0]);
});

Deno.test("no key is pressed while the caller decides", () => {
  const orders = [[needsPermission(), status("waiting")], [status("waiting"), needsPermission()]];
  for (const last of orders) {
    const session = asking();
    session.draw("Do you want to proceed?", "❯ 1. Yes", "  2. No");
    session.receive(...calls(), ...last);
    session.wait(30_000);
    assertEquals([session.typed, session.ending], ["", undefined]);
  }
});

Deno.test("interrupt withdraws questions first", () => {
  const session = asking({}, PROMPT, ...calls(), needsPermission(), request("interrupt"));
  const expected = ["control_request", "control_cancel_request", "respond", "write"];
  const types = session.effects.map((effect) =>
    effect.type === "frame" ? effect.frame.type : effect.type
  );
  assertEquals(types.filter((type) => expected.includes(type)), expected);
  assertEquals(session.decisions, ["withdrawn"]);
  session.receive(reply(ALLOW));
  assertEquals(session.replies, []);
});

/** Draws the dialog of a call, which a rule keeps on the screen whatever the hook says. */
function stands(session: Simulation, command = INPUT.command): void {
  session.draw(
    ...["─".repeat(80), " Bash command", `   ${command}`, `   ${INPUT.description}`],
    ...[" Do you want to proceed?", " ❯ 1. Yes", "   2. No"],
  );
  session.receive(status("waiting", "permission prompt"));
}

Deno.test("dialog that stands gets Enter only for its allowed call", () => {
  const ESCAPE = "\x1b";
  const yes = { behavior: "allow", updatedInput: INPUT };
  const rows = [
    [yes, 2000, ""],
    [yes, 2500, "\r"],
    [ALLOW, 2500, "\r"],
    [{ behavior: "deny", message: "No" }, 10_000, ""],
    [{ behavior: "deny", message: "No" }, 11_000, ESCAPE],
    [{ behavior: "allow", updatedInput: { command: "ls" } }, 10_000, ""],
    [{ behavior: "allow", updatedInput: { command: "ls" } }, 11_000, ESCAPE],
    [yes, 10_000, "", "touch other"],
    [yes, 11_000, ESCAPE, "touch other"],
  ] as const;
  for (const [response, ms, key, shown] of rows) {
    const session = asking({ timeoutMs: HOUR }, ...calls(), needsPermission());
    stands(session, shown);
    session.wait(60_000);
    const before = session.typed;
    session.receive(reply(response));
    session.wait(ms);
    assertEquals(session.typed.slice(before.length), key, `${shown} ${ms}`);
  }
  const other = calls("toolu_2", { ...INPUT, command: "touch other" });
  const session = asking({ timeoutMs: HOUR }, ...calls(), ...other, needsPermission());
  stands(session, "touch other");
  session.receive(reply(ALLOW));
  session.wait(2500);
  assertEquals(session.typed, "", "another call was allowed");
});

Deno.test("Enter is pressed for any number of calls", () => {
  const session = asking({ timeoutMs: HOUR });
  for (let count = 1; count <= 25; count++) {
    const input = { ...INPUT, command: `touch ${count}` };
    session.receive(...calls(`toolu_${count}`, input), needsPermission(`${count}`, input));
    stands(session, input.command);
    session.receive(reply(ALLOW, `q-${count}`));
    session.wait(2500);
    assertEquals(session.typed, "\r".repeat(count));
    session.draw("❯ ");
    session.receive(BUSY, returned(`toolu_${count}`), READ);
  }
  session.receive(...calls("last"), needsPermission("last"));
  stands(session);
  session.receive(reply(ALLOW, "q-26"));
  session.wait(600_000);
  assertEquals(session.ending?.kind, "dialog");
});

const QUESTION = { name: "ask", arguments: { tool_name: "Bash", input: INPUT } };

/** A run of one prompt whose permission prompt tool is of an MCP server. */
function withPromptTool(tools: readonly string[] = ["ask"]): Simulation {
  const promptTool = { name: "mcp__p_q__ask", server: "p.q", tool: "ask" };
  const session = run({ prompt: "go", caller: caller({ permissions: true, promptTool }) });
  session.receive({ ...BUSY, version: VERSION }, CLOSED);
  session.receive(toolAnswers({ tools: tools.map((name) => ({ name })) }, 1));
  session.receive(...calls(), needsPermission());
  return session;
}
const toolAnswers = (result: JsonObject, id: unknown = "q-1") => fromServer("p.q", { id, result });
const text = (text: string, isError = false) =>
  toolAnswers({ content: [{ type: "text", text }], isError });

/** The call of the tool that decides on the permission. */
const toolCall = (id: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    ...QUESTION,
    arguments: { ...QUESTION.arguments, tool_use_id: "toolu_1" },
    _meta: { "claudecode/toolUseId": "toolu_1" },
  },
});

Deno.test("permission prompt tool decides after the input closed", () => {
  const session = withPromptTool();
  assertEquals(session.of("mcp-message").map(({ server, message }) => [server, message]), [
    ["p.q", toolCall("q-1")],
  ]);
  session.receive(text('{"behavior":"deny","message":"no"}'));
  assertEquals(decision(session), { behavior: "deny", message: "no" });
  session.receive(text('{"behavior":"allow"}'));
  assertEquals(session.decisions, ["rejected"], "a second answer is ignored");
});

Deno.test("permission prompt tool that fails denies with an error", () => {
  const rows = [
    [text("out of order", true), "out of order"],
    [fromServer("p.q", { id: "q-1", error: { code: -1, message: "bad" } }), "bad"],
  ] as const;
  for (const [answer, reason] of rows) {
    const session = withPromptTool();
    session.receive(answer);
    const message = `<tool_use_error>Error calling tool (Bash): ${reason}</tool_use_error>`;
    assertEquals(decision(session), { behavior: "deny", message });
    assertEquals(session.decisions, ["late"]);
  }
});

/** A conversation whose permission prompt tool is of the caller's own server. */
function withOwnTool(tools: readonly string[] = ["ask"], ...before: readonly Given[]) {
  const promptTool = { name: "mcp__own__ask", tool: "ask", ownServer: "own" };
  const own = caller({ permissions: true, servers: ["own"], promptTool });
  const session = run({ conversation: true, version: VERSION, caller: own }, BUSY);
  session.receive(fromServer("own", { jsonrpc: "2.0", id: 1, method: "tools/list" }));
  const result = { tools: tools.map((name) => ({ name })) };
  session.receive(reply({ mcp_response: { id: 1, result } }), ...before);
  session.receive(...calls(), needsPermission());
  return session;
}

Deno.test("caller's own server can have the permission prompt tool", () => {
  const decides = (decided: JsonObject) => {
    const content = [{ type: "text", text: JSON.stringify(decided) }];
    return reply({ mcp_response: { result: { content } } }, "q-2");
  };
  const question = { subtype: "mcp_message", server_name: "own", message: toolCall("q-2") };
  assertEquals<unknown>(withOwnTool().asked[1], question);
  const denied = { behavior: "deny", message: "no" };
  const rows = [
    [decides(ALLOW), { behavior: "allow", updatedInput: INPUT }, "accepted"],
    [decides(denied), denied, "rejected"],
    [failure("it broke", "q-2"), undefined, "late"],
    [reply(7, "q-2"), undefined, "late"],
  ] as const;
  for (const [answer, expected, outcome] of rows) {
    const session = withOwnTool();
    session.receive(answer);
    assertEquals(session.decisions, [outcome]);
    if (expected !== undefined) assertEquals<unknown>(decision(session), expected);
  }
  assertEquals(withOwnTool(["ask"], CLOSED).decisions, ["failed"]);
});

Deno.test("permission prompt tool that its server lacks ends the run", () => {
  const rows = [
    [withPromptTool(["other", "more"]), "p_q"],
    [withOwnTool(["other", "more"]), "own"],
  ] as const;
  for (const [session, server] of rows) {
    assertEquals(session.signals, ["SIGTERM tree"]);
    session.receive(exit(0));
    const [name = "", ...available] = ["ask", "other", "more"]
      .map((tool) => `mcp__${server}__${tool}`);
    assertEquals(session.ending, { kind: "no-prompt-tool", name, available });
  }
});

const ELICITED = {
  ...{ mcp_server_name: "my el", message: "Your name?", mode: "form" },
  requested_schema: { type: "object", properties: { name: { type: "string" } } },
};
const ELICITS = hook("Elicitation", { ...ELICITED, cwd: "/w" }, "7");
const SERVER_CALL = [call("toolu_1", {}, "mcp__my_el__ask"), READ];
const eliciting = (...inputs: readonly Given[]) => {
  const session = working({ caller: caller({ initialized: { id: "i" } }) }, ...inputs);
  return session;
};
const elicited = ({ answered, output }: Simulation) => [...answered, output];
const told = (more: object) => ["7", { hookEventName: "Elicitation", ...more }];
const CANCELLED = told({ action: "cancel" });

Deno.test("caller answers an MCP server's question", () => {
  const session = eliciting(ELICITS);
  assertEquals([session.asked, session.answered], [[], []]);
  session.receive(...SERVER_CALL);
  assertEquals<unknown>(session.asked, [{ subtype: "elicitation", ...ELICITED }]);
  const response = { action: "accept", content: { name: "Bob" } };
  session.receive(reply(response));
  assertEquals(elicited(session), told(response));
});

Deno.test("malformed answer to an MCP server cancels", () => {
  const rows = [
    [reply({ action: "decline", content: 7 }), told({ action: "decline" })],
    [reply({ action: "yes" }), CANCELLED],
    [reply(null), CANCELLED],
    [reply("accept"), CANCELLED],
    [failure("the caller broke"), CANCELLED],
  ] as const;
  for (const [answer, expected] of rows) {
    assertEquals(elicited(eliciting(...SERVER_CALL, ELICITS, answer)), expected);
  }
});

Deno.test("MCP server without a caller is cancelled", () => {
  const silent = working({ caller: caller() }, ELICITS);
  assertEquals([silent.asked, elicited(silent)], [[], CANCELLED]);
  assertEquals(elicited(run({ prompt: "go" }, ELICITS)), CANCELLED);
  for (const before of [SERVER_CALL, []]) {
    assertEquals(elicited(eliciting(...before, ELICITS, CLOSED)), CANCELLED);
    assertEquals(eliciting(...before, ELICITS, request("interrupt")).answered, []);
  }
});
