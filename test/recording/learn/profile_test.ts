import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import { commandNames, flagsIn } from "../../../src/recording/learn/learn_commands.ts";
import {
  compareProfiles,
  hookEventsIn,
  profileText,
  toolNames,
} from "../../../src/recording/learn/learn_profile.ts";
import {
  addFrames,
  constantsOf,
  FrameKeys,
  frameKind,
  unseenKeys,
} from "../../../src/recording/learn/learn_frames.ts";
import { textOfProgram } from "../../../src/recording/learn/subject.ts";
import { settingNames } from "../../../src/recording/learn/learn_settings.ts";
import { someProfile } from "../../claude/versions/some_profile.ts";

Deno.test("flags, commands, tools and settings are found in a program", () => {
  const flags = textOfProgram(
    'o("--other");p.name("claude").option("-d, --debug [filter]","Debug").addOption(new O("--bare","")' +
      '.hideHelp()).addOption(new O("--allowedTools, --allowed-tools <tools...>",""));' +
      'p.command("mcp").option("--scope <scope>","")',
  );
  assertEquals(flagsIn(flags), [
    "--allowed-tools=",
    "--allowedTools=",
    "--bare",
    "--debug=",
    "-d=",
  ]);
  const commands = textOfProgram(
    'var Xy="low-priority";var a={type:"local",name:"usage",aliases:["cost","stats"],description:"x"},' +
      'b={type:"local",name:Xy,description:"y"};k({name:"batch",menuDescription:"z"})',
  );
  assertEquals(commandNames(commands), ["batch", "cost", "low-priority", "stats", "usage"]);
  // The longest list of hook events has them all.
  const hooks = textOfProgram(
    '["PreToolUse","PostToolUse","Stop"];["PreToolUse","PostToolUse","Stop","Setup"]',
  );
  assertEquals(hookEventsIn(hooks), "PreToolUse PostToolUse Stop Setup");
  const words = textOfProgram('x={name:"Bash",verbose:()=>M().optional(),hooks:h().optional()}');
  assertEquals([toolNames(words), settingNames(words)], [["Bash"], ["verbose"]]);
  // A key of the program that no frame has.
  const keys = textOfProgram("betas:a,plugin_errors:b,refused_message_id:c");
  const frames = { "system/init": "type betas?", "assistant": "type" };
  assertEquals(unseenKeys(frames, keys), "plugin_errors refused_message_id");
});

const INIT = { type: "system", subtype: "init", cwd: "/a", mcp_servers: [{ name: "m" }] };

function wordsOf(...frames: readonly JsonObject[]): Readonly<Record<string, string>> {
  const keys = new FrameKeys();
  addFrames(keys, frames);
  return keys.words();
}

Deno.test("the kind of a frame says which keys it has", () => {
  const kinds = {
    "system/init": INIT,
    "assistant": { type: "assistant" },
    "control_request/can_use_tool": {
      type: "control_request",
      request: { subtype: "can_use_tool" },
    },
    "control_response/error": { type: "control_response", response: { subtype: "error" } },
    "stream_event/message_start": { type: "stream_event", event: { type: "message_start" } },
  };
  for (const [kind, frame] of Object.entries(kinds)) assertEquals(frameKind(frame), kind);
});

Deno.test("keys have their order, and a question mark if optional", () => {
  const frames = [
    { type: "user", b: 1, d: 1 },
    { type: "user", a: 1, b: 1, c: 1 },
    { type: "user", b: 1, e: 1 },
  ];
  assertEquals(wordsOf(...frames), wordsOf(...frames.toReversed()));
  assertEquals(wordsOf({ type: "user", a: 1, b: 1 }, { type: "user", b: 1, c: 1 }), {
    user: "type a? b c?",
  });
});

Deno.test("nested keys are named by their path", () => {
  const result = {
    type: "result",
    subtype: "success",
    usage: { speed: "standard" },
    modelUsage: { "claude-opus": { costUSD: 1 } },
  };
  const content = [{ type: "tool_use", input: { file_path: "a" } }];
  const response = { subtype: "success", request_id: "set_model", response: { model: "a" } };
  assertEquals(
    wordsOf(
      INIT,
      result,
      // Tools and callers decide about these keys.
      { type: "user", tool_use_result: { stdout: "a" }, message: { content } },
      // An answer to a control request is named by the request.
      { type: "control_response", response },
    ),
    {
      "control_response/set_model": "model",
      "control_response/success": "type response",
      "control_response/success.response": "subtype request_id response",
      "result/success": "type subtype usage modelUsage",
      "result/success.modelUsage.*": "costUSD",
      "result/success.usage": "speed",
      "system/init": "type subtype cwd mcp_servers",
      "system/init.mcp_servers[]": "name",
      "user": "type tool_use_result message",
      "user.message": "content",
      "user.message.content[]/tool_use": "type input",
    },
  );
});

Deno.test("results that equal a success are listed once", () => {
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
    ...["result/error_max_budget_usd", "result/error_max_budget_usd.usage"],
    ...["result/error_max_turns", "result/success", "result/success.usage"],
  ]);
});

Deno.test("a constant is equal in every frame and run", () => {
  const init = { ...INIT, view_mode: "default", list: ["a"] };
  const runs = [[init, { type: "user", same: 1 }], [{ ...init, cwd: "/b" }], [
    { ...init, mcp_servers: [] },
  ]];
  assertEquals(constantsOf(runs.map((frames) => ({ frames }))), {
    "system/init list": ["a"],
    "system/init view_mode": "default",
  });
});

Deno.test("a comparison of profiles names each changed part", () => {
  const profile = someProfile("9.9.1", {
    capabilities: ["hooks"],
    frames: { "system/init": "type subtype", "user": "type" },
    constants: { "system/init view_mode": "default" },
    commands: { prompt: "init", local: "cost", unavailable: "help" },
    settings: { boolean: "a" },
    dialogs: ["login"],
  });
  assertEquals(JSON.parse(profileText(profile)), profile);
  assertEquals(compareProfiles(profile, { ...profile, version: "9.9.2" }), []);
  assertEquals(
    compareProfiles(profile, {
      ...profile,
      capabilities: ["exactSocket", "hooks"],
      frames: { "system/init": "subtype type", "assistant": "type" },
      constants: { "system/init view_mode": "focus" },
      commands: { ...profile.commands, local: "cost usage" },
      settings: {},
    }),
    [
      "+ assistant: type",
      "+ capabilities: exactSocket",
      "+ commands local: usage",
      "- constants system/init view_mode: default",
      "+ constants system/init view_mode: focus",
      "- settings boolean: a",
      "~ system/init: another order",
      "- user: type",
    ],
  );
});
