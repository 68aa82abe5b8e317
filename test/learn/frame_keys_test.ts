import { assertEquals } from "@std/assert";
import { FrameKeys, kindOf } from "../../src/learn/frame_keys.ts";
import { addFrames, constantsOf } from "../../src/learn/frames.ts";
import { unseenKeys } from "../../src/learn/unseen_keys.ts";
import { textOfProgram } from "../../src/learn/program_text.ts";
import type { JsonObject } from "../../src/json_object.ts";

const INIT = { type: "system", subtype: "init", cwd: "/a", mcp_servers: [{ name: "m" }] };

function wordsOf(...frames: readonly JsonObject[]): Readonly<Record<string, string>> {
  const keys = new FrameKeys();
  addFrames(keys, frames);
  return keys.words();
}

Deno.test("the kind of a frame says which keys it has", () => {
  assertEquals(
    [
      INIT,
      { type: "assistant" },
      { type: "control_request", request: { subtype: "can_use_tool" } },
      { type: "control_response", response: { subtype: "error" } },
      { type: "stream_event", event: { type: "message_start" } },
    ].map(kindOf),
    [
      "system/init",
      "assistant",
      "control_request/can_use_tool",
      "control_response/error",
      "stream_event/message_start",
    ],
  );
});

Deno.test("keys that some frames lack have a question mark", () => {
  assertEquals(wordsOf({ type: "user", a: 1, b: 1 }, { type: "user", b: 1, c: 1 }), {
    user: "type a? b c?",
  });
});

Deno.test("the order of keys does not depend on that of frames", () => {
  const frames = [
    { type: "user", b: 1, d: 1 },
    { type: "user", a: 1, b: 1, c: 1 },
    { type: "user", b: 1, e: 1 },
  ];
  assertEquals(wordsOf(...frames), wordsOf(...frames.toReversed()));
});

Deno.test("nested objects are named by their path", () => {
  const result = {
    type: "result",
    subtype: "success",
    usage: { speed: "standard" },
    modelUsage: { "claude-opus": { costUSD: 1 } },
  };
  assertEquals(wordsOf(INIT, result), {
    "result/success": "type subtype usage modelUsage",
    "result/success.modelUsage.*": "costUSD",
    "result/success.usage": "speed",
    "system/init": "type subtype cwd mcp_servers",
    "system/init.mcp_servers[]": "name",
  });
});

Deno.test("what other results have like a success is listed once", () => {
  const result = (subtype: string, ...keys: readonly string[]) => ({
    type: "result",
    subtype,
    usage: Object.fromEntries(keys.map((key) => [key, 1])),
  });
  const words = wordsOf(
    result("success", "a"),
    result("error_max_turns", "a"),
    result("error_max_budget_usd", "a", "b"),
  );
  assertEquals(Object.keys(words), [
    "result/error_max_budget_usd",
    "result/error_max_budget_usd.usage",
    "result/error_max_turns",
    "result/success",
    "result/success.usage",
  ]);
});

Deno.test("what tools and callers put into frames is left out", () => {
  const content = [{ type: "tool_use", input: { file_path: "a" } }];
  assertEquals(wordsOf({ type: "user", tool_use_result: { stdout: "a" }, message: { content } }), {
    "user": "type tool_use_result message",
    "user.message": "content",
    "user.message.content[]/tool_use": "type input",
  });
});

Deno.test("answers to control requests are named by the request", () => {
  const response = { subtype: "success", request_id: "set_model", response: { model: "a" } };
  assertEquals(wordsOf({ type: "control_response", response }), {
    "control_response/set_model": "model",
    "control_response/success": "type response",
    "control_response/success.response": "subtype request_id response",
  });
});

Deno.test("constants are the same in every frame of every run", () => {
  const run = (...frames: readonly JsonObject[]) => ({ frames });
  assertEquals(
    constantsOf([
      run({ ...INIT, view_mode: "default", list: ["a"] }, { type: "user", same: 1 }),
      run({ ...INIT, view_mode: "default", list: ["a"], cwd: "/b" }),
      run({ ...INIT, view_mode: "default", list: ["a"], mcp_servers: [] }),
    ]),
    { "system/init list": ["a"], "system/init view_mode": "default" },
  );
});

Deno.test("rare keys count that the program names and no frame has", () => {
  const frames = { "system/init": "type betas?", "assistant": "type" };
  const program = textOfProgram("betas:a,plugin_errors:b,refused_message_id:c");
  assertEquals(unseenKeys(frames, program), "plugin_errors refused_message_id");
});
