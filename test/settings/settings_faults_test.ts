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
  const days = [5, 0, 1.5].map((cleanupPeriodDays) => faultsOf({ cleanupPeriodDays }));
  assertEquals(days, [
    [],
    ["cleanupPeriodDays: Number must be greater than or equal to 0"],
    ["cleanupPeriodDays: Expected int, but received number"],
  ]);
  assertEquals(readSettingsValue([1]).unjudged, [1]);
});

Deno.test("a broken guarding hook invalidates permissions", () => {
  const permissions = { defaultMode: "bypassPermissions" };
  for (const event of ["PreToolUse", "PermissionRequest"]) {
    for (const matchers of ["x", [5], [{ hooks: [{ type: "command" }] }]]) {
      assertEquals(faultsOf({ permissions, hooks: { [event]: matchers } }).length, 2);
    }
    const sound = [{ matcher: "Bash", hooks: [{ type: "command", command: "true", more: 5 }] }];
    for (
      const harmless of ["SessionEnd", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"]
    ) {
      assertEquals(faultsOf({ permissions, hooks: { [event]: sound, [harmless]: [5] } }), []);
    }
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

Deno.test("a skipped hook is named with its mistake", () => {
  const invalid = (expected: string, received: string) =>
    `Invalid input: expected ${expected}, received ${received}`;
  const matchers: readonly (readonly [unknown, string])[] = [
    [5, "Hook matcher must be an object; received a number"],
    [{ hooks: "x" }, 'Hook matcher "hooks" must be an array of hook entries; received a string'],
    [{}, 'Hook matcher "hooks" must be an array of hook entries; received undefined'],
    [{ matcher: 5, hooks: [] }, `Invalid hook matcher (matcher: ${invalid("string", "number")})`],
  ];
  const types = " Valid types: command, prompt, agent, http, mcp_tool";
  const entries: readonly (readonly [unknown, string, string?])[] = [
    [[], "Hook entry must be an object; received an array"],
    [{}, 'Hook entry has no "type"', types],
    [{ type: "bogus" }, 'Unknown hook type "bogus"', types],
    [{ type: [] }, 'Hook entry "type" must be a string; received an array', types],
    [{ type: "http" }, `Invalid http hook (url: ${invalid("string", "undefined")})`],
    [{ type: "http", url: "x" }, "Invalid http hook (url: Invalid URL)"],
    [{ type: "prompt", prompt: [] }, `Invalid prompt hook (prompt: ${invalid("string", "array")})`],
    [
      { type: "command", command: "x", timeout: "y", async: "z" },
      `Invalid command hook (async: ${invalid("boolean", "string")}; timeout: ${
        invalid("number", "string")
      })`,
    ],
  ];
  const messages = (Stop: readonly unknown[]) =>
    skippedHooks({ Stop: [...Stop] }, NEWEST).map(({ message }) => message);
  for (const [matcher, message] of matchers) {
    assertEquals(messages([matcher]), [`${message}; matcher ignored.`]);
  }
  for (const [entry, message, hint = ""] of entries) {
    const [found = ""] = messages([{ hooks: [entry] }]);
    const sorted = (text: string) => text.split(/[(;)] ?/u).toSorted();
    assertEquals(sorted(found), sorted(`${message}; entry ignored.${hint}`));
  }
  const url = "https://example.com";
  assertEquals(messages([{ matcher: "Bash", hooks: [{ type: "http", url }] }]), []);
});

Deno.test("deeply nested settings lose their depth, nothing else", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
  const settings = { ...deep, permissions: { deny: ["Bash", [deep]] }, env: { A: "1" } };
  const { values, tooDeep } = readSettingsValue(settings);
  const { permissions, env } = JSON.parse(JSON.stringify(values));
  assertEquals([env, permissions.deny[0]], [{ A: "1" }, "Bash"]);
  let depth = 0;
  for (let at: unknown = values["a"]; at !== undefined; at = Object(at)["a"]) depth++;
  assertEquals(depth > 10 && depth < 1000, true, `${depth}`);
  assertEquals("tooDeep" in readSettingsValue({ env: { A: "1" } }), false);
  assertEquals(tooDeep?.map(({ path }) => path), ["a.a.a.a.a.a.…", "permissions.deny.1.0.a.a.…"]);
});
