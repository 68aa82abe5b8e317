import { assertEquals, assertThrows } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  mayHaveOtherHooks,
  refuseSilencedHooks,
  withoutScreenCommands,
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

Deno.test("withoutScreenCommands() overrides what would start a program for the screen, and adds nothing else", () => {
  const without = (caller: JsonObject, project: readonly JsonObject[], hasPlugins = false) =>
    withoutScreenCommands(caller, { project, hasPlugins });
  assertEquals(without({ model: "opus" }, [{ env: {} }]), { model: "opus" });
  assertEquals(
    without({ model: "opus", statusLine: command }, [
      { statusLine: command },
      { fileSuggestion: command },
    ]),
    { model: "opus", statusLine: nothing, fileSuggestion: nothing },
  );
  assertEquals(without({}, [], true), { subagentStatusLine: nothing });
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
