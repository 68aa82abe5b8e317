import { assertEquals } from "@std/assert";
import {
  noteCommands,
  tellHookFailure,
  tellMode,
  tellPlanning,
  tellReloaded,
} from "../../src/frames/decisions.ts";
import { parseEntry } from "../../src/transcript/entry.ts";
import { type FramesState, startFrames } from "../../src/frames/telling/frames_state.ts";
import { toldBy } from "../../src/frames/turns/told_by.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames: options, report } = conversationOptions();
const BEGUN = startFrames(options, report);

Deno.test("commands that were read again are told if the caller does not know them", () => {
  const one = [{ name: "one" }];
  const two = [...one, { name: "two" }];
  const told = (state: FramesState, commands: readonly unknown[]) =>
    tellReloaded(state, { commands }).frames.map((frame) => frame["commands"]);
  const response = { commands: one };
  const known = noteCommands(BEGUN, { subtype: "success", request_id: "1", response });
  assertEquals([told(known, one), told(known, two)], [[], [two]]);
  // What they were before is not known.
  assertEquals(told(BEGUN, two), []);
  const { state } = tellReloaded(known, { commands: two });
  assertEquals(told(state, two), []);
  const next = startFrames({ ...options, before: toldBy(state, []) }, report);
  assertEquals([told(next, two), told(next, one)], [[], [one]]);
});

Deno.test("a permission mode is told where it is another one, as when the model begins to plan by itself", () => {
  const modes = ({ frames }: ReturnType<typeof tellMode>) =>
    frames.map(({ permissionMode }) => permissionMode);
  assertEquals(modes(tellMode(BEGUN, options.permissionMode)), []);
  const planning = tellMode(BEGUN, "plan");
  assertEquals([modes(planning), modes(tellMode(planning.state, "plan"))], [["plan"], []]);
  assertEquals(modes(tellMode(planning.state, options.permissionMode)), [options.permissionMode]);
  const toolUses = new Map(
    ["EnterPlanMode", "Read"].map((name) => [name, { id: name, name, input: {} }]),
  );
  const after = (id: string, more: object = {}) => {
    const content = [{ type: "tool_result", tool_use_id: id, content: "x", ...more }];
    const line = { type: "user", uuid: "1", message: { role: "user", content } };
    const entry = parseEntry(JSON.stringify(line));
    return entry === undefined ? undefined : modes(tellPlanning({ ...BEGUN, toolUses }, entry));
  };
  assertEquals(after("EnterPlanMode"), ["plan"]);
  assertEquals([after("EnterPlanMode", { is_error: true }), after("Read")], [[], []]);
});

Deno.test("that a hook has failed is told at once, but for that of the first prompt", () => {
  const first = tellHookFailure(BEGUN, { text: "it failed" });
  assertEquals([first.frames, first.state.early.length], [[], 1]);
  const later = startFrames({ ...options, before: toldBy(BEGUN, []) }, report);
  for (const state of [{ ...BEGUN, begun: true }, later]) {
    const { frames } = tellHookFailure(state, { text: "it failed" });
    assertEquals(frames.map(({ subtype, content, level, tag }) => [subtype, content, level, tag]), [
      ["informational", "it failed", "warning", "hook_callback_failed"],
    ]);
    const [own] = tellHookFailure(state, { text: "it failed", own: true }).frames;
    assertEquals([own?.["content"], own?.["tag"]], ["it failed", undefined]);
    const stop = tellHookFailure(state, { text: "it failed", ofStop: true }).frames;
    assertEquals(stop.map(({ subtype, key }) => [subtype, key]), [
      ["informational", undefined],
      ["notification", "stop-hook-error"],
    ]);
  }
});
