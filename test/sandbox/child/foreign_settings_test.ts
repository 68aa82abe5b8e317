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
  for (
    const [settings, hooks, addsPlugins] of [
      [[silent, hooked], [hooked], false],
      [[silent, plugged], [], false],
      [[silent], [], true],
    ] as const
  ) {
    assertThrows(
      () => refuseSilencedHooks(settings, { hooked: hooks, addsPlugins }),
      CliError,
      '"disableAllHooks"',
    );
  }
});

Deno.test("refuseSilencedHooks() lets pass what wakes nothing", () => {
  const letsPass = (settings: readonly JsonObject[], hooks: readonly JsonObject[]) =>
    refuseSilencedHooks(settings, { hooked: hooks, addsPlugins: false });
  letsPass([silent], [silent]);
  letsPass([silent, { hooks: {} }], [{ hooks: {} }]);
  letsPass([silent, hooked], [silent]);
  refuseSilencedHooks([hooked, plugged], { hooked: [hooked, plugged], addsPlugins: true });
});

const command = { type: "command", command: "touch /tmp/x" };
const nothing = { type: "command", command: "" };

Deno.test("withoutScreenCommands() overrides what would start a program for the screen, also one that a project names later", () => {
  const off = { statusLine: nothing, subagentStatusLine: nothing, fileSuggestion: nothing };
  assertEquals(withoutScreenCommands({ model: "opus" }), { model: "opus", ...off });
  assertEquals(withoutScreenCommands({ statusLine: command }), off);
});

Deno.test("withSilencedHooks() drops the caller's hooks where some settings silence all", () => {
  const caller = { model: "opus", ...hooked };
  assertEquals(withSilencedHooks(caller, [{}, { disableAllHooks: false }]), caller);
  const { hooks, ...others } = withSilencedHooks(caller, [{}, silent]);
  assertEquals(others, { model: "opus" });
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
