import { assertEquals } from "@std/assert";
import { mayHaveOtherStopHooks } from "../../../src/sandbox/child/other_stop_hooks.ts";

Deno.test("mayHaveOtherStopHooks() sees Stop hooks and plugins, and nothing else", () => {
  assertEquals(mayHaveOtherStopHooks([]), false);
  assertEquals(mayHaveOtherStopHooks([{ model: "opus" }, { hooks: { PreToolUse: [] } }]), false);
  assertEquals(mayHaveOtherStopHooks([{}, { hooks: { Stop: [] } }]), true);
  assertEquals(mayHaveOtherStopHooks([{ enabledPlugins: {} }]), false);
  assertEquals(mayHaveOtherStopHooks([{ enabledPlugins: { "a@b": true } }]), true);
});
