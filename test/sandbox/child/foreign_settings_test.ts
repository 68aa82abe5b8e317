import { assertEquals, assertThrows } from "@std/assert";
import { UnsupportedError } from "../../../src/cli_error.ts";
import {
  mayHaveOtherHooks,
  refuseSilencedHooks,
  withoutScreenCommands,
} from "../../../src/sandbox/child/foreign_settings.ts";

const silent = { disableAllHooks: true };
const hooked = { hooks: { Stop: [{ hooks: [] }] } };
const plugged = { enabledPlugins: { "a@b": true } };

Deno.test("refuseSilencedHooks() refuses where other hooks could run", () => {
  const none = { hasPlugins: false, isManaged: false };
  for (
    const [settings, found, what] of [
      [[silent, plugged], none, "plugins"],
      [[silent], { ...none, hasPlugins: true }, "plugins"],
      [[silent], { ...none, isManaged: true }, "settings of an administrator"],
    ] as const
  ) {
    assertThrows(
      () => refuseSilencedHooks(settings, found),
      UnsupportedError,
      `Cannot honour "disableAllHooks" beside ${what}:`,
    );
  }
  refuseSilencedHooks([silent, hooked], none);
  refuseSilencedHooks([hooked, plugged], { hasPlugins: true, isManaged: true });
});

const command = { type: "command", command: "touch /tmp/x" };
const nothing = { type: "command", command: "" };

Deno.test("withoutScreenCommands() overrides what would start a program for the screen, also one that a project names later", () => {
  const off = { statusLine: nothing, subagentStatusLine: nothing, fileSuggestion: nothing };
  assertEquals(withoutScreenCommands({ model: "opus" }), { model: "opus", ...off });
  assertEquals(withoutScreenCommands({ statusLine: command }), off);
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
