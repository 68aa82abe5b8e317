import { assertEquals } from "@std/assert";
import type { VersionProfile } from "../../src/claude/versions/profile.ts";
import { compareProfiles, profileText } from "../../src/learn/compare_profiles.ts";

const PROFILE: VersionProfile = {
  version: "9.9.1",
  capabilities: ["hooks"],
  frames: { "system/init": "type subtype", "user": "type" },
  constants: { "system/init view_mode": "default" },
  unseenKeys: "betas",
  hookEvents: "Stop",
  controlRequests: "interrupt",
  tools: "Bash",
  commands: { prompt: "init", local: "cost", unavailable: "help" },
  subcommands: "mcp",
  flags: "--print",
  settings: { boolean: "a" },
  permissionModes: "plan",
  dialogs: ["login"],
};

Deno.test("profiles that differ in the version alone are the same", () => {
  assertEquals(compareProfiles(PROFILE, { ...PROFILE, version: "9.9.2" }), []);
});

Deno.test("each part that changed is named with its words", () => {
  assertEquals(
    compareProfiles(PROFILE, {
      ...PROFILE,
      capabilities: ["exactSocket", "hooks"],
      frames: { "system/init": "subtype type", "assistant": "type" },
      constants: { "system/init view_mode": "focus" },
      commands: { ...PROFILE.commands, local: "cost usage" },
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

Deno.test("a profile is written as it was read", () => {
  assertEquals(JSON.parse(profileText(PROFILE)), PROFILE);
});
