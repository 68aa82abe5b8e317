import { assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { refuseSilencedHooks } from "../../../src/sandbox/child/silenced_hooks.ts";

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
