import { assertEquals, assertMatch } from "@std/assert";
import { createMessageBlanker } from "../../../src/recording/redaction/blank_messages.ts";
import { blankCallJson } from "../../../src/recording/redaction/blank_text.ts";

const BOTH = { prompts: true, answers: true };
const CALL = {
  type: "tool_use",
  id: "toolu_1",
  name: "Agent",
  input: { description: "Find Zoe", prompt: "Ask <b>Zoe</b> why.", subagent_type: "Explore" },
};
const RESULT = {
  type: "tool_result",
  tool_use_id: "toolu_1",
  content: [{
    type: "text",
    text: "  <tools-used-before-summary>Bash</tools-used-before-summary>\n  \n" +
      "[Subagent hand-back]\n  Zoe left.\nagentId: a958cf2802d54f27f (use SendMessage with to: " +
      "'a958cf2802d54f27f', summary: '<5-10 word recap>' to continue this agent)\n" +
      "<usage>subagent_tokens: 12036\ntool_uses: 1\nduration_ms: 1191</usage>",
  }],
};

Deno.test("a subagent's prompt and description are blanked with prompts", () => {
  const blank = createMessageBlanker({ prompts: true, answers: false });
  const value = [
    { role: "assistant", content: [CALL, { ...CALL, name: "Bash", input: { command: "ls Zoe" } }] },
    { hook_event_name: "PreToolUse", tool_name: "Agent", tool_input: CALL.input },
    { subtype: "can_use_tool", tool_name: "Agent", input: CALL.input, description: "Find Zoe" },
    { behavior: "allow", updatedInput: CALL.input },
    { type: "system", subtype: "task_started", task_type: "local_agent", ...CALL.input },
    { subtype: "task_progress", description: "Find Zoe", subagent_type: "Explore" },
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: 'Agent "Find Zoe" finished' },
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: "Find Zoe" },
    { toolUseResult: { agentId: "a1", prompt: CALL.input.prompt, content: [] } },
    { agentId: "a1", description: "Find Zoe" },
    { problem: { message: 'Stopped waiting for: subagent "Find Zoe", a task' } },
  ];
  assertEquals(blank(value), [
    {
      role: "assistant",
      content: [
        { ...CALL, input: BLANK_INPUT },
        { ...CALL, name: "Bash", input: { command: "ls Zoe" } },
      ],
    },
    { hook_event_name: "PreToolUse", tool_name: "Agent", tool_input: BLANK_INPUT },
    { subtype: "can_use_tool", tool_name: "Agent", input: BLANK_INPUT, description: "xxxx xxx" },
    { behavior: "allow", updatedInput: BLANK_INPUT },
    { type: "system", subtype: "task_started", task_type: "local_agent", ...BLANK_INPUT },
    { subtype: "task_progress", description: "xxxx xxx", subagent_type: "Explore" },
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: 'Agent "xxxx xxx" finished' },
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: "xxxx xxx" },
    { toolUseResult: { agentId: "a1", prompt: BLANK_INPUT.prompt, content: [] } },
    { agentId: "a1", description: "xxxx xxx" },
    { problem: { message: 'Stopped waiting for: subagent "xxxx xxx", a task' } },
  ]);
});

const BLANK_INPUT = {
  description: "xxxx xxx",
  prompt: "xxx <b>xxx</b> xxx.",
  subagent_type: "Explore",
};

Deno.test("a report quoted to a subagent is blanked with prompts", () => {
  const blank = createMessageBlanker({ prompts: true, answers: false });
  const told = (word: string) =>
    "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n" +
    `<result>${word}</result>\n</task-notification>`;
  const call = (prompt: string) => ({ ...CALL, input: { ...BLANK_INPUT, prompt } });
  const value = (word: string) => [
    { role: "assistant", content: [call(told(word))] },
    { toolUseResult: { agentId: "a1", prompt: told(word), content: [] } },
  ];
  assertEquals(blank(value("Zoe")), value("xxx"));
});

Deno.test("a subagent's report is blanked with answers", () => {
  const blank = createMessageBlanker({ prompts: false, answers: true });
  const value = [
    { role: "assistant", content: [CALL] },
    { role: "user", content: [RESULT, { ...RESULT, tool_use_id: "toolu_2", content: "Zoe" }] },
    { role: "user", content: [{ ...RESULT, content: "Async agent launched successfully. Zoe" }] },
    { role: "user", content: [{ ...RESULT, is_error: true, content: "Refused" }] },
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: "Zoe left." },
    { subtype: "task_notification", task_id: "a2", summary: "Zoe.", summary_is_report: true },
    { subtype: "task_notification", tool_use_id: "toolu_9", summary: "Background command" },
    { agentId: "a1", prompt: "Zoe", content: [{ type: "text", text: "Zoe left." }] },
    { task: { task_type: "local_agent", output: "Zoe", result: "Zoe", status: "running" } },
  ];
  const [text] = RESULT.content;
  assertEquals(blank(value), [
    { role: "assistant", content: [CALL] },
    {
      role: "user",
      content: [
        {
          ...RESULT,
          content: [{ ...text, text: text?.text.replace("Zoe left", "xxx xxxx") }],
        },
        { ...RESULT, tool_use_id: "toolu_2", content: "Zoe" },
      ],
    },
    value[2],
    value[3],
    { subtype: "task_notification", tool_use_id: "toolu_1", summary: "xxx xxxx." },
    { subtype: "task_notification", task_id: "a2", summary: "xxx.", summary_is_report: true },
    value[6],
    { agentId: "a1", prompt: "Zoe", content: [{ type: "text", text: "xxx xxxx." }] },
    { task: { task_type: "local_agent", output: "xxx", result: "xxx", status: "running" } },
  ]);
});

Deno.test("the notification of a background subagent keeps its structure", () => {
  const text = '<task-notification>\n<task-id>a1</task-id>\n<summary>Agent "Find Zoe" finished' +
    "</summary>\n<result>Zoe </result> </task-notification> left</result>\n<usage>\n" +
    "<tool_uses>1</tool_uses></usage>\n</task-notification>";
  const answers = text.replace(
    "Zoe </result> </task-notification> left",
    "xxx </xxxxxx> </xxxx-xxxxxxxxxxxx> xxxx",
  );
  const told = (said: { prompts: boolean; answers: boolean }) =>
    createMessageBlanker(said)([
      { type: "queue-operation", content: text },
      { role: "user", content: text },
      { role: "user", content: [{ type: "text", text }] },
    ]);
  const all = (each: string) => [
    { type: "queue-operation", content: each },
    { role: "user", content: each },
    { role: "user", content: [{ type: "text", text: each }] },
  ];
  assertEquals(told({ prompts: false, answers: true }), all(answers));
  assertEquals(told(BOTH), all(answers.replace("Find Zoe", "xxxx xxx")));
  assertEquals(told({ prompts: true, answers: false }), all(text.replace("Find Zoe", "xxxx xxx")));
});

Deno.test("a subagent's prompt is blanked in JSON of equal length", () => {
  const json = String.raw`{ "prompt" : "a\u00e9\n\u2014\"b\ud835\udc00\n", "n": {"prompt": "no"},` +
    String.raw`"description":"<b>","k":["prompt","a"]}`;
  const blanked = blankCallJson("Agent", json);
  assertEquals(blanked.length, json.length);
  assertEquals(JSON.parse(blanked), {
    prompt: 'xx\n—"xxx\n',
    n: { prompt: "no" },
    description: "<x>",
    k: ["prompt", "a"],
  });
  assertEquals(blankCallJson("Bash", json), json);
  // JSON that breaks off anywhere.
  for (let end = 0; end <= json.length; end++) {
    const part = blankCallJson("Agent", json.slice(0, end));
    assertEquals(part.length, end);
    assertMatch(part.slice(0, 40), /^(?!.*[ab].*$)|^\{ "prompt" : "x/u);
  }
});

Deno.test("blanking a second time changes nothing", () => {
  const value = [{ role: "assistant", content: [CALL] }, { role: "user", content: [RESULT] }];
  const once = createMessageBlanker(BOTH)(value);
  assertEquals(createMessageBlanker(BOTH)(once), once);
});

Deno.test("values of any depth are blanked", () => {
  const nested = (value: unknown, depth: number) => {
    let all = value;
    for (let level = 0; level < depth; level++) all = [all];
    return all;
  };
  const said = (content: string) => ({ role: "user", content });
  const value = [said("Zoe"), nested(said("Zoe"), 900), nested(1, 100_000)];
  const [shallow, deep] = createMessageBlanker(BOTH)(value) as readonly unknown[];
  assertEquals([shallow, deep], [said("xxx"), nested(said("xxx"), 900)]);
});

Deno.test("prompts and answers are blanked in every field", () => {
  const text = (word: string) => [{ type: "text", text: word }];
  const thinking = (word: string) => [{ type: "thinking", thinking: word }];
  /** Builders of values whose word is a prompt, and of those whose word is an answer. */
  const prompts: readonly ((word: string) => unknown)[] = [
    (word) => ({ role: "user", content: word }),
    (word) => ({ role: "user", content: text(word) }),
    (word) => ({ type: "message", message: { text: word, altered: word, content: text(word) } }),
    (word) => ({ first: { text: word } }),
    (word) => ({ hook_event_name: "UserPromptSubmit", prompt: word }),
    (word) => ({ type: "deliver", prompt: word }),
    (word) => ({ type: "queue-operation", content: word }),
    (word) => ({ type: "queued_command", prompt: text(word) }),
    (word) => ({ prompt: true, text: word }),
    (word) => ({ lastPrompt: word, aiTitle: word, customTitle: word, last_user_message: word }),
    (word) => ({ type: "summary", summary: word }),
    (word) => ({ appendSystemPrompt: word }),
    (word) => ({
      subtype: "initialize",
      agents: { a: { description: word, prompt: word, tools: ["Zoe"] } },
    }),
  ];
  const answers: readonly ((word: string) => unknown)[] = [
    (word) => ({ role: "assistant", content: text(word) }),
    (word) => ({ role: "assistant", content: thinking(word) }),
    (word) => ({ type: "result", result: word }),
    (word) => ({ type: "content_block_delta", delta: { type: "text_delta", text: word } }),
    (word) => ({ type: "content_block_delta", delta: { thinking: word } }),
    (word) => ({ type: "content_block_start", content_block: { text: word } }),
    (word) => ({ prompt: false, text: word }),
    (word) => ({ last_assistant_message: word }),
    (word) => ({ hook_event_name: "MessageDisplay", delta: word }),
  ];
  for (const [builders, part] of [[prompts, "prompts"], [answers, "answers"]] as const) {
    const [only, other] = [part === "prompts", part !== "prompts"].map((prompts) =>
      createMessageBlanker({ prompts, answers: !prompts })
    );
    for (const build of builders) {
      assertEquals(only?.(build("Zoe")), build("xxx"));
      assertEquals(other?.(build("Zoe")), build("Zoe"));
    }
  }
});

Deno.test("messages of Claude Code itself are not blanked", () => {
  const blank = createMessageBlanker(BOTH);
  const own = {
    role: "assistant",
    model: "<synthetic>",
    content: [{ type: "text", text: "Own." }],
  };
  const value = [
    own,
    ...["Own.", "API Error: 500", "Not logged in · Please run /login"].map((result) => ({
      type: "result",
      result,
    })),
  ];
  assertEquals(blank(value), value);
});

Deno.test("reports of skills and background tasks are blanked with answers", () => {
  const call = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
  const result = (id: string, content: string) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
  });
  const skill = 'Skill "s" completed (forked execution).\n\nResult:\n';
  const task = (word: string) => `<task_type>local_agent</task_type><output>${word}</output>`;
  const value = (word: string) => [
    { role: "assistant", content: [call("1", "Skill"), call("2", "TaskOutput")] },
    {
      role: "user",
      content: [
        result("1", skill + word),
        result("1", "Launching skill: Zoe"),
        result("2", task(word)),
        result("2", "<task_type>local_bash</task_type><output>Zoe</output>"),
      ],
    },
    { subtype: "task_notification", tool_use_id: "1", summary: "Zoe" },
  ];
  assertEquals(createMessageBlanker({ prompts: false, answers: true })(value("Zoe")), value("xxx"));
});
