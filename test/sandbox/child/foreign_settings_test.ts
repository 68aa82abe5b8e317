import { assertEquals, assertThrows } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  mayHaveOtherHooks,
  refuseSilencedHooks,
  withoutScreenCommands,
  withSilencedHooks,
} from "../../../src/sandbox/child/foreign_settings.ts";

const silent = { disableAllHooks: true };
const hooked = { hooks: { Stop: [{ hooks: [] }] } };
const plugged = { enabledPlugins: { "a@b": true } };

Deno.test("refuseSilencedHooks() refuses to wake hooks that somebody silenced", () => {
  for (const [settings, read] of [[[silent, hooked], [hooked]], [[silent, plugged], []]] as const) {
    assertThrows(
      () => refuseSilencedHooks(settings, { hooked: read }),
      CliError,
      '"disableAllHooks"',
    );
  }
});

Deno.test("refuseSilencedHooks() lets pass what wakes nothing", () => {
  refuseSilencedHooks([silent], { hooked: [silent] });
  refuseSilencedHooks([silent, { hooks: {} }], { hooked: [{ hooks: {} }] });
  refuseSilencedHooks([silent, hooked], { hooked: [silent] });
  refuseSilencedHooks([hooked, plugged], { hooked: [hooked, plugged] });
});

const command = { type: "command", command: "touch /tmp/x" };
const nothing = { type: "command", command: "" };

Deno.test("withoutScreenCommands() overrides what would start a program for the screen, also one that a project names later", () => {
  const off = { statusLine: nothing, subagentStatusLine: nothing, fileSuggestion: nothing };
  assertEquals(withoutScreenCommands({ model: "opus" }), { model: "opus", ...off });
  assertEquals(withoutScreenCommands({ statusLine: command }), off);
});

Deno.test("withSilencedHooks() has settings stay as they are where somebody has silenced hooks, and nowhere else", () => {
  const caller = { model: "opus" };
  assertEquals(withSilencedHooks(caller, [{}, { disableAllHooks: false }]), caller);
  const { hooks, ...others } = withSilencedHooks(caller, [{}, { disableAllHooks: true }]);
  assertEquals(others, caller);
  assertEquals(Object.keys(hooks as JsonObject), ["ConfigChange"]);
});

Deno.test("mayHaveOtherHooks() sees hooks of an event and plugins, and nothing else", () => {
  assertEquals(mayHaveOtherHooks([], "Stop"), false);
  assertEquals(
    mayHaveOtherHooks([{ model: "opus" }, { hooks: { PreToolUse: [] } }], "Stop"),
    false,
  );
  assertEquals(mayHaveOtherHooks([{}, { hooks: { Stop: [] } }], "Stop"), true);
  assertEquals(mayHaveOtherHooks([{}, { hooks: { Stop: [] } }], "SessionEnd"), false);
  assertEquals(mayHaveOtherHooks([{ enabledPlugins: {} }], "Stop"), false);
  assertEquals(mayHaveOtherHooks([{ enabledPlugins: { "a@b": true } }], "SessionEnd"), true);
});
