import { assert, assertEquals, assertThrows } from "@std/assert";
import { UnsupportedError } from "../../../src/cli_error.ts";
import {
  childEnvironment,
  contestedVariables,
} from "../../../src/sandbox/child/child_environment.ts";
import {
  childFiles,
  type ChildFilesOptions,
  seededClaudeJson,
} from "../../../src/sandbox/child/child_files.ts";
import {
  refuseSilencedHooks,
  withoutScreenCommands,
} from "../../../src/sandbox/child/read_settings.ts";
import { hookSettings } from "../../../src/sandbox/child/hooks.ts";
import { folderParts } from "../../../src/sandbox/folder/folder_layout.ts";
import { PLAIN_FILES } from "../ground.ts";

const PARTS = folderParts("/runs/1-2-00000000");

/** The text of each file, by its path in the private folder. */
function filesOf(more: Partial<ChildFilesOptions> = {}): Readonly<Record<string, string>> {
  const files = childFiles(PARTS, { ...PLAIN_FILES, ...more });
  return Object.fromEntries(
    files.map(({ path, text }) => [path.slice("/runs/1-2-00000000/".length), text]),
  );
}

/** The settings among the files. */
const settingsOf = (more: Partial<ChildFilesOptions>, path = "own/settings.json") =>
  JSON.parse(filesOf(more)[path] ?? "");

Deno.test("childFiles() writes prompt and user settings if given", () => {
  const always = [".claude/.claude.json", "own/hook", "own/settings.json"];
  assertEquals(Object.keys(filesOf()).toSorted(), always);
  const files = filesOf({ stdin: "prompt\n", userSettings: {} });
  const more = [...always, ".claude/settings.json", "own/prompt"];
  assertEquals(Object.keys(files).toSorted(), more.toSorted());
  assertEquals(files["own/prompt"], "prompt\n");
  assert(files["own/hook"]?.includes("s3cret"));
});

Deno.test("childFiles() hides other runs from the Bash sandbox", () => {
  const callerSettings = { sandbox: { filesystem: { denyRead: ["/x"], allowWrite: ["/"] } } };
  const { sandbox } = settingsOf({ hidden: ["/runs"], callerSettings });
  assertEquals(sandbox.filesystem, {
    denyWrite: [PARTS.configDir],
    denyRead: ["/runs", "/x"],
    allowRead: [PARTS.configDir],
    allowWrite: ["/"],
  });
});

/** Rules that deny reading and editing below folders. */
const denied = (...folders: readonly string[]) =>
  ["Edit", "Read"].flatMap((tool) => folders.map((folder) => `${tool}(/${folder}/**)`));

Deno.test("childFiles() denies tools the private folders of runs", () => {
  const exposed = settingsOf({ exposed: ["/tmp/claude-print-1"] });
  assertEquals(exposed.permissions.deny, denied("/runs/1-2-00000000/own", "/tmp/claude-print-1"));
  assertEquals(exposed.sandbox.filesystem, { denyWrite: [PARTS.configDir] });
  const reopened = settingsOf({ hidden: ["/runs"], reopened: ["/runs"] });
  assertEquals(reopened.permissions.deny, denied("/runs/1-2-00000000/own", "/runs/*/own"));
});

const EXAMPLES_FOUND = {
  hasClaudeMdExternalIncludesWarningShown: true,
  exampleFiles: ["-"],
  exampleFilesGeneratedAt: Number.MAX_SAFE_INTEGER,
};

Deno.test("seededClaudeJson() completes onboarding and trusts no folder", () => {
  const apiKey = `sk-ant-${"x".repeat(40)}-the-last-20-chars-ab`;
  const seeded = seededClaudeJson(undefined, { folders: ["/w", "/more"], apiKey });
  assertEquals(seeded["hasCompletedOnboarding"], true);
  const names = [
    "claudeInChromeDefaultEnabled",
    "autoInstallIdeExtension",
    "prStatusFooterEnabled",
  ];
  for (const name of names) assertEquals(seeded[name], false, name);
  assertEquals(seeded["projects"], { "/w": EXAMPLES_FOUND, "/more": EXAMPLES_FOUND });
  const approval = { approved: [apiKey.slice(-20)], rejected: [] };
  assertEquals(seeded["customApiKeyResponses"], approval);
  const keyless = seededClaudeJson(undefined, { folders: [], apiKey: undefined });
  assertEquals("customApiKeyResponses" in keyless, false);
});

Deno.test("seededClaudeJson() disables the servers that the caller disabled", () => {
  const user = { projects: { "/w": { disabledMcpServers: ["a", "b", "c"] } } };
  const switched = { a: true, b: false, d: false };
  const { projects } = seededClaudeJson(user, { folders: ["/w"], apiKey: undefined, switched });
  assertEquals(projects, { "/w": { ...EXAMPLES_FOUND, disabledMcpServers: ["c", "b", "d"] } });
});

Deno.test("seededClaudeJson() keeps the user's identity, trust and MCP servers", () => {
  const user = {
    userID: "u",
    machineID: "m",
    oauthAccount: { emailAddress: "e" },
    mcpServers: { a: {} },
    history: ["secret"],
    numStartups: 5,
    autoInstallIdeExtension: true,
    projects: {
      "/w": { mcpServers: { b: {} }, history: ["secret"], hasTrustDialogAccepted: false },
      "/other": { mcpServers: { c: {} } },
      "/trusted": { mcpServers: { d: {} }, hasTrustDialogAccepted: true },
    },
  };
  const seeded = seededClaudeJson(user, { folders: ["/w"], apiKey: undefined });
  assertEquals(seeded["userID"], "u");
  assertEquals(seeded["machineID"], "m");
  assertEquals(seeded["oauthAccount"], { emailAddress: "e" });
  assertEquals(seeded["mcpServers"], { a: {} });
  assertEquals(seeded["numStartups"], 5);
  assertEquals(seeded["autoInstallIdeExtension"], false);
  assertEquals("history" in seeded, false);
  assertEquals(seeded["projects"], {
    "/trusted": { hasTrustDialogAccepted: true },
    "/w": { mcpServers: { b: {} }, ...EXAMPLES_FOUND },
  });
});

const PLACES = {
  configDir: "/s/config",
  tempDir: "/s/tmp",
  userConfig: { dir: "/u", claudeJson: "/u/.claude.json", loginDir: "/u" },
  scheduledTasks: false,
};

Deno.test("childEnvironment() keeps the caller's variables and adds its own", () => {
  const kept = {
    PATH: "/bin",
    TMPDIR: "/t",
    ANTHROPIC_BASE_URL: "http://x",
    CLAUDE_AGENT_SDK_CLIENT_APP: "my-app/1.0",
  };
  const own = {
    CLAUDE_CONFIG_DIR: "/s/config",
    CLAUDE_SECURESTORAGE_CONFIG_DIR: "/u",
    CLAUDE_CODE_TMPDIR: "/s/tmp",
    CLAUDE_CODE_AUTO_CONNECT_IDE: "false",
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN: "1",
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
    CLAUDE_CODE_FORK_SUBAGENT: "0",
    CLAUDE_CODE_SANDBOXED: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_INSTALLATION_CHECKS: "1",
    TERM: "xterm-256color",
    CLAUDE_PRINT_USER_CONFIG_DIR: "",
  };
  const others = Object.fromEntries(Object.keys(own).map((name) => [name, "other"]));
  const caller = { ...kept, ...others, CLAUDE_PRINT_USER_CONFIG_DIR: "" };
  assertEquals(childEnvironment(caller, PLACES), { ...kept, ...own });
  const more = {
    scheduledTasks: true,
    splitShell: { path: "/s/bash" },
    rendezvous: { path: "/s/socket", secret: "x" },
  };
  assertEquals(childEnvironment(kept, { ...PLACES, ...more }), {
    ...kept,
    ...own,
    CLAUDE_CODE_DISABLE_CRON: "1",
    CLAUDE_CODE_SHELL: "/s/bash",
    CLAUDE_BG_BACKEND: "daemon",
    CLAUDE_BG_RENDEZVOUS_SOCK: "/s/socket",
    CLAUDE_BG_RV_AUTH: "x",
  });
});

Deno.test("childEnvironment() sets the log level only to read it", () => {
  const name = "CLAUDE_CODE_DEBUG_LOG_LEVEL";
  assertEquals(childEnvironment({ [name]: "error" }, PLACES)[name], "error");
  assertEquals(name in childEnvironment({}, PLACES), false);
  const logged = { ...PLACES, logLevel: "warn" } as const;
  assertEquals(childEnvironment({ [name]: "error" }, logged)[name], "warn");
});

Deno.test("childEnvironment() removes variables of a surrounding Claude Code", () => {
  const names =
    "AI_AGENT CLAUDE_BG_BACKEND CLAUDE_BG_RENDEZVOUS_SOCK CLAUDE_BG_RV_AUTH CLAUDECODE " +
    "CLAUDE_AGENT_SDK_VERSION CLAUDE_CODE_ACTION CLAUDE_CODE_CHILD_NOTES_DIR " +
    "CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENABLE_CFC CLAUDE_CODE_ENTRYPOINT " +
    "CLAUDE_CODE_EXECPATH CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN " +
    "CLAUDE_CODE_SAFE_MODE CLAUDE_CODE_SDK_READS_SESSION_STATE CLAUDE_CODE_SESSION_ATTENDED " +
    "CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SESSION_KIND CLAUDE_CODE_SIMPLE " +
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY CLAUDE_CODE_SSE_PORT CLAUDE_EFFORT CLAUDE_ENV_FILE " +
    "CLAUDE_JOB_DIR CLAUDE_PID CLAUDE_PROJECT_DIR IS_DEMO";
  for (const name of names.split(" ")) {
    assertEquals(name in childEnvironment({ [name]: "1" }, PLACES), false, name);
  }
});

Deno.test("childEnvironment() passes the user's config dir to nested runs", () => {
  const name = "CLAUDE_PRINT_USER_CONFIG_DIR";
  assertEquals(childEnvironment({}, PLACES)[name], "");
  assertEquals(childEnvironment({ CLAUDE_CONFIG_DIR: "/cfg" }, PLACES)[name], "/cfg");
  const nested = { CLAUDE_CONFIG_DIR: "/s0/config", [name]: "/cfg" };
  assertEquals(childEnvironment(nested, PLACES)[name], "/cfg");
});

Deno.test("contestedVariables() lists settings that override variables of the run", () => {
  const env = { CLAUDE_CONFIG_DIR: "/run/.claude", CLAUDE_CODE_DISABLE_CRON: "1", PATH: "/bin" };
  const of = (...settings: readonly unknown[]) =>
    contestedVariables(env, settings.map((env) => ({ env })));
  assertEquals(of(undefined, "x", { PATH: "/evil", FOO: "1", CLAUDE_CODE_MAX_RETRIES: "1" }), {});
  assertEquals(
    of({ CLAUDE_CODE_SIMPLE: "1", CLAUDE_CONFIG_DIR: "/evil" }, { CLAUDE_CODE_DISABLE_CRON: "0" }),
    { CLAUDE_CODE_SIMPLE: "", CLAUDE_CONFIG_DIR: "/run/.claude", CLAUDE_CODE_DISABLE_CRON: "1" },
  );
});

const silent = { disableAllHooks: true };
const hooked = { hooks: { Stop: [{ hooks: [] }] } };
const plugged = { enabledPlugins: { "a@b": true } };

Deno.test("refuseSilencedHooks() refuses plugins and managed settings", () => {
  const none = { hasPlugins: false, isManaged: false };
  const rows = [
    [[silent, plugged], none, "plugins"],
    [[silent], { ...none, hasPlugins: true }, "plugins"],
    [[silent], { ...none, isManaged: true }, "settings of an administrator"],
  ] as const;
  for (const [settings, found, what] of rows) {
    assertThrows(
      () => refuseSilencedHooks(settings, found),
      UnsupportedError,
      `Cannot honour "disableAllHooks" together with ${what}:`,
    );
  }
  refuseSilencedHooks([silent, hooked], none);
  refuseSilencedHooks([hooked, plugged], { hasPlugins: true, isManaged: true });
});

Deno.test("withoutScreenCommands() disables programs that draw on the screen", () => {
  const off = {
    statusLine: { type: "command", command: "" },
    subagentStatusLine: { type: "command", command: ": ${CLAUDE_PLUGIN_ROOT}" },
    fileSuggestion: { type: "command", command: "" },
  };
  assertEquals(withoutScreenCommands({ model: "opus" }), { model: "opus", ...off });
  assertEquals(withoutScreenCommands({ statusLine: { type: "command", command: "touch x" } }), off);
});

Deno.test("only events that can be forbidden get exit code 2", () => {
  const settings = hookSettings("/x", {
    events: ["Stop", "PreToolUse", "SessionEnd"],
    held: ["Stop"],
    callbacks: [{ event: "PreToolUse" }, { event: "SubagentStop" }],
  }) as Readonly<Record<string, readonly { readonly hooks: readonly Record<string, unknown>[] }[]>>;
  const marks = Object.entries(settings).flatMap(([event, groups]) =>
    groups.flatMap(({ hooks }) =>
      hooks.map(({ command, onFailure }) => [event, `${command}`.slice(7, -8), onFailure])
    )
  );
  assertEquals(marks, [
    ["Stop", "asks - 0", undefined],
    ["PreToolUse", "asks - 2", undefined],
    ["PreToolUse", "asks 0 2", "block"],
    ["SessionEnd", "asks end 0", undefined],
    ["SubagentStop", "asks 1 0", undefined],
  ]);
});

Deno.test("a compaction hook matches automatic compactions only", () => {
  const settings = hookSettings("/x", { events: ["Stop", "PreCompact"], held: [] });
  const hooks = [{ type: "command", command: ". '/x'", timeout: 60 }];
  assertEquals(settings, { Stop: [{ hooks }], PreCompact: [{ matcher: "auto", hooks }] });
});

Deno.test("a hook of the caller has the status message callback", () => {
  const settings = hookSettings("/x", {
    events: [],
    held: [],
    callbacks: [{ event: "PostToolUse", matcher: "Bash" }],
  });
  const [{ hooks = [] } = {}] = settings["PostToolUse"] as readonly {
    readonly hooks?: unknown[];
  }[];
  assertEquals(hooks.map((hook) => (hook as { statusMessage?: string }).statusMessage), [
    "callback",
  ]);
});

Deno.test("callers may name events like properties of objects", () => {
  const events = ["constructor", "__proto__", "toString", "Stop"];
  const settings = hookSettings("/h", {
    events: ["Stop"],
    held: [],
    callbacks: [...events, ...events].map((event) => ({ event })),
  });
  assertEquals(
    Object.entries(settings).map(([event, hooks]) => [event, (hooks as unknown[]).length]),
    [["Stop", 3], ["constructor", 2], ["__proto__", 2], ["toString", 2]],
  );
});
