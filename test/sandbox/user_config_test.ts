import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { findLogin, locateUserConfig, type Login } from "../../src/sandbox/user_config.ts";
import { tempFolder } from "../temp_folder.ts";
import { storedLogin } from "./stored_login.ts";

Deno.test("locateUserConfig() reads HOME and the variables of Claude Code", () => {
  const HOME = "/home/u";
  const home = "/home/u/.claude";
  const inner = { HOME, CLAUDE_CONFIG_DIR: "/tmp/claude-print-1/config" };
  const rows = [
    [{ HOME }, home],
    [{ HOME, CLAUDE_CONFIG_DIR: "/cfg" }, "/cfg"],
    [{ CLAUDE_CONFIG_DIR: "/cfg" }, "/cfg"],
    [{ HOME, CLAUDE_CONFIG_DIR: "" }, home],
    [
      { HOME, CLAUDE_CONFIG_DIR: "/cfg", CLAUDE_SECURESTORAGE_CONFIG_DIR: "/login" },
      "/cfg",
      "/login",
    ],
    [{ HOME, CLAUDE_CONFIG_DIR: "/cfg", CLAUDE_SECURESTORAGE_CONFIG_DIR: "" }, "/cfg", home],
    [{ ...inner, CLAUDE_PRINT_USER_CONFIG_DIR: "" }, home],
    [{ ...inner, CLAUDE_PRINT_USER_CONFIG_DIR: "/cfg" }, "/cfg"],
  ] as const;
  for (const [env, dir, loginDir = dir] of rows) {
    const claudeJson = dir === home ? "/home/u/.claude.json" : `${dir}/.claude.json`;
    assertEquals(locateUserConfig(env), { dir, claudeJson, loginDir });
  }
});

Deno.test("locateUserConfig() without HOME suggests CLAUDE_CONFIG_DIR", () => {
  const error = assertThrows(() => locateUserConfig({}), CliError, "HOME is not set");
  assertStringIncludes(error.suggestion ?? "", "CLAUDE_CONFIG_DIR");
});

/** Finds a login with a config dir that holds the given credentials. */
function ask(options: {
  readonly credentials?: unknown;
  readonly env?: Record<string, string>;
  readonly claudeJson?: Record<string, unknown>;
  readonly settings?: readonly Record<string, unknown>[];
  readonly passed?: readonly string[];
}): Login | undefined {
  const { credentials } = options;
  using folder = tempFolder(
    credentials === undefined ? {} : { ".credentials.json": JSON.stringify(credentials) },
  );
  const dir = folder.path;
  return findLogin({
    env: options.env ?? {},
    credentials: (options.passed ?? []).map((variable) => ({ variable, fd: 3, secret: "s" })),
    userConfig: { dir, claudeJson: `${dir}/.claude.json`, loginDir: dir },
    claudeJson: options.claudeJson,
    settings: options.settings ?? [],
  });
}

const OAUTH = { accessToken: "a", refreshToken: "r" };

const STORED = storedLogin();

Deno.test("findLogin() finds a stored login, also an expired one", () => {
  const expired = { ...OAUTH, expiresAt: 1 };
  assertEquals(ask({ credentials: { claudeAiOauth: expired } }), { ...STORED, expiresAt: 1 });
  assertEquals(ask({ credentials: { claudeAiOauth: { ...OAUTH, accessToken: "" } } }), STORED);
});

Deno.test("findLogin() describes a stored login without tokens", () => {
  const stored = {
    claudeAiOauth: {
      accessToken: "a",
      refreshToken: "",
      expiresAt: 1,
      refreshTokenExpiresAt: 2,
      subscriptionType: "max",
    },
  };
  assertEquals(ask({ credentials: stored }), {
    kind: "stored",
    subscription: "max",
    expiresAt: 1,
    refreshable: false,
    refreshableUntil: 2,
  });
});

Deno.test("findLogin() ignores credentials without a login", () => {
  const rows = [
    { claudeAiOauth: { accessToken: "", refreshToken: "" } },
    { mcpOAuth: {} },
    "nonsense",
    undefined,
  ];
  for (const credentials of rows) assertEquals(ask({ credentials }), undefined);
});

/** In the order in which Claude Code prefers them. */
const VARIABLES = [
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_FOUNDRY",
  "CLAUDE_CODE_USE_VERTEX",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_API_KEY",
  "CLAUDE_CODE_OAUTH_TOKEN",
];

Deno.test("findLogin() finds each variable of an account or provider", () => {
  for (const name of VARIABLES) {
    const login: Login = { kind: "variable", name };
    assertEquals(ask({ env: { [name]: "1" } }), login);
    assertEquals(ask({ env: { [name]: "" } }), undefined, name);
    assertEquals(ask({ settings: [{ env: { [name]: "1" } }] }), login);
  }
});

Deno.test("findLogin() finds a key helper and a stored key", () => {
  assertEquals(ask({ settings: [{}, { apiKeyHelper: "get-key" }] }), { kind: "helper" });
  assertEquals(ask({ claudeJson: { primaryApiKey: "sk" } }), { kind: "key" });
});

Deno.test("findLogin() prefers logins in the order of Claude Code", () => {
  const everything = {
    env: Object.fromEntries(VARIABLES.map((name) => [name, "1"])),
    settings: [{ apiKeyHelper: "get-key" }],
    credentials: { claudeAiOauth: OAUTH },
    claudeJson: { primaryApiKey: "sk" },
  };
  const without = (names: readonly string[]) =>
    Object.fromEntries(
      VARIABLES.filter((name) => !names.includes(name)).map((name) => [name, "1"]),
    );
  for (const [index, name] of VARIABLES.slice(0, -1).entries()) {
    const env = without(VARIABLES.slice(0, index));
    assertEquals(ask({ ...everything, env }), { kind: "variable", name });
  }
  const env = { CLAUDE_CODE_OAUTH_TOKEN: "1" };
  assertEquals(ask({ ...everything, env }), { kind: "helper" });
  assertEquals(ask({ ...everything, env, settings: [] }), {
    kind: "variable",
    name: "CLAUDE_CODE_OAUTH_TOKEN",
  });
  assertEquals(ask({ ...everything, env: {}, settings: [] }), STORED);
});

Deno.test("findLogin() finds a credential passed on a descriptor", () => {
  const key = "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR";
  const token = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR";
  const settings = [{ apiKeyHelper: "get-key" }];
  assertEquals(ask({ passed: [key], settings }), { kind: "variable", name: key });
  assertEquals(ask({ passed: [token], settings }), { kind: "helper" });
  const stored = { claudeAiOauth: OAUTH };
  assertEquals(ask({ passed: [token], credentials: stored }), { kind: "variable", name: token });
  // A variable alone is no credential: whatever it names may not be readable.
  assertEquals(ask({ env: { [key]: "3" } }), undefined);
});
