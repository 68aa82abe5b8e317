import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StandIn } from "../standin/stand_in.ts";

/** Secrets in every place where a caller of `claude -p` puts them; none has a shape that gives it away. */
const SECRETS = {
  apiKey: "qwertz-4711-asdfgh",
  oauth: "oauth-of-the-caller-0815",
  inline: "inline-setting-1234",
  file: "setting-in-a-file-5678",
  header: "header-value-9012",
  mcp: "mcp-variable-3456",
  custom: "custom-header-7890",
};

Deno.test("--trace tells no secret of the environment, of settings or of MCP servers", async () => {
  await using claude = await StandIn.set();
  const { home } = claude;
  const file = `${home.path}/mine.json`;
  const config = `${home.path}/mcp.json`;
  await Deno.writeTextFile(file, JSON.stringify({ env: { MY_TOKEN: SECRETS.file } }));
  const servers = {
    mcpServers: {
      web: { type: "http", url: "http://127.0.0.1:1", headers: { "X-Pass": SECRETS.header } },
      local: { command: "/bin/false", env: { PASS_WORD: SECRETS.mcp } },
    },
  };
  await Deno.writeTextFile(config, JSON.stringify(servers));
  const inline = JSON.stringify({ env: { OTHER_SECRET: SECRETS.inline } });
  const env = {
    ANTHROPIC_API_KEY: SECRETS.apiKey,
    CLAUDE_CODE_OAUTH_TOKEN: SECRETS.oauth,
    ANTHROPIC_CUSTOM_HEADERS: `X-One: ${SECRETS.custom}`,
  };
  const calls = [
    ["--settings", inline, "--mcp-config", JSON.stringify(servers), config],
    ["--settings", file],
  ];
  for (const args of calls) {
    const { code, stderr } = await claude.printHere(["--trace", ...args, "--", "hello"], {
      warns: true,
      env,
    });
    assertEquals(code, 0, stderr);
    assertStringIncludes(stderr, "--settings=");
    for (const [name, secret] of Object.entries(SECRETS)) {
      assert(!stderr.includes(secret), `${name} in ${stderr}`);
    }
  }
});
