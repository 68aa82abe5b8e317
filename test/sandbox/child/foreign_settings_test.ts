import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import {
  mayHaveOtherStopHooks,
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
  assertEquals(withoutScreenCommands({ model: "opus" }, [{ env: {} }]), { model: "opus" });
  assertEquals(
    withoutScreenCommands({ model: "opus", statusLine: command }, [
      { statusLine: command },
      { fileSuggestion: command },
    ]),
    { model: "opus", statusLine: nothing, fileSuggestion: nothing },
  );
});

Deno.test("mayHaveOtherStopHooks() sees Stop hooks and plugins, and nothing else", () => {
  assertEquals(mayHaveOtherStopHooks([]), false);
  assertEquals(mayHaveOtherStopHooks([{ model: "opus" }, { hooks: { PreToolUse: [] } }]), false);
  assertEquals(mayHaveOtherStopHooks([{}, { hooks: { Stop: [] } }]), true);
  assertEquals(mayHaveOtherStopHooks([{ enabledPlugins: {} }]), false);
  assertEquals(mayHaveOtherStopHooks([{ enabledPlugins: { "a@b": true } }]), true);
});
