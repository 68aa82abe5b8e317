import { assertEquals } from "@std/assert";
import { skippedHooks } from "../../src/settings/hook_faults.ts";
import { settingsFaults } from "../../src/settings/settings_faults.ts";

const OLDEST = "2.1.285";
const NEWEST = "2.1.332";

/** What the newest version says. */
const faultsOf = (settings: unknown) => settingsFaults(settings, NEWEST);

Deno.test("settingsFaults() tells what is wrong below the keys of sandbox, attribution and worktree", () => {
  const sandbox = {
    enabled: "yes",
    excludedCommands: ["git", 1],
    network: { allowUnixSockets: "x", httpProxyPort: "80" },
    filesystem: [],
  };
  const faults = faultsOf({ sandbox, attribution: { pr: 1 }, worktree: { sparsePaths: 2 } });
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
    assertEquals(faultsOf({ sandbox: right, attribution, worktree: {} }), []);
  }
  assertEquals(faultsOf({ sandbox: 1 }).map(({ path }) => path), ["sandbox"]);
});

Deno.test("settingsFaults() finds hooks for which nothing that stands beside them counts", () => {
  const permissions = { defaultMode: "bypassPermissions" };
  for (const event of ["PreToolUse", "PermissionRequest"]) {
    for (const matchers of ["x", [5], [{ hooks: [{ type: "command" }] }]]) {
      const faults = faultsOf({ permissions, hooks: { [event]: matchers } });
      assertEquals(faults.length, 2);
    }
    const sound = [{ matcher: "Bash", hooks: [{ type: "command", command: "true", more: 5 }] }];
    assertEquals(faultsOf({ permissions, hooks: { [event]: sound, Stop: [5] } }), []);
  }
});

Deno.test("versions differ in what they take of settings", () => {
  const paths = (settings: unknown) =>
    [OLDEST, NEWEST].map((version) => settingsFaults(settings, version).map(({ path }) => path));
  assertEquals(paths({ idleCompaction: 5 }), [[], ["idleCompaction"]]);
  const earlier = { attribution: true, subagentStatusLine: {}, disableArtifact: null };
  const [oldest = [], newest] = paths(earlier);
  assertEquals(oldest.toSorted(), ["subagentStatusLine.command", "subagentStatusLine.type"]);
  assertEquals(newest, []);
  const same = { attribution: 3, disableArtifact: 5, tui: 5 };
  assertEquals(paths(same).map((each) => each.length), [3, 3]);
});

Deno.test("a hook for commands of skills guards since there is one", () => {
  const count = (command: unknown) =>
    [OLDEST, NEWEST].map((version) =>
      settingsFaults({ hooks: { PreSkillShellCommand: command } }, version).length
    );
  assertEquals(count([5]), [0, 2]);
  assertEquals(count([{ hooks: [{ type: "command", command: "true" }] }]), [0, 0]);
});

Deno.test("skippedHooks() knows the events of a version", () => {
  const told = (version: string) =>
    skippedHooks({ PreSkillShellCommand: [], Bogus: [] }, version)
      .map(({ path, message }) => [path, message.endsWith("MessageDisplay, PreSkillShellCommand")]);
  assertEquals(told(OLDEST), [["hooks.PreSkillShellCommand", false], ["hooks.Bogus", false]]);
  assertEquals(told(NEWEST), [["hooks.Bogus", true]]);
});
