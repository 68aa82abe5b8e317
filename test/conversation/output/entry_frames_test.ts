import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import type { FrameContext } from "../../../src/conversation/output/frames/frame_context.ts";
import { framesOfEntry } from "../../../src/conversation/output/frames/frames_of_entry.ts";
import { type InitFacts, initFrame } from "../../../src/conversation/output/frames/init_frame.ts";
import { denialText } from "../../../src/claude/transcript/permission_denials.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { answer, attached, entryOf, type Line, OVER, prompt, result } from "./lines.ts";
import { kinds } from "./outlines.ts";
import { VERSION } from "./runs.ts";

const CONTEXT: FrameContext = { version: VERSION, sessionId: "s", newUuid: () => "new" };
const KNOWN: FrameContext = {
  ...CONTEXT,
  toolUses: new Map([["t", { id: "t", name: "Bash", input: {} }]]),
};

const framesOf = (line: Line, context: FrameContext = CONTEXT): readonly Frame[] =>
  framesOfEntry(entryOf(line), context);

Deno.test("prompts, attachments and bookkeeping have no frames", () => {
  const lines = [
    prompt(),
    attached("date"),
    OVER,
    prompt("Operation stopped by hook: no", { isMeta: true }),
    { type: "last-prompt" },
    prompt("<local-command-stdout></local-command-stdout>"),
    answer([], "a", { isSidechain: true }),
  ];
  for (const line of lines) assertEquals(framesOf(line), []);
});

Deno.test("a subagent's loaded skills have frames, its own have none", () => {
  const subagent = { toolUseId: "t", agentId: "a", type: "my-agent", description: "d" };
  const told = (...texts: readonly string[]) =>
    framesOf(
      prompt(texts.map((text) => ({ type: "text", text })), {
        isMeta: true,
        isSidechain: true,
        agentId: "a",
      }),
      { ...CONTEXT, subagent },
    ).length;
  const named = "<command-message>s</command-message>\n<command-name>s</command-name>\n" +
    "<skill-format>true</skill-format>";
  assertEquals(told(named, "Base directory for this skill: /s\n\nDo it."), 0);
  assertEquals(told("Base"), 1);
});

Deno.test("words of a skill's shell hook have a tag", () => {
  const tagOf = (content: string, level = "warning") =>
    framesOf({ type: "system", subtype: "informational", content, level })[0]?.["tag"];
  const contents = [
    "PreSkillShellCommand:Bash says: I looked at it",
    "Not run in /two: echo bad (blocked by hook: no)",
    "Ran anyway in /two: echo bad (hook failed: broken)",
  ];
  for (const content of contents) {
    assertEquals([tagOf(content), tagOf(content, "notice")], ["skill_shell_hook", undefined]);
  }
  assertEquals(tagOf("Stop says: Not run in /two"), undefined);
});

Deno.test("a blocked prompt shows whether a hook judged it", () => {
  const late = "UserPromptSubmit hook callback timed out after 1000ms";
  const failed = '[callback]: failed; blocking because onFailure is "block"';
  const rows = [
    ["no", { kind: "blocked_by_hook", reason: "no" }],
    [
      `${failed}\nHook callback h failed`,
      { kind: "no_verdict", no_verdict_kind: "hook_failed", reason: failed },
    ],
    [late, { kind: "no_verdict", no_verdict_kind: "callback_timed_out" }],
    [`${late} or so`, { kind: "blocked_by_hook", reason: `${late} or so` }],
  ] as const;
  for (const [reason, outcome] of rows) {
    const [frame] = framesOf({
      ...{ type: "system", subtype: "informational", preventContinuation: true },
      content: `UserPromptSubmit operation blocked by hook:\n${reason}`,
      promptSubmitEnding: { promptKept: false, ending: { kind: "blocked_by_hook", reason } },
    });
    assertEquals<unknown>(frame?.["prompt_submit_outcome"], { ...outcome, prompt_kept: false });
  }
});

Deno.test("an answer's frame hides why it stops", () => {
  const line = answer([], "a", { uuid: "u", requestId: "r" });
  const given = { stop_reason: "end_turn", stop_details: {}, brand_new: 1 };
  const usage = { output_tokens: 3, speed: "standard" };
  assertEquals<unknown>(framesOf({ ...line, message: { ...line.message, ...given, usage } }), [{
    type: "assistant",
    message: {
      id: "a",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      brand_new: 1,
      stop_reason: null,
      stop_sequence: null,
      usage: { output_tokens: 3 },
      context_management: null,
    },
    parent_tool_use_id: null,
    session_id: "s",
    uuid: "u",
    request_id: "r",
  }]);
});

Deno.test("a refused answer that is retried has its message's id", () => {
  const refused = { isMeta: true, refusedMessageId: "m", refusalRetry: true };
  const [frame] = framesOf(prompt("It was stopped.", refused));
  assertEquals([frame?.["refused_message_id"], frame?.["refusal_retry"]], ["m", true]);
});

/** A line on which a call was refused. */
const denied = (content: string, toolDenialKind: string, decision: Line) => ({
  ...result("t", undefined, { content, is_error: true }),
  toolDenialKind,
  permissionDecision: { decision: "reject", ...decision },
});

Deno.test("a denial has a frame if its tool is known", () => {
  const line = denied("No", "permission-rule", { source: "config", reasonType: "rule" });
  const subagent = { agentId: "a", toolUseId: "c", type: "x", description: "d" };
  const rows = [
    [KNOWN, "permission_denied user"],
    [CONTEXT, "user"],
    // Where a tool decides on permissions, claude -p does not print it.
    [{ ...KNOWN, hidesDenials: true }, "user"],
  ] as const;
  for (const [context, expected] of rows) assertEquals(kinds(framesOf(line, context)), expected);
  assertEquals(framesOf(line, { ...KNOWN, subagent })[0]?.["agent_id"], "a");
});

/** What the frames of a denial say of it. */
function reasonsIn(line: Line, context: FrameContext = KNOWN) {
  const [frame, told] = framesOf(line, context);
  const [meta] = (told?.["tool_result_meta"] ?? []) as readonly Line[];
  return [
    ...["decision_reason_type", "decision_reason"].map((field) => frame?.[field]),
    ...["non_execution_kind", "permission_decision"].map((field) => meta?.[field]),
  ];
}

Deno.test("a denial names the missing approval", () => {
  const call = { tool: "Bash", input: { command: "x" }, cwd: "/" };
  const config = { decision: "reject", source: "config" };
  const rows = [
    [
      denialText({ tool: "Read", input: {}, cwd: "/" }),
      [undefined, undefined, "user-rejected", config],
    ],
    [denialText(call), ["other", "This command requires approval", "user-rejected", config]],
    [denialText(call, { unattended: true }), [
      "asyncAgent",
      "no approval surface in this session; permission request denied automatically",
      "permission-rule",
      { ...config, reason_type: "asyncAgent" },
    ]],
  ] as const;
  for (const [content, expected] of rows) {
    const line = denied(content, "hook", { source: "hook", reasonType: "hook" });
    assertEquals<unknown>(reasonsIn(line), expected);
  }
  const unchecked = "Auto mode is unavailable: its safety check does not run for this session, " +
    "so Bash was not run. Go on.";
  const cases = [
    [unchecked, "auto_mode_no_check_in_session", "Classifier unavailable"],
    ["Auto mode is off", undefined, undefined],
  ];
  for (const [content, code, reason] of cases) {
    const line = denied(`${content}`, "auto", { source: "config", reasonType: "classifier" });
    const [frame] = framesOf(line, KNOWN);
    assertEquals([frame?.["decision_reason_code"], frame?.["decision_reason"]], [code, reason]);
  }
  // A hook of the caller's wanted somebody to be asked.
  const unsaid = "Hook PreToolUse:Bash asked for confirmation for this tool";
  for (const [content, reason] of [["may I?", "may I?"], [unsaid, ""]] as const) {
    const line = denied(content, "user-rejected", { source: "hook", reasonType: "hook" });
    const context: FrameContext = { ...KNOWN, decisions: new Map([["t", "unasked"]]) };
    assertEquals(reasonsIn(line, context), ["hook", reason, "user-rejected", config]);
    assertEquals(framesOf(line, context)[0]?.["message"], content);
  }
});

Deno.test("lines of any content have frames of JSON", () => {
  const block = fc.record({
    type: fc.constantFrom("text", "tool_result", "tool_use"),
    text: fc.jsonValue(),
    tool_use_id: fc.jsonValue(),
    content: fc.jsonValue(),
  }, { requiredKeys: ["type"] });
  const line = fc.record({
    type: fc.constantFrom("user", "assistant", "system"),
    subtype: fc.constantFrom("informational", "model_refusal_no_fallback"),
    isMeta: fc.boolean(),
    permissionDecision: fc.jsonValue(),
    toolDenialKind: fc.jsonValue(),
    toolUseResult: fc.jsonValue(),
    message: fc.record({
      id: fc.string(),
      model: fc.constantFrom("m", "<synthetic>"),
      content: fc.array(block),
    }),
  }, { requiredKeys: ["type"] });
  fc.assert(
    fc.property(line, (value) => {
      for (const frame of framesOf(value, KNOWN)) {
        assertEquals(JSON.parse(JSON.stringify(frame)), frame);
        assertEquals(frame.session_id, "s");
      }
    }),
    { numRuns: 40 },
  );
});

const init = (facts: Partial<InitFacts> = {}) =>
  initFrame({ version: VERSION, sessionId: "s", uuid: "u", cwd: "/work dir", ...facts });

Deno.test("init leaves out unknown facts, and lists are empty", () => {
  const frame = init();
  for (const list of ["tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins"]) {
    assertEquals(frame[list], [], list);
  }
  for (const fact of ["model", "memory_paths", "served_by_anthropic", "analytics_disabled"]) {
    assert(!(fact in frame), fact);
  }
  assertEquals([frame.cwd, frame.original_cwd, frame.session_id], ["/work dir", "/work dir", "s"]);
});

Deno.test("init shows whether commands run in a sandbox", () => {
  const rows = [
    [{ sandboxed: false }, false],
    [{ sandboxed: true }, true],
    [{ sandboxed: false, described: { sandbox_enabled: true } }, true],
  ] as const;
  for (const [facts, expected] of rows) assertEquals(init(facts)["sandbox_enabled"], expected);
});

Deno.test("init lists tools and commands as claude -p does", () => {
  const { tools } = init({ tools: ["Write", "mcp__a__b", "Bash", "Agent"] });
  assertEquals(tools, ["Task", "Bash", "Write", "mcp__a__b"]);
  assertEquals(init({ skills: ["a"] }).slash_commands, ["a"]);
  const known = init({ skills: ["a"], slashCommands: ["a", "b"] });
  assertEquals(known.slash_commands, ["a", "b"]);
});
