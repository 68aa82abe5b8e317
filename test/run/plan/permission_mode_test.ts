import modes from "../../../fixtures/permissions/permission_modes.json" with { type: "json" };
import warned from "../../../fixtures/permissions/settings_warnings.json" with { type: "json" };
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  layPermissionCell,
  PERMISSION_CELLS,
  type PermissionCell,
} from "../../../fixtures/permissions/permission_cells.ts";
import { SETTINGS_CELLS } from "../../../fixtures/permissions/settings_cells.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  hooklessFlag,
  modeWithoutHooks,
  permissionMode,
} from "../../../src/run/plan/permission_mode.ts";
import {
  factWarnings,
  ignoredRules,
  settingsWarnings,
  type WarnedFacts,
} from "../../../src/run/plan/warnings.ts";
import { parseRule, ruleProblem } from "../../../src/claude/settings/permission_rules.ts";
import {
  readSettings,
  type Settings,
  type SettingsDocument,
  settingSources,
  soundSettings,
} from "../../../src/sandbox/child/read_settings.ts";
import { checkSettings, readSettingsValue } from "../../../src/claude/settings/settings_faults.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { PLAIN_ORDER } from "../plain_order.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { parseCallerSettings } from "../../../src/sandbox/child/run_settings.ts";

const OLDEST = "2.1.285";
const NEWEST = "2.1.332";

/** Lays the surroundings of a cell, and reads the settings there. */
async function layCell(cell: PermissionCell) {
  const path = await Deno.realPath(await Deno.makeTempDir());
  await layPermissionCell({ path }, cell);
  const read = await readCell(cell, path);
  return { ...read, path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

async function assertModes(cells: readonly PermissionCell[]): Promise<void> {
  for (const cell of cells) {
    await using laid = await layCell(cell);
    const { request, documentsFor } = laid;
    const found = [OLDEST, NEWEST].map((version) =>
      permissionMode({ ...request, env: {} }, {
        settings: soundSettings(documentsFor(version)),
        version,
      })
    );
    // One word where both versions have the same mode.
    const [oldest = "", newest = oldest] = modes[cell.name as keyof typeof modes].split(" ");
    assertEquals(found, [oldest, newest], cell.name);
  }
}

const isForeign = ({ foreign }: PermissionCell) => foreign !== undefined;

Deno.test("the permission mode is that of claude -p", async () => {
  await assertModes(PERMISSION_CELLS.filter((cell) => !isForeign(cell)));
});

Deno.test(skipIfLacking(Deno.uid() === 0 ? undefined : "root's rights", {
  name: "the permission mode ignores settings of other users",
  fn: async () => {
    await assertModes(PERMISSION_CELLS.filter(isForeign));
  },
}));

const modeOf = (source: Settings["source"], defaultMode: string, env = {}) =>
  permissionMode({ dangerouslySkipPermissions: false, env }, {
    settings: [{ source, values: { permissions: { defaultMode } } }],
  });

Deno.test("administrators and the web decide about modes", () => {
  assertEquals(modeOf("managed", "auto"), "auto");
  assertEquals(modeOf("project", "bypassPermissions"), "default");
  assertEquals(modeOf("user", "manual"), "default");
  const onTheWeb = ["acceptEdits", "auto", "plan", "default", "dontAsk", "bypassPermissions"]
    .map((mode) => modeOf("user", mode, { CLAUDE_CODE_REMOTE: "1" }));
  assertEquals(onTheWeb, ["acceptEdits", "auto", "plan", "default", "default", "default"]);
});

Deno.test("flags and variables without hooks are known", () => {
  const flagOf = (forwarded: readonly string[], env = {}) => hooklessFlag({ forwarded, env });
  assertEquals(flagOf([]), undefined);
  assertEquals(flagOf(["--model=x", "--safe-mode"]), "--safe-mode");
  assertEquals(flagOf([], { CLAUDE_CODE_SIMPLE: "1" }), "--bare");
  assertEquals(flagOf([], { CLAUDE_CODE_SAFE_MODE: "true" }), "--safe-mode");
  assertEquals(flagOf([], { CLAUDE_CODE_SIMPLE: "0", CLAUDE_CODE_SAFE_MODE: "" }), undefined);
});

Deno.test("without hooks, features that need hooks are refused", () => {
  const without = (mode: string, order = {}) =>
    modeWithoutHooks({ ...PLAIN_ORDER, ...order }, { flag: "--bare", mode });
  const noTools = { forwarded: ["--bare", "--tools="], maxTurns: 1 };
  assertEquals(without("default"), "dontAsk");
  assertEquals(without("dontAsk"), "dontAsk");
  assertEquals(without("bypassPermissions"), "bypassPermissions");
  assertEquals(without("default", { partialMessages: true, exactStream: true }), "dontAsk");
  assertEquals(without("default", noTools), "dontAsk");
  const refusals: readonly (readonly [string, Parameters<typeof without>[1], string])[] = [
    ["default", { ...noTools, maxTurns: 0.5 }, "--max-turns"],
    ["default", { ...noTools, forwarded: ["--tools=", "--tools=Bash"] }, "--max-turns"],
    ["default", { ...noTools, forwarded: ["--tools=", "--plugin-dir=x"] }, "--max-turns"],
    ["default", { maxTurns: 2 }, "--max-turns"],
    ["acceptEdits", {}, "the permission mode acceptEdits"],
    ["constructor", {}, "the permission mode constructor"],
    ["plan", {}, "the permission mode plan"],
    ["default", { prompt: undefined }, "a conversation"],
    ["default", { jsonSchema: {} }, "--json-schema"],
    ["default", { promptTool: "mcp__a__b" }, "--permission-prompt-tool"],
    ["default", { partialMessages: true }, "live text without --exact-stream"],
    ["default", { maxBudgetUsd: 1 }, "--max-budget-usd"],
    ["default", { mcpConfigs: ["{}"] }, "--mcp-config"],
    ["default", { inheritHooks: true }, "--inherit-hooks"],
  ];
  for (const [mode, order, what] of refusals) {
    const { message } = assertThrows(() => without(mode, order), CliError);
    assertEquals(message.split(":")[0], `Cannot honour --bare with ${what}`);
  }
});

/** The only warnings of the oldest version among those of the newest. */
const OLD = /^(?:Permission (?:deny|ask) rule .* matches no known|Ignoring .*: Wildcard )/u;

Deno.test("warnings about settings are those of claude -p", async () => {
  for (const cell of SETTINGS_CELLS) {
    await using laid = await layCell(cell);
    const { path, request, documentsFor } = laid;
    const answerAlone = request.outputFormat === "text";
    const expected: readonly string[] = warned[cell.name as keyof typeof warned];
    for (const [version, isPrinted] of [[OLDEST, OLD], [NEWEST, /^/u]] as const) {
      const documents = documentsFor(version);
      // Mistakes in one document have an order of their own.
      assertEquals(
        settingsWarnings({ ...request, answerAlone }, { documents, version })
          .flatMap((text) => text.replaceAll(path, "HOME").split("\n")).toSorted(),
        expected.filter((line) => isPrinted.test(line)).toSorted(),
        `${cell.name}, ${version}`,
      );
    }
  }
});

const user = (settings: unknown): SettingsDocument => ({
  source: "user",
  name: "/h/settings.json",
  ...checkSettings(readSettingsValue(settings), NEWEST),
});
const ALONE = { answerAlone: true, disallowedTools: [], forwarded: [] };

Deno.test("unknown versions and tools of new versions cause no warnings", () => {
  const documents = [user({ permissions: { deny: ["Bogus", "x"] } }), user({ model: 5 })];
  assertEquals(settingsWarnings(ALONE, { documents, version: undefined }), []);
  const [line = "", ...others] = settingsWarnings(ALONE, { documents, version: "2.1.400" });
  assertEquals([line.split("\n").length, others], [5, []]);
  const forwarded = ["--allowedTools=a*"];
  const [ignored = ""] = settingsWarnings({ ...ALONE, forwarded }, {
    ...{ documents: [], version: "99.0.0" },
  });
  assertEquals(ignored.slice(0, 34), 'Ignoring --allowedTools rule "a*":');
});

Deno.test("an unknown --effort causes a warning in every format", () => {
  const warnings = (effort: string) =>
    settingsWarnings({ ...ALONE, answerAlone: false, forwarded: [`--effort=${effort}`] }, {
      documents: [],
      version: NEWEST,
    });
  for (const known of ["low", "med", " HIGH ", "max", "ultracode"]) {
    assertEquals(warnings(known), []);
  }
  for (const [unknown, named] of [["", ""], ["auto", "auto"], ["a\nb", "a b"]] as const) {
    assertEquals(warnings(unknown), [
      `Unknown --effort value '${named}' — ignoring it and using the default effort. ` +
      "Valid values: low, medium, high, xhigh, max.",
    ]);
  }
});

Deno.test("hostile settings cause one line for each warning", () => {
  const rules = [
    ...["(", ")", "\\", "*", "_", "\n", "mcp__"].flatMap((each) => {
      const many = each.repeat(1000);
      return [many, `X${many}`, `Bash(${many}`, `Bash(${many})`, `mcp__${many}(`];
    }),
    ...Array.from({ length: 20 }, () => 5),
  ];
  const hooks = { ["x\n".repeat(1000)]: 5 };
  const documents = [user({ permissions: { deny: rules, allow: rules, ask: rules }, hooks })];
  const lists = rules.filter((rule) => typeof rule === "string");
  const lines = settingsWarnings({
    answerAlone: true,
    disallowedTools: lists,
    forwarded: lists.map((list) => `--allowedTools=${list}`),
  }, { documents, version: NEWEST }).flatMap((text) => text.split("\n"));
  const known = /^(?:Permission|Ignoring|--|These settings|Fix| {2}\S)/u;
  assertEquals(lines.filter((line) => !known.test(line)), []);
});

Deno.test("a backslash escapes a parenthesis of a rule", () => {
  assertEquals(parseRule("Bash(a\\)b)"), { tool: "Bash", content: "a)b" });
  assertEquals(ruleProblem("Bash(a\\\\)", "deny"), undefined);
  for (const rule of ["(", ")", "Bash(a\\)", "Bash(a\\\\\\)"]) {
    assertEquals(ruleProblem(rule, "deny")?.slice(0, 9), "Malformed", rule);
  }
});

Deno.test("a useless permission rule is answered with a better one", () => {
  for (const tool of ["Read", "Write", "Edit", "Glob", "NotebookRead", "NotebookEdit", "Cd"]) {
    assertStringIncludes(ruleProblem(`${tool}(a:*)`, "deny") ?? "", 'glob patterns like "*"');
  }
  assertStringIncludes(
    ruleProblem("mcp__lab__echo(x)", "deny") ?? "",
    'use "mcp__lab__*" for the server "lab", or "mcp__lab__echo__*" for a server named "lab__echo"',
  );
});

const FACTS: WarnedFacts = {
  settings: [],
  documents: [],
  version: undefined,
  userConfig: { dir: "/u/.claude", claudeJson: "/u/.claude.json", loginDir: "/u/.claude" },
};

/** The first line of each warning. */
const warnings = (facts: Partial<WarnedFacts>, order = {}) =>
  factWarnings({ ...ALONE, ...order }, { ...FACTS, ...facts }).map((text) => text.split("\n")[0]);

Deno.test("warnings name ignored rules of an untrusted project", () => {
  const permissions = { allow: ["Edit"], additionalDirectories: ["/a"] };
  const settings: readonly Settings[] = [
    { source: "project", values: { permissions } },
    { source: "local", values: { permissions: { allow: ["Edit", "Write"] } } },
  ];
  assertEquals(warnings({ settings, sandboxLack: [] }), []);
  const distrust = { folder: "/w", sources: ["project"] } as const;
  assertEquals(warnings({ settings, distrust }).map((line = "") => line.split(":")[0]), [
    "Ignoring 1 permissions.allow entry from .claude/settings.json",
    "Ignoring 1 permissions.additionalDirectories entry from .claude/settings.json",
  ]);
  const allow = ["mcp__", "mcp__a__b", "mcp__a__*", "mcp__*", "mcp__a(b)", "Bash(x)", "bash"];
  const [line = ""] = ignoredRules([{ source: "project", values: { permissions: { allow } } }], {
    distrust,
    claudeJson: "/home/.claude.json",
  });
  assertEquals(line.split(" from ")[0], "Ignoring 4 permissions.allow entries");
});

Deno.test("warnings have a fixed order", () => {
  const facts: Partial<WarnedFacts> = {
    version: NEWEST,
    documents: [user({ model: 5 })],
    addedFiles: [{ path: "../g", parent: "/w" }],
    sandboxLack: ["socat"],
  };
  assertEquals(warnings(facts, { disallowedTools: ["Bogus"] }), [
    'Permission deny rule "Bogus" matches no known tool — check for typos.',
    "These settings did not load, so nothing in them is in effect, including hooks, permission rules and sandbox settings, though environment variables they already set can stay:",
    "../g is not a directory. Did you mean to add the parent directory /w?",
    "Commands run without the sandbox that settings ask for, which takes socat: nothing restricts what they do with files and the network",
  ]);
});

/** Reads the settings for a run in the surroundings of a cell that has been laid in a home. */
export async function readCell(
  { args, ...cell }: Pick<PermissionCell, "args" | "cwd">,
  home: string,
) {
  const command = await parseArguments([...args, "hello"]);
  if (command.kind !== "run") throw new Error(`${args} is no run`);
  const { request } = command;
  const cwd = `${home}/${cell.cwd}`.replace(/\/$/u, "");
  const read = await readSettings({
    projectRoot: cwd,
    home,
    userDir: `${home}/.claude`,
    sources: settingSources(request.settingSources),
    flags: await parseCallerSettings(request.settings ?? "{}", { cwd }),
    sharesLocal: true,
  });
  const documentsFor = (version: string) =>
    read.map((document) => checkSettings(document, version));
  return { request, cwd, documentsFor };
}
