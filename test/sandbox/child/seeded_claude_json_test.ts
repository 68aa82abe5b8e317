import { assertEquals } from "@std/assert";
import { seededClaudeJson } from "../../../src/sandbox/child/seeded_claude_json.ts";

const EXAMPLES_FOUND = {
  exampleFiles: ["-"],
  exampleFilesGeneratedAt: Number.MAX_SAFE_INTEGER,
};

Deno.test("seededClaudeJson() is done with onboarding and trusts nothing by itself", () => {
  const seeded = seededClaudeJson(undefined, { folders: ["/w", "/more"], apiKey: undefined });
  assertEquals(seeded["hasCompletedOnboarding"], true);
  assertEquals(seeded["claudeInChromeDefaultEnabled"], false);
  assertEquals(seeded["autoInstallIdeExtension"], false);
  assertEquals(seeded["prStatusFooterEnabled"], false);
  assertEquals(seeded["projects"], {
    "/w": { hasClaudeMdExternalIncludesWarningShown: true, ...EXAMPLES_FOUND },
    "/more": { hasClaudeMdExternalIncludesWarningShown: true, ...EXAMPLES_FOUND },
  });
  assertEquals("customApiKeyResponses" in seeded, false);
});

Deno.test("seededClaudeJson() approves the end of the API key", () => {
  const apiKey = `sk-ant-${"x".repeat(40)}-the-last-20-chars-ab`;
  const { customApiKeyResponses } = seededClaudeJson(undefined, { folders: ["/w"], apiKey });
  assertEquals(customApiKeyResponses, { approved: [apiKey.slice(-20)], rejected: [] });
});

Deno.test("seededClaudeJson() carries the user's identity, trust, MCP servers and finished chores over, and nothing else", () => {
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
    "/w": {
      mcpServers: { b: {} },
      hasClaudeMdExternalIncludesWarningShown: true,
      ...EXAMPLES_FOUND,
    },
  });
});
