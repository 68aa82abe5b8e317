import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { parseEntry } from "../../../src/transcript/entry.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import type { FrameContext } from "../../../src/frames/single/frame_context.ts";
import { denialWords } from "../../../src/transcript/turn/denial_words.ts";
import { framesOfEntry } from "../../../src/frames/single/frames_of_entry.ts";

const CONTEXT: FrameContext = { version: "2.1.332", sessionId: "s", newUuid: () => "new" };
const CALL = { tool: "Bash", input: { command: "x" }, cwd: "/" };
const TOOL_USES = new Map([["t", { id: "t", name: "Bash", input: {} }]]);

function framesOf(line: object, context: FrameContext = CONTEXT): readonly Frame[] {
  const entry = parseEntry(JSON.stringify(line));
  return entry === undefined ? [] : framesOfEntry(entry, context);
}

Deno.test("framesOfEntry: gives nothing for prompts, attachments and bookkeeping", () => {
  for (
    const line of [
      { type: "user", message: { content: "Hi" } },
      { type: "attachment", attachment: { type: "date" } },
      { type: "system", subtype: "turn_duration" },
      { type: "user", isMeta: true, message: { content: "Operation stopped by hook: no" } },
      { type: "last-prompt" },
      { type: "user", message: { content: "<local-command-stdout></local-command-stdout>" } },
      { type: "assistant", isSidechain: true, message: { id: "a", model: "m", content: [] } },
    ]
  ) {
    assertEquals(framesOf(line), []);
  }
});

Deno.test("framesOfEntry: gives nothing for a skill that a subagent has from its beginning, and tells one that it has loaded", () => {
  const subagent = { toolUseId: "t", agentId: "a", type: "my-agent", description: "d" };
  const told = (...texts: readonly string[]) =>
    framesOf({
      type: "user",
      isMeta: true,
      isSidechain: true,
      agentId: "a",
      message: { content: texts.map((text) => ({ type: "text", text })) },
    }, { ...CONTEXT, subagent }).length;
  const named =
    "<command-message>s</command-message>\n<command-name>s</command-name>\n<skill-format>true</skill-format>";
  assertEquals([told(named, "Base directory for this skill: /s\n\nDo it."), told("Base")], [0, 1]);
});

Deno.test("framesOfEntry: says of what comes of a hook for a skill's commands that it is that, and of nothing else", () => {
  const tagOf = (content: string, level = "warning") =>
    framesOf({ type: "system", subtype: "informational", content, level })[0]?.["tag"];
  const words = [
    "PreSkillShellCommand:Bash says: I looked at it",
    "Not run in /two: echo bad (blocked by hook: no)",
    "Ran anyway in /two: echo bad (hook failed: broken)",
  ];
  for (const content of words) {
    assertEquals([tagOf(content), tagOf(content, "notice")], ["skill_shell_hook", undefined]);
  }
  assertEquals(tagOf("Stop says: Not run in /two"), undefined);
});

Deno.test("framesOfEntry: a call about which a hook of the caller's wanted somebody to be asked is denied for that", () => {
  const told = (content: string) => {
    const [denied, result] = framesOf({
      type: "user",
      permissionDecision: { decision: "reject", source: "hook", reasonType: "hook" },
      toolDenialKind: "user-rejected",
      message: { content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content }] },
    }, {
      ...CONTEXT,
      version: "2.1.332",
      toolUses: new Map([["t", { id: "t", name: "Bash", input: {} }]]),
      decisions: new Map([["t", "unasked"]]),
    });
    return [
      ...["subtype", "decision_reason_type", "decision_reason", "message"].map((field) =>
        denied?.[field]
      ),
      result?.["tool_result_meta"],
    ];
  };
  const meta = [{
    id: "t",
    non_execution_kind: "user-rejected",
    permission_decision: { decision: "reject", source: "config" },
  }];
  const unsaid = "Hook PreToolUse:Bash asked for confirmation for this tool";
  assertEquals(told("may I?"), ["permission_denied", "hook", "may I?", "may I?", meta]);
  assertEquals(told(unsaid), ["permission_denied", "hook", "", unsaid, meta]);
});

Deno.test("framesOfEntry: tells a prompt that a hook of the caller's has blocked from one that none has judged", () => {
  const outcomeOf = (reason: string) =>
    framesOf({
      type: "system",
      subtype: "informational",
      preventContinuation: true,
      content: `UserPromptSubmit operation blocked by hook:\n${reason}`,
      promptSubmitEnding: { promptKept: false, ending: { kind: "blocked_by_hook", reason } },
    })[0]?.["prompt_submit_outcome"];
  const late = "UserPromptSubmit hook callback timed out after 1000ms";
  const failed = '[callback]: failed; blocking because onFailure is "block"';
  assertEquals(["no", `${failed}\nHook callback h failed`, late, `${late} or so`].map(outcomeOf), [
    { kind: "blocked_by_hook", prompt_kept: false, reason: "no" },
    { kind: "no_verdict", prompt_kept: false, no_verdict_kind: "hook_failed", reason: failed },
    { kind: "no_verdict", prompt_kept: false, no_verdict_kind: "callback_timed_out" },
    { kind: "blocked_by_hook", prompt_kept: false, reason: `${late} or so` },
  ]);
});

Deno.test("framesOfEntry: hides why an answer stops, and keeps fields of the API", () => {
  const frames = framesOf({
    type: "assistant",
    uuid: "u",
    requestId: "r",
    message: {
      id: "a",
      model: "m",
      content: [],
      stop_reason: "end_turn",
      stop_details: {},
      usage: { output_tokens: 3, speed: "standard" },
      brand_new: 1,
    },
  });
  assertEquals(frames, [{
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

Deno.test("framesOfEntry: says that an answer was refused and is asked for once more", () => {
  const message = { role: "user", content: "It was stopped." };
  const line = { type: "user", uuid: "u", isMeta: true, refusedMessageId: "m", refusalRetry: true };
  const [frame] = framesOf({ ...line, message }, { ...CONTEXT, version: "2.1.332" });
  const told = { ...frame } as Record<string, unknown>;
  assertEquals([told["refused_message_id"], told["refusal_retry"]], ["m", true]);
});

Deno.test("framesOfEntry: announces a denial if the tool is known", () => {
  const line = {
    type: "user",
    toolDenialKind: "permission-rule",
    permissionDecision: { decision: "reject", source: "config", reasonType: "rule" },
    message: {
      content: [{ type: "tool_result", tool_use_id: "t", content: "No", is_error: true }],
    },
  };
  const kinds = (context: FrameContext) =>
    framesOf(line, context).map((frame) => frame.type === "system" ? frame.subtype : frame.type);
  assertEquals(kinds({ ...CONTEXT, toolUses: TOOL_USES }), ["permission_denied", "user"]);
  assertEquals(kinds(CONTEXT), ["user"]);
  const subagent = { agentId: "a", toolUseId: "c", type: "x", description: "d" };
  const [denied] = framesOf(line, { ...CONTEXT, toolUses: TOOL_USES, subagent });
  assertEquals((denied as { readonly agent_id?: string }).agent_id, "a");
  // Where a tool decides on permissions, claude -p does not.
  assertEquals(kinds({ ...CONTEXT, toolUses: TOOL_USES, denialsUntold: true }), ["user"]);
});

Deno.test("framesOfEntry: says of a denial that nobody is ever there to permit anything", () => {
  const told = [
    denialWords({ tool: "Read", input: {}, cwd: "/" }),
    denialWords(CALL),
    denialWords(CALL, { unattended: true }),
  ].map((content) =>
    framesOf({
      type: "user",
      toolDenialKind: "hook",
      permissionDecision: { decision: "reject", source: "hook", reasonType: "hook" },
      message: { content: [{ type: "tool_result", tool_use_id: "t", content, is_error: true }] },
    }, { ...CONTEXT, toolUses: TOOL_USES }).map((frame) => {
      const { decision_reason_type, decision_reason, tool_result_meta: [meta] = [{}] } = frame as {
        readonly decision_reason_type?: string;
        readonly decision_reason?: string;
        readonly tool_result_meta?: readonly Readonly<Record<string, unknown>>[];
      };
      const { non_execution_kind, permission_decision } = meta ?? {};
      return { decision_reason_type, decision_reason, non_execution_kind, permission_decision };
    })
  );
  const untold = { non_execution_kind: undefined, permission_decision: undefined };
  const reason = { decision_reason_type: undefined, decision_reason: undefined };
  assertEquals(told, [
    [{ ...reason, ...untold }, {
      ...reason,
      non_execution_kind: "user-rejected",
      permission_decision: { decision: "reject", source: "config" },
    }],
    [{
      decision_reason_type: "other",
      decision_reason: "This command requires approval",
      ...untold,
    }, {
      ...reason,
      non_execution_kind: "user-rejected",
      permission_decision: { decision: "reject", source: "config" },
    }],
    [{
      decision_reason_type: "asyncAgent",
      decision_reason:
        "no approval surface in this session; permission request denied automatically",
      ...untold,
    }, {
      ...reason,
      non_execution_kind: "permission-rule",
      permission_decision: { decision: "reject", source: "config", reason_type: "asyncAgent" },
    }],
  ]);
});

Deno.test("framesOfEntry: gives frames of JSON for lines of any content", () => {
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
  const context = { ...CONTEXT, toolUses: TOOL_USES };
  fc.assert(fc.property(line, (value) => {
    for (const frame of framesOf(value, context)) {
      assertEquals(JSON.parse(JSON.stringify(frame)), frame);
      assertEquals(frame.session_id, "s");
    }
  }));
});
