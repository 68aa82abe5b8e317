import { assertEquals } from "@std/assert";
import { findLogin, type Login } from "../../../src/sandbox/child/login.ts";

/** Asks for a login with a config dir that holds the given credentials file. */
function ask(options: {
  readonly credentials?: unknown;
  readonly env?: Record<string, string>;
  readonly claudeJson?: Record<string, unknown>;
  readonly settings?: readonly Record<string, unknown>[];
  readonly passed?: readonly string[];
}): Login | undefined {
  const dir = Deno.makeTempDirSync();
  try {
    if (options.credentials !== undefined) {
      Deno.writeTextFileSync(`${dir}/.credentials.json`, JSON.stringify(options.credentials));
    }
    return findLogin({
      env: options.env ?? {},
      credentials: (options.passed ?? []).map((variable) => ({ variable, fd: 3, secret: "s" })),
      userConfig: { dir, claudeJson: `${dir}/.claude.json`, loginDir: dir },
      claudeJson: options.claudeJson,
      settings: options.settings ?? [],
    });
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
}

const OAUTH = { accessToken: "a", refreshToken: "r" };

const STORED: Login = {
  kind: "stored",
  subscription: undefined,
  expiresAt: undefined,
  refreshable: true,
  refreshableUntil: undefined,
};

Deno.test("findLogin() takes a stored login, expired ones too", () => {
  const expired = { ...OAUTH, expiresAt: 1 };
  assertEquals(ask({ credentials: { claudeAiOauth: expired } }), { ...STORED, expiresAt: 1 });
  assertEquals(ask({ credentials: { claudeAiOauth: { ...OAUTH, accessToken: "" } } }), STORED);
});

Deno.test("findLogin() says what is known of a stored login, and no token", () => {
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

Deno.test("findLogin() knows a login that was blanked or is of another kind from a login", () => {
  for (
    const credentials of [
      { claudeAiOauth: { accessToken: "", refreshToken: "" } },
      { mcpOAuth: {} },
      "nonsense",
      undefined,
    ]
  ) {
    assertEquals(ask({ credentials }), undefined);
  }
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

Deno.test("findLogin() takes every variable that names an account or another provider", () => {
  for (const name of VARIABLES) {
    const login: Login = { kind: "variable", name };
    assertEquals(ask({ env: { [name]: "1" } }), login);
    assertEquals(ask({ env: { [name]: "" } }), undefined, name);
    assertEquals(ask({ settings: [{ env: { [name]: "1" } }] }), login);
  }
});

Deno.test("findLogin() takes a key helper and a stored key", () => {
  assertEquals(ask({ settings: [{}, { apiKeyHelper: "get-key" }] }), { kind: "helper" });
  assertEquals(ask({ claudeJson: { primaryApiKey: "sk" } }), { kind: "key" });
});

Deno.test("findLogin() of several takes the one that Claude Code prefers", () => {
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

Deno.test("findLogin() takes a credential that was passed on a descriptor", () => {
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
