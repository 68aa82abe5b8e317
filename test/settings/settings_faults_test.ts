import { assertEquals } from "@std/assert";
import { skippedHooks } from "../../src/settings/hook_faults.ts";
import { settingsFaults } from "../../src/settings/settings_faults.ts";
import { versionFaults } from "../../src/settings/version_faults.ts";

Deno.test("settingsFaults() tells what is wrong below the keys of sandbox, attribution and worktree", () => {
  const sandbox = {
    enabled: "yes",
    excludedCommands: ["git", 1],
    network: { allowUnixSockets: "x", httpProxyPort: "80" },
    filesystem: [],
  };
  const faults = settingsFaults({ sandbox, attribution: { pr: 1 }, worktree: { sparsePaths: 2 } });
  assertEquals(
    faults.map(({ path, message }) => `${path}: ${message}`).toSorted(),
    [
      "attribution.pr: Expected string, but received number",
      "sandbox.enabled: Expected boolean, but received string",
      "sandbox.excludedCommands.1: Expected string, but received number",
      "sandbox.filesystem: Expected object, but received array",
      "sandbox.network.allowUnixSockets: Expected array, but received string",
      "sandbox.network.httpProxyPort: Expected number, but received string",
      "worktree.sparsePaths: Expected array, but received number",
    ],
  );
});

Deno.test("settingsFaults() takes what is right there, absent, or of keys that nobody knows", () => {
  const network = { allowUnixSockets: ["/a"], httpProxyPort: 80, nonesuch: 1 };
  const right = { enabled: false, excludedCommands: [], network };
  for (const attribution of [false, true, { commit: "" }]) {
    assertEquals(settingsFaults({ sandbox: right, attribution, worktree: {} }), []);
  }
  assertEquals(settingsFaults({ sandbox: 1 }).map(({ path }) => path), ["sandbox"]);
});

Deno.test("settingsFaults() finds hooks for which nothing that stands beside them counts", () => {
  const permissions = { defaultMode: "bypassPermissions" };
  for (const event of ["PreToolUse", "PermissionRequest"]) {
    for (const matchers of ["x", [5], [{ hooks: [{ type: "command" }] }]]) {
      const faults = settingsFaults({ permissions, hooks: { [event]: matchers } });
      assertEquals(faults.length, 2);
    }
    const sound = [{ matcher: "Bash", hooks: [{ type: "command", command: "true", more: 5 }] }];
    assertEquals(settingsFaults({ permissions, hooks: { [event]: sound, Stop: [5] } }), []);
  }
});

Deno.test("versionFaults() tells what one version takes and the other does not", () => {
  const paths = (settings: unknown) => {
    const { before, since } = versionFaults(settings);
    return [before, since].map((faults) => faults.map(({ path }) => path));
  };
  assertEquals(paths({ idleCompaction: 5, timeZone: 1, feedbackDrafts: null }), [[], [
    "idleCompaction",
    "timeZone",
  ]]);
  const earlier = { attribution: true, subagentStatusLine: {}, disableArtifact: null };
  assertEquals(paths(earlier), [
    ["disableArtifact", "attribution", "subagentStatusLine.type", "subagentStatusLine.command"],
    [],
  ]);
  // One that neither takes is no difference.
  const same = { attribution: 3, disableArtifact: 5, tui: 5 };
  assertEquals(paths(same), [[], []]);
  assertEquals(settingsFaults(same).length, 3);
  for (const none of [null, 5, [], {}]) assertEquals(paths(none), [[], []]);
});

Deno.test("versionFaults() finds a hook for commands of skills that cannot be loaded, since it is one", () => {
  const { since, guarded } = versionFaults({ hooks: { PreSkillShellCommand: [5] } });
  assertEquals([since.length, guarded.length], [0, 2]);
  const sound = [{ hooks: [{ type: "command", command: "true" }] }];
  assertEquals(versionFaults({ hooks: { PreSkillShellCommand: sound } }).guarded, []);
});

Deno.test("skippedHooks() knows the hook for commands of skills since it is one", () => {
  const told = (guardsSkills: boolean) =>
    skippedHooks({ PreSkillShellCommand: [], Bogus: [] }, { guardsSkills })
      .map(({ path, message }) => [path, message.endsWith("MessageDisplay, PreSkillShellCommand")]);
  assertEquals(told(false), [["hooks.PreSkillShellCommand", false], ["hooks.Bogus", false]]);
  assertEquals(told(true), [["hooks.Bogus", true]]);
});
