import { assertEquals } from "@std/assert";
import { parseEntry } from "../../../src/transcript/entry.ts";
import { tellInput } from "../../../src/frames/tell_input.ts";
import { tellTurnEnd } from "../../../src/frames/tell_end.ts";
import { awaitMessage } from "../../../src/frames/messages.ts";
import { startFrames } from "../../../src/frames/telling/frames_state.ts";
import { tellResult } from "../../../src/frames/turns/tell_result.ts";
import { conversationOptions } from "../conversation_options.ts";
import { startTelling } from "../telling.ts";

/** A line that is told as a frame, written in that second, or at no time that it tells. */
const line = (uuid: string, second?: number) => ({
  type: "assistant",
  uuid,
  sessionId: "s",
  version: "2.1.332",
  ...(second === undefined ? {} : { timestamp: `2026-01-01T00:00:0${second}.000Z` }),
  message: {
    id: uuid,
    model: "claude-opus-5-5",
    content: [{ type: "tool_use", id: uuid, name: "Read", input: {} }],
  },
});

/** The order in which lines are told that were read together; the session's first one calls the subagent. */
function toldOf(
  own: readonly { readonly uuid: string }[],
  theirs: readonly object[],
): readonly unknown[] {
  const subagent = { agentId: "a", toolUseId: own[0]?.uuid ?? "", type: "x", description: "" };
  const { frames, tell } = startTelling({ version: "2.1.332" });
  const request = { type: "api-request", querySource: "repl_main_thread" };
  for (const each of [request, ...own]) {
    const entry = parseEntry(JSON.stringify(each));
    if (entry !== undefined) tell({ type: "transcript", entry });
  }
  for (const each of theirs) {
    const entry = parseEntry(JSON.stringify(each));
    if (entry !== undefined) tell({ type: "subagent", line: { subagent, entry } });
  }
  tell({ type: "read" });
  return frames.flatMap((frame) => frame.type === "assistant" ? [frame.message.id] : []);
}

Deno.test("subagents' lines are told between those of the session, by their times", () => {
  const own = [line("first"), line("call", 1), line("note"), line("result", 4)];
  const theirs = [line("prompt", 2), line("untimed"), line("answer", 3)];
  assertEquals(toldOf(own, theirs), [
    "first",
    "call",
    "note",
    "prompt",
    "untimed",
    "answer",
    "result",
  ]);
});

Deno.test("the lines of one transcript are told as they are written", () => {
  const own = [line("late", 5), line("early", 1), line("last", 6)];
  assertEquals(toldOf(own, []), ["late", "early", "last"]);
  assertEquals(toldOf(own, [line("theirs", 5)]), ["late", "early", "theirs", "last"]);
});

/** The line of the first request, the last of those that describe a session. */
const REQUEST = { type: "api-request", querySource: "repl_main_thread" };

/** What is told of lines that were read together, in a word each: of hooks, `system/init`, answers and results. */
function outlineOf(lines: readonly object[], options: { readonly hookEvents?: true }) {
  const { frames, push } = startTelling({ version: "2.1.332", ...options });
  push(...lines.map((line) => ({ version: "2.1.332", sessionId: "s", ...line })));
  return frames.map((frame) =>
    frame.type === "system" ? frame["hook_name"] ?? frame.subtype : frame.type
  );
}

/** That all hooks of the end of the turn have ended. */
const STOPPED = { type: "system", subtype: "stop_hook_summary" };

/** That one of them has ended, and what it has written. */
const stop = (stdout: string) => ({
  version: "2.1.332",
  type: "attachment",
  attachment: { type: "hook_success", hookEvent: "Stop", hookName: "Stop", stdout, exitCode: 0 },
});

Deno.test("hooks of the end of a turn are told together, as soon as all have ended", () => {
  const told = (more: (telling: ReturnType<typeof startTelling>) => void) => {
    const telling = startTelling({ hookEvents: true });
    telling.push({ ...line("call"), version: "2.1.332" });
    telling.begin();
    telling.push({ ...line("answer"), version: "2.1.332" }, stop("fast"));
    assertEquals(telling.frames.length, 3, "the answer does not wait");
    // The turn may well take longer than its beginning was to wait.
    telling.begin();
    telling.push(stop("slow"));
    more(telling);
    return telling.frames.slice(3).map(({ subtype, output }) => `${output ?? subtype}`);
  };
  assertEquals(told(() => {}), []);
  const both = ["hook_started", "hook_started", "fast", "slow"];
  assertEquals(told(({ push }) => push({ version: "2.1.332", ...STOPPED })), both);
  // One that has been killed says so no more.
  assertEquals(told(({ finish }) => finish("2.1.332")).slice(0, 4), both);
});

Deno.test("what hooks of the end of a turn say to the user is told with their ends, behind that of each", () => {
  const version = "2.1.332";
  const { frames, push } = startTelling({ hookEvents: true, version });
  const says = (content: string) => ({
    version,
    type: "attachment",
    attachment: { type: "hook_system_message", hookEvent: "Stop", hookName: "Stop", content },
  });
  push({ ...line("call"), version }, REQUEST);
  push(stop("fast"), says("look"));
  assertEquals(frames.map(({ type }) => type), ["system", "assistant"]);
  push(stop("slow"), says("later"));
  push({ version, ...STOPPED });
  assertEquals(
    frames.slice(2).map(({ output, content, subtype }) => output ?? content ?? subtype),
    [
      ...["hook_started", "hook_started"],
      ...["fast", "Stop says: look", "slow", "Stop says: later"],
    ],
  );
});

Deno.test("hooks of the end of a turn are told together though lines of a subagent are waited for in vain", () => {
  const { frames, push, tell } = startTelling({ hookEvents: true, version: "2.1.332" });
  const done = { agentId: "a", status: "completed" };
  const content = [{ type: "tool_result", tool_use_id: "call", content: "It is fine" }];
  push({ ...line("call"), version: "2.1.332" });
  tell({ type: "deadline", name: "init" });
  push(
    { type: "user", version: "2.1.332", message: { content }, toolUseResult: done },
    { ...line("answer"), version: "2.1.332" },
    stop("fast"),
  );
  tell({ type: "deadline", name: "subagent" });
  push(stop("slow"), { version: "2.1.332", ...STOPPED });
  assertEquals(
    frames.map(({ type, subtype, output }) => output ?? subtype ?? type),
    ["init", "assistant", "user", "assistant", "hook_started", "hook_started", "fast", "slow"],
  );
});

Deno.test("hooks are told where they ran, wherever the transcript has them", () => {
  const hook = (hookEvent: string) => ({
    type: "attachment",
    attachment: {
      type: "hook_success",
      hookEvent,
      hookName: hookEvent,
      toolUseID: "call",
      ...{ stdout: "", stderr: "", exitCode: 0, content: "" },
    },
  });
  const lines = [
    { ...line("call"), parentUuid: "submitted" },
    hook("SessionStart"),
    { type: "user", uuid: "p", message: { role: "user", content: "Hi" } },
    { type: "attachment", attachment: { type: "skill_listing", names: [] } },
    { ...hook("UserPromptSubmit"), uuid: "submitted", parentUuid: "p" },
    REQUEST,
    hook("PreToolUse"),
    {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: "call" }] },
    },
    hook("PostToolUse"),
    hook("PostToolUse"),
    hook("Stop"),
    STOPPED,
  ];
  const twice = (...names: readonly string[]) => names.flatMap((name) => [name, name]);
  assertEquals(outlineOf(lines, { hookEvents: true }), [
    ...twice("SessionStart", "UserPromptSubmit"),
    "init",
    "assistant",
    ...twice("PreToolUse", "PostToolUse", "PostToolUse"),
    "user",
    ...twice("Stop"),
  ]);
  const unasked = ["SessionStart", "SessionStart", "init", "assistant", "user"];
  assertEquals(outlineOf(lines, {}), unasked);
});

Deno.test("what is written before what it follows from is told after it", () => {
  const user = (uuid: string, parentUuid: string | null, content: unknown) => (
    { type: "user", uuid, parentUuid, message: { role: "user", content } }
  );
  const lines = [
    { type: "attachment", uuid: "h", parentUuid: "call", attachment: { type: "note" } },
    user("result", "h", [{ type: "tool_result", tool_use_id: "call", content: "no" }]),
    { ...line("next"), parentUuid: "result" },
    user("p", null, "Hi"),
    { type: "attachment", uuid: "l", parentUuid: "p", attachment: { type: "skill_listing" } },
    { ...line("call"), parentUuid: "l" },
    REQUEST,
    { type: "system", subtype: "turn_duration", uuid: "end", parentUuid: "next" },
  ];
  const { frames, push } = startTelling({ version: "2.1.332" });
  push(...lines.map((each) => ({ sessionId: "s", ...each, version: "2.1.332" })));
  assertEquals(
    frames.map((frame) => frame.type === "assistant" ? frame.message.id : frame.type),
    ["system", "call", "user", "next"],
  );
});

Deno.test("a turn is told with the model that its command names", () => {
  const version = "2.1.332";
  const prompt = {
    type: "user",
    uuid: "p",
    message: { content: "<command-message>a</command-message>" },
  };
  const attached = (attachment: object) => ({ type: "attachment", attachment });
  const session = attached({ type: "model", identity: { modelId: "opus" } });
  const named = attached({ type: "command_permissions", allowedTools: [], model: "haiku" });
  const request = { type: "api-request", querySource: "repl_main_thread", params: {} };
  const model = (...lines: readonly object[]) => {
    const { frames, push } = startTelling();
    push(...[...lines, request].map((line) => ({ version, ...line })));
    const [init] = frames.flatMap((frame) => frame.subtype === "init" ? [frame.model] : []);
    return init;
  };
  assertEquals(model(prompt, session, named), "haiku");
  assertEquals(model(named, prompt, session), "opus");
});

Deno.test("a conversation that was cleared goes on in another session, as claude -p tells it", () => {
  const version = "2.1.332";
  const { frames: usual, report } = conversationOptions();
  const carried = { name: "clear", begun: "new" };
  const settled = { kind: "local", text: "", version, carried } as const;
  const message = { text: "/clear  it all", uuid: "m", settled };
  const begun = startFrames({ ...usual, version, sessionId: "old", replay: true }, report);
  const { state } = awaitMessage(begun, message);
  const { frames } = tellResult(state, { ending: { kind: "settled", message }, at: 0 });
  const told = frames.map((frame) => [
    frame.subtype ?? frame.state ?? frame.type,
    frame.session_id,
  ]);
  assertEquals(told, [
    ["started", "old"],
    ["conversation_reset", "old"],
    ["background_tasks_changed", "old"],
    ["init", "new"],
    ["user", "new"],
    ["success", "new"],
    ["completed", "new"],
  ]);
});

Deno.test("a blank message is told what it is, which is no answer, and is not printed again", () => {
  const { frames: usual, report } = conversationOptions();
  const settled = { kind: "local", text: "Blank", version: "2.1.332", blank: true } as const;
  const message = { text: " ", uuid: "m", settled };
  const begun = startFrames({ ...usual, version: "2.1.332", replay: true }, report);
  const { state } = awaitMessage(begun, message);
  const { frames } = tellResult(state, { ending: { kind: "settled", message }, at: 0 });
  assertEquals(
    frames.map((frame) => [frame.subtype ?? frame.state ?? frame.type, frame.content]),
    [
      ["started", undefined],
      ["init", undefined],
      ["informational", "Blank"],
      ["success", undefined],
      ["completed", undefined],
    ],
  );
  const result = frames.find(({ type }) => type === "result");
  assertEquals([result?.["result"], result?.["num_turns"]], ["Blank", 0]);
});

Deno.test("the first answer of a child has its system/init before it, whatever was answered without the child", () => {
  const { frames: usual, report } = conversationOptions();
  const settled = { kind: "local", text: "not here", version: "2.1.332" } as const;
  const message = { text: "/logout", settled };
  const begun = awaitMessage(startFrames(usual, report), message).state;
  const local = tellResult(begun, { ending: { kind: "settled", message }, at: 0 });
  let state = awaitMessage(local.state, { text: "Hi", way: "rendezvous" }).state;
  const told: unknown[] = [];
  const lines = [
    { ...line("answer", 2), parentUuid: "p" },
    { type: "user", uuid: "p", message: { role: "user", content: "Hi" } },
    REQUEST,
  ].map((each) => parseEntry(JSON.stringify({ ...each, version: "2.1.332" })));
  const inputs = [
    ...lines.flatMap((entry) =>
      entry === undefined ? [] : [{ type: "transcript", entry } as const]
    ),
    { type: "read" } as const,
  ];
  for (const input of inputs) {
    const next = tellInput(state, { ...input, at: 1 });
    state = next.state;
    told.push(...next.frames.map((frame) => frame.type));
  }
  assertEquals(told, ["system", "assistant"]);
});

Deno.test("two turns whose lines are read together have their own results, each after its answer", () => {
  const { frames: usual, report } = conversationOptions();
  let state = startFrames({ ...usual, version: "2.1.332" }, report);
  for (const text of ["One", "Two"]) {
    state = awaitMessage(state, { text, way: "rendezvous" }).state;
    const ending = { kind: "answered", stop: {} } as const;
    state = tellTurnEnd(state, { ending, at: 1 }, { recorded: false }).state;
  }
  const told: unknown[] = [];
  const turn = (text: string, parentUuid: string | null) => {
    const message = { id: text, model: "claude-opus-5-5", content: [{ type: "text", text }] };
    return [
      { type: "user", uuid: `${text}?`, parentUuid, message: { role: "user", content: text } },
      REQUEST,
      { type: "assistant", uuid: text, parentUuid: `${text}?`, message },
      { type: "system", subtype: "turn_duration", uuid: `${text}.`, parentUuid: text },
    ];
  };
  const lines = [...turn("One", null), ...turn("Two", "One.")];
  const inputs = lines.flatMap((each) => {
    const entry = parseEntry(JSON.stringify({ sessionId: "s", version: "2.1.332", ...each }));
    return entry === undefined ? [] : [{ type: "transcript", entry } as const];
  });
  for (const input of [...inputs, { type: "read" } as const]) {
    const next = tellInput(state, { ...input, at: 1 });
    state = next.state;
    told.push(...next.frames.map((frame) => frame.type === "result" ? frame.result : frame.type));
  }
  assertEquals(told, ["system", "assistant", "One", "system", "assistant", "Two"]);
});
