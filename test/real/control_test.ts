import { assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "./hold_conversation.ts";
import { type JsonObject, outlineOfFrames, parseFrames } from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const RESULT = '"type":"result"';
const ASKS_CALLER = ["--permission-prompt-tool", "stdio"];

/** Fields of questions that no hook of the interactive Claude Code is told, and those that differ in any two runs. */
const UNTOLD = [
  ...["blocked_path", "decision_reason", "decision_reason_type", "permission_suggestions"],
  ...["decision_reason_hook_event", "decision_reason_hook_source"],
  ...["tool_use_id", "session_id", "transcript_path", "prompt_id", "duration_ms"],
];

const request = (id: string, body: JsonObject) => ({
  type: "control_request",
  request_id: id,
  request: body,
});

/** Everything that a caller of the control protocol hears, but for what differs in any two runs. */
async function heardBy(
  holding: typeof hold,
  { real, script, args }: {
    readonly real: RealClaude;
    readonly script: (caller: Caller) => Promise<void>;
    readonly args: readonly string[];
  },
) {
  const { code, stdout, stderr } = await holding(real, script, args);
  const frames = parseFrames(stdout);
  const questions = frames.filter(({ type }) => type === "control_request")
    .map(({ request }) => masked(request));
  const results = frames.filter(({ type }) => type === "result")
    .map(({ subtype, result, num_turns, terminal_reason, permission_denials }) => ({
      ...{ subtype, result, num_turns, terminal_reason },
      denied: (permission_denials as readonly JsonObject[]).map(({ tool_input }) => tool_input),
    }));
  const decisions = frames.map(({ tool_result_meta: meta }) => masked(meta))
    .filter((meta) => meta !== undefined);
  // What Claude Code shows a person as well.
  const outline = outlineOfFrames(frames).filter((frame) => frame !== "system/notification");
  return { heard: { outline, questions, results, decisions, code }, stderr };
}

function masked(value: unknown): unknown {
  const text = JSON.stringify(value, (name, each) => UNTOLD.includes(name) ? undefined : each);
  return text === undefined
    ? undefined
    : sorted(JSON.parse(text.replaceAll(/toolu_\w+/gu, "toolu")));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
      .map(([name, each]) => [name, sorted(each)]),
  );
}

/** Fails unless the caller hears the same of both. */
async function assertSame(
  real: RealClaude,
  script: (caller: Caller) => Promise<void>,
  args: readonly string[] = [],
): Promise<void> {
  const theirs = await heardBy(holdWithClaude, { real, script, args });
  const ours = await heardBy(hold, { real, script, args });
  assertEquals(ours.heard, theirs.heard);
}

const QUESTION = {
  question: "Which?",
  header: "Pick",
  options: [{ label: "A", description: "a" }, { label: "B", description: "b" }],
  multiSelect: false,
};

forEachVersion("a caller that decides on permissions is asked as by claude -p", async (real) => {
  await assertSame(real, async ({ say, send, heard, answer }) => {
    answer(({ subtype, tool_name: name, input }) => {
      if (subtype !== "can_use_tool") return {};
      const { command, questions } = input as { command?: string; questions?: unknown };
      if (name === "AskUserQuestion") {
        return { behavior: "allow", updatedInput: { questions, answers: { "Which?": "B" } } };
      }
      if (command === "touch no") return { behavior: "deny", message: "Not this one" };
      if (command === "touch other") {
        return { behavior: "allow", updatedInput: { command: "echo another" } };
      }
      if (command === "touch stop") {
        return { behavior: "deny", message: "Not at all", interrupt: true };
      }
      if (command === "touch broken") return new Error("the caller broke");
      return { behavior: "allow", updatedInput: input };
    });
    await send(request("init", { subtype: "initialize", hooks: {} }));
    await say("One. [[bash touch yes]] [[bash touch no]] [[say first]]");
    await heard(RESULT, 1);
    await say("Two. [[bash touch other]] [[bash touch broken]] [[say second]]");
    await heard(RESULT, 2);
    await say(
      `Three. [[tool AskUserQuestion ${JSON.stringify({ questions: [QUESTION] })}]]` +
        "[[say third]]",
    );
    await heard(RESULT, 3);
    await say("Four. [[bash touch stop]] [[say never]]");
    await heard(RESULT, 4);
    await say("Five. [[say fifth]]");
    await heard(RESULT, 5);
  }, ASKS_CALLER);
});

forEachVersion("a caller's hooks are called as by claude -p", async (real) => {
  const hooks = {
    PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["pre"] }],
    PostToolUse: [{ hookCallbackIds: ["post"] }],
    UserPromptSubmit: [{ hookCallbackIds: ["prompt"] }],
    Stop: [{ hookCallbackIds: ["stop"] }],
    SessionStart: [{ hookCallbackIds: ["start"] }],
  };
  await assertSame(real, async ({ say, send, heard, answer }) => {
    answer(({ callback_id: id, input }) => {
      const { tool_input: call, prompt } = input as {
        tool_input?: { command?: string };
        prompt?: string;
      };
      if (id === "pre" && call?.command === "echo no") {
        return {
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "deny",
            permissionDecisionReason: "the hook says no",
          },
        };
      }
      if (id === "prompt" && prompt?.startsWith("Three")) {
        return { decision: "block", reason: "not this" };
      }
      return {};
    });
    await send(request("init", { subtype: "initialize", hooks }));
    await say("One. [[bash echo yes]] [[say first]]");
    await heard(RESULT, 1);
    await say("Two. [[bash echo no]] [[say second]]");
    await heard(RESULT, 2);
    await say("Three. [[say never]]");
    await heard(RESULT, 3);
  });
});

forEachVersion("a server in the caller's own process is spoken to by mcp_message", async (real) => {
  const server = (message: JsonObject): JsonObject => {
    switch (message.method) {
      case "initialize": {
        const { protocolVersion } = message.params as JsonObject;
        const serverInfo = { name: "calc", version: "1" };
        return { protocolVersion, capabilities: { tools: {} }, serverInfo };
      }
      case "tools/list":
        return { tools: [{ name: "add", description: "Adds", inputSchema: { type: "object" } }] };
      default: {
        const { arguments: { a, b } = { a: 0, b: 0 } } = (message.params ?? {}) as {
          readonly arguments?: { readonly a: number; readonly b: number };
        };
        return { content: [{ type: "text", text: `sum ${a + b}` }] };
      }
    }
  };
  const config = JSON.stringify({ mcpServers: { calc: { type: "sdk", name: "calc" } } });
  const { code, stdout } = await hold(real, async ({ say, send, heard, answer }) => {
    answer(({ server_name: name, message }) => {
      const { id } = message as JsonObject;
      const result = server(message as JsonObject);
      return name === "calc"
        ? { mcp_response: { jsonrpc: "2.0", id: id ?? 0, result } }
        : undefined;
    });
    await send(request("init", { subtype: "initialize", hooks: {} }));
    await say('One. [[tool mcp__calc__add {"a":1,"b":2}]] [[say first]]');
    await heard(RESULT, 1);
  }, ["--allowedTools", "mcp__calc__add", "--mcp-config", config]);
  assertEquals(code, 0);
  const methods = parseFrames(stdout).filter(({ type }) => type === "control_request")
    .map(({ request }) => ((request as JsonObject).message as JsonObject).method);
  assertEquals(methods, ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
  assertStringIncludes(stdout, "sum 3");
});

forNewestVersion("another model, mode and limit hold from the next turn on", async (real) => {
  await assertSame(real, async ({ say, send, heard, answer }) => {
    answer(({ input }) => ({ behavior: "allow", updatedInput: input }));
    await send(request("wild", { subtype: "set_permission_mode", mode: "wild" }));
    await say("One. [[say first]]");
    await heard(RESULT, 1);
    await send(request("model", { subtype: "set_model", model: "claude-haiku-4-5" }));
    await heard('"request_id":"model"');
    await send(request("mode", { subtype: "set_permission_mode", mode: "acceptEdits" }));
    await send(
      request("think", { subtype: "set_max_thinking_tokens", max_thinking_tokens: 2000 }),
    );
    await heard('"request_id":"think"');
    await Deno.remove(`${real.home.project}/a.txt`).catch(() => {});
    const file = { file_path: `${real.home.project}/a.txt`, content: "x" };
    await say(`Two. [[tool Write ${JSON.stringify(file)}]] [[say second]]`);
    await heard(RESULT, 2);
  }, ASKS_CALLER);
  assertEquals(
    real.api.turns.filter(({ text }) => text.includes('"model":"claude-haiku-4-5"')).length,
    4,
  );
});

forNewestVersion("a caller that goes away, or stops the turn, while it is asked", async (real) => {
  await assertSame(real, async ({ say, send, heard }) => {
    await say("One. [[bash touch never]] [[say first]]");
    await heard("can_use_tool", 1);
    await send(request("stop", { subtype: "interrupt" }));
    await heard(RESULT, 1);
    await say("Two. [[bash touch never]] [[say second]]");
    await heard("can_use_tool", 2);
  }, ASKS_CALLER);
});
