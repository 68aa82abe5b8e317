import { assert, assertEquals } from "@std/assert";
import { skippedHooks } from "../../../src/claude/settings/hook_faults.ts";
import {
  checkSettings,
  readSettingsText,
  readSettingsValue,
  settingsFaults,
  unreadableSettings,
} from "../../../src/claude/settings/settings_faults.ts";
import { mayForbid } from "../../../src/claude/settings/may_forbid.ts";

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
});

Deno.test("settings are read first and judged by a version later", () => {
  const ignored = { values: {}, faults: [] };
  assertEquals(readSettingsText("{}"), ignored);
  assertEquals(readSettingsText("[1]"), { ...ignored, unchecked: [1] });
  assertEquals(readSettingsText("{"), unreadableSettings());
  const said = { idleCompaction: 5 };
  const read = readSettingsText(JSON.stringify(said));
  assertEquals(read, { values: said, faults: [], unchecked: said });
  assertEquals(checkSettings(read, OLDEST), { values: said, faults: [] });
  assertEquals(checkSettings(read, NEWEST), { values: said, faults: settingsFaults(said, NEWEST) });
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
      assertEquals([mayForbid(event), mayForbid(harmless)], [true, false]);
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
    ...[{ attribution: 3, disableArtifact: 5, tui: 5 }, { forceLoginOrgUUID: ["a", 5] }].map((
      settings,
    ) => [settings, Object.keys(settings), Object.keys(settings)] as const),
    [{ hooks: { PreSkillShellCommand: command } }, [], []],
    [{ forceLoginOrgUUID: ["a", "b"], enabledPlugins: { p: ["v"], q: true } }, [], []],
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
  const message =
    '"hooks" must be an object mapping event names to matcher arrays; received array. This field was ignored.';
  assertEquals(skippedHooks([], NEWEST), [{ path: "hooks", message }]);
  assertEquals(skippedHooks(undefined, NEWEST), []);
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
  const http = { type: "http", url: "https://example.com" };
  const types = " Valid types: command, prompt, agent, http, mcp_tool";
  const entries: readonly (readonly [unknown, string, string?])[] = [
    [[], "Hook entry must be an object; received an array"],
    [{}, 'Hook entry has no "type"', types],
    [{ type: "bogus" }, 'Unknown hook type "bogus"', types],
    [{ type: [] }, 'Hook entry "type" must be a string; received an array', types],
    [{ type: "http" }, `Invalid http hook (url: ${invalid("string", "undefined")})`],
    [{ type: "http", url: "x" }, "Invalid http hook (url: Invalid URL)"],
    [
      { type: "mcp_tool" },
      `Invalid mcp_tool hook (server: ${invalid("string", "undefined")}; tool: ${
        invalid("string", "undefined")
      })`,
    ],
    [
      { type: "command", command: "x", timeout: 0, shell: "zsh" },
      'Invalid command hook (shell: Invalid option: expected one of "bash"|"powershell"; ' +
      "timeout: Too small: expected number to be >0)",
    ],
    [{ ...http, headers: [] }, `Invalid http hook (headers: ${invalid("record", "array")})`],
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
  const sound = [
    { ...http, headers: {} },
    { type: "mcp_tool", server: "s", tool: "t" },
    ...["bash", "powershell"].map((shell) => ({
      type: "command",
      command: "x",
      shell,
      timeout: 1,
    })),
  ];
  assertEquals(messages([{ matcher: "Bash", hooks: sound }]), []);
  // A guard keeps all settings from being loaded, for which the schema has other words.
  const PreToolUse = [...matchers, [{ hooks: entries.map(([entry]) => entry) }]]
    .map(([matcher]) => matcher);
  const choices = "'command' | 'prompt' | 'agent' | 'http' | 'mcp_tool'";
  const bySchema = [
    "0: Expected object, but received number",
    "1.hooks: Expected array, but received string",
    "2.hooks: Expected array, but received undefined",
    "3.matcher: Expected string, but received number",
    "4.hooks.0: Expected object, but received array",
    ...[1, 2, 3].map((at) =>
      `4.hooks.${at}.type: Invalid discriminator value. Expected ${choices}`
    ),
    "4.hooks.4.url: Expected string, but received undefined",
    "4.hooks.5.url: Invalid URL",
    "4.hooks.6.server: Expected string, but received undefined",
    "4.hooks.6.tool: Expected string, but received undefined",
    '4.hooks.7.shell: Invalid value. Expected one of: "bash", "powershell"',
    "4.hooks.7.timeout: Number must be greater than or equal to 0",
    "4.hooks.8.headers: Expected record, but received array",
    "4.hooks.9.prompt: Expected string, but received array",
    "4.hooks.10.timeout: Expected number, but received string",
    "4.hooks.10.async: Expected boolean, but received string",
  ].map((fault) => `hooks.PreToolUse.${fault}`).toSorted();
  const faults = faultsOf({ hooks: { PreToolUse } });
  const guarded = faults.filter((fault) => fault.includes(" — a PreToolUse/"));
  assertEquals(guarded.length, matchers.length + entries.length);
  assertEquals(faults.filter((fault) => !guarded.includes(fault)), bySchema);
  const [unknown = ""] = faultsOf({ hooks: { PreToolUse: [{ hooks: [{}] }] } });
  assert(unknown.endsWith(`until the entry is fixed or removed.${types}`), unknown);
});

Deno.test("deeply nested settings lose their depth, nothing else", () => {
  const nested = (depth: number, inner: string) =>
    JSON.parse(`${'{"a":'.repeat(depth)}${inner}${"}".repeat(depth)}`);
  const read = (settings: unknown) => readSettingsValue(JSON.parse(JSON.stringify(settings)));
  for (const [inner, left] of [["[1]", "[1]"], ["[1,[2],3]", "[1,3]"], ['{"b":{}}', "{}"]]) {
    const values = nested(63, left ?? "");
    const { tooDeep, ...rest } = read(nested(63, inner ?? ""));
    assertEquals(rest, { values, faults: [], unchecked: values });
    assertEquals(tooDeep?.length, inner === left ? undefined : 1);
  }
  const deep = nested(100_000, "1");
  const { tooDeep } = readSettingsValue({ a: deep, "a b": deep, "c d": deep, list: [deep, deep] });
  const told = (
    path: string,
    subject: string,
    [it, leaves]: readonly [string, string],
    key: string,
  ) => ({
    path,
    message:
      `${subject} nested more than 64 levels deep, so Claude Code ignores ${it}, and ${leaves} ` +
      `saves a setting to this file. Reduce the nesting under "${key}".`,
  });
  const one = ["it", "leaves it out if it"] as const;
  assertEquals(tooDeep, [
    told("a.a.a.a.a.a.…", 'A value under "a" is', one, "a"),
    told("<key>.a.a.a.a.a.…", 'A value under "<key>" is', one, "<key>"),
    told(
      "list.1.a.a.a.a.…",
      '2 values under "list" are',
      ["them", "leaves them out if it"],
      "list",
    ),
  ]);
});
