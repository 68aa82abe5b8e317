import { assertEquals } from "@std/assert";
import { hasLogin } from "../../src/sandbox/login.ts";

/** Asks for a login with a config dir that holds the given credentials file. */
function ask(options: {
  readonly credentials?: unknown;
  readonly env?: Record<string, string>;
  readonly claudeJson?: Record<string, unknown>;
  readonly settings?: readonly Record<string, unknown>[];
}): boolean {
  const dir = Deno.makeTempDirSync();
  try {
    if (options.credentials !== undefined) {
      Deno.writeTextFileSync(`${dir}/.credentials.json`, JSON.stringify(options.credentials));
    }
    return hasLogin({
      env: options.env ?? {},
      userConfig: { dir, claudeJson: `${dir}/.claude.json`, loginDir: dir },
      claudeJson: options.claudeJson,
      settings: options.settings ?? [],
    });
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
}

Deno.test("hasLogin() takes a stored login, expired ones too", () => {
  const oauth = { accessToken: "a", refreshToken: "r", expiresAt: 1 };
  assertEquals(ask({ credentials: { claudeAiOauth: oauth } }), true);
  assertEquals(ask({ credentials: { claudeAiOauth: { ...oauth, accessToken: "" } } }), true);
});

Deno.test("hasLogin() knows a login that was blanked or is of another kind from a login", () => {
  assertEquals(
    ask({ credentials: { claudeAiOauth: { accessToken: "", refreshToken: "" } } }),
    false,
  );
  assertEquals(ask({ credentials: { mcpOAuth: {} } }), false);
  assertEquals(ask({ credentials: "nonsense" }), false);
  assertEquals(ask({}), false);
});

Deno.test("hasLogin() takes every variable that names an account or another provider", () => {
  for (
    const name of [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "CLAUDE_CODE_USE_BEDROCK",
      "CLAUDE_CODE_USE_FOUNDRY",
      "CLAUDE_CODE_USE_VERTEX",
    ]
  ) {
    assertEquals(ask({ env: { [name]: "1" } }), true, name);
    assertEquals(ask({ env: { [name]: "" } }), false, name);
    assertEquals(ask({ settings: [{ env: { [name]: "1" } }] }), true, name);
  }
});

Deno.test("hasLogin() takes a key helper and a stored key", () => {
  assertEquals(ask({ settings: [{}, { apiKeyHelper: "get-key" }] }), true);
  assertEquals(ask({ claudeJson: { primaryApiKey: "sk" } }), true);
});
