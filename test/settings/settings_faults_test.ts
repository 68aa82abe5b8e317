import { assertEquals } from "@std/assert";
import { skippedHooks } from "../../src/settings/hook_faults.ts";
import { readSettingsValue } from "../../src/settings/judged_settings.ts";
import { settingsFaults } from "../../src/settings/settings_faults.ts";

const OLDEST = "2.1.285";
const NEWEST = "2.1.332";

const faultsOf = (settings: unknown, version = NEWEST) =>
  settingsFaults(settings, version).map(({ path, message }) => `${path}: ${message}`).toSorted();

const pathsOf = (settings: unknown, version = NEWEST) =>
  settingsFaults(settings, version).map(({ path }) => path).toSorted();

Deno.test("wrong types below known keys are named", () => {
  const sandbox = {
    enabled: "yes",
    excludedCommands: ["git", 1],
    network: { allowUnixSockets: "x", httpProxyPort: "80" },
    filesystem: [],
  };
  assertEquals(faultsOf({ sandbox, attribution: { pr: 1 }, worktree: { sparsePaths: 2 } }), [
    "attribution.pr: Expected string, but received number",
    "sandbox.enabled: Expected boolean, but received string",
    "sandbox.excludedCommands.1: Expected string, but received number",
    "sandbox.filesystem: Expected object, but received array",
    "sandbox.network.allowUnixSockets: Expected array, but received string",
    "sandbox.network.httpProxyPort: Expected number, but received string",
    "worktree.sparsePaths: Expected array, but received number",
  ]);
  const network = { allowUnixSockets: ["/a"], httpProxyPort: 80, nonesuch: 1 };
  const valid = { enabled: false, excludedCommands: [], network };
  for (const attribution of [false, true, { commit: "" }]) {
    assertEquals(faultsOf({ sandbox: valid, attribution, worktree: {} }), []);
  }
  assertEquals(pathsOf({ sandbox: 1 }), ["sandbox"]);
});

Deno.test("a broken guarding hook invalidates permissions", () => {
  const permissions = { defaultMode: "bypassPermissions" };
  for (const event of ["PreToolUse", "PermissionRequest"]) {
    for (const matchers of ["x", [5], [{ hooks: [{ type: "command" }] }]]) {
      assertEquals(faultsOf({ permissions, hooks: { [event]: matchers } }).length, 2);
    }
    const sound = [{ matcher: "Bash", hooks: [{ type: "command", command: "true", more: 5 }] }];
    assertEquals(faultsOf({ permissions, hooks: { [event]: sound, Stop: [5] } }), []);
  }
});

Deno.test("versions accept different settings", () => {
  const command = [{ hooks: [{ type: "command", command: "true" }] }];
  const rows: readonly (readonly [unknown, readonly string[], readonly string[]])[] = [
    [{ idleCompaction: 5 }, [], ["idleCompaction"]],
    [
      { attribution: true, subagentStatusLine: {}, disableArtifact: null },
      ["subagentStatusLine.command", "subagentStatusLine.type"],
      [],
    ],
    ...[{ attribution: 3, disableArtifact: 5, tui: 5 }].map((settings) =>
      [settings, Object.keys(settings), Object.keys(settings)] as const
    ),
    [{ hooks: { PreSkillShellCommand: command } }, [], []],
  ];
  for (const [settings, oldest, newest] of rows) {
    assertEquals([pathsOf(settings, OLDEST), pathsOf(settings)], [[...oldest], [...newest]]);
  }
  const broken = { hooks: { PreSkillShellCommand: [5] } };
  assertEquals([faultsOf(broken, OLDEST).length, faultsOf(broken).length], [0, 2]);
});

Deno.test("hooks for unknown events are skipped", () => {
  const skipped = (version: string) =>
    skippedHooks({ PreSkillShellCommand: [], Bogus: [] }, version)
      .map(({ path, message }) => [path, message.endsWith("MessageDisplay, PreSkillShellCommand")]);
  assertEquals(skipped(OLDEST), [["hooks.PreSkillShellCommand", false], ["hooks.Bogus", false]]);
  assertEquals(skipped(NEWEST), [["hooks.Bogus", true]]);
});

Deno.test("deeply nested settings lose their depth, nothing else", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
  const settings = { ...deep, permissions: { deny: ["Bash", [deep]] }, env: { A: "1" } };
  const { values, tooDeep } = readSettingsValue(settings);
  const { permissions, env } = JSON.parse(JSON.stringify(values));
  assertEquals([env, permissions.deny[0]], [{ A: "1" }, "Bash"]);
  assertEquals(tooDeep?.map(({ path }) => path), ["a.a.a.a.a.a.…", "permissions.deny.1.0.a.a.…"]);
});
