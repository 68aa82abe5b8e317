import { assertEquals } from "@std/assert";
import { seededClaudeJson } from "../../src/sandbox/seeded_claude_json.ts";

Deno.test("seededClaudeJson() trusts the run's folders and is done with onboarding", () => {
  const seeded = seededClaudeJson(undefined, { trusted: ["/w", "/more"], apiKey: undefined });
  assertEquals(seeded["hasCompletedOnboarding"], true);
  assertEquals(seeded["projects"], {
    "/w": { hasTrustDialogAccepted: true, hasClaudeMdExternalIncludesWarningShown: true },
    "/more": { hasTrustDialogAccepted: true, hasClaudeMdExternalIncludesWarningShown: true },
  });
  assertEquals("customApiKeyResponses" in seeded, false);
});

Deno.test("seededClaudeJson() approves the end of the API key", () => {
  const apiKey = `sk-ant-${"x".repeat(40)}-the-last-20-chars-ab`;
  const { customApiKeyResponses } = seededClaudeJson(undefined, { trusted: ["/w"], apiKey });
  assertEquals(customApiKeyResponses, { approved: [apiKey.slice(-20)], rejected: [] });
});

Deno.test("seededClaudeJson() carries the user's identity, MCP servers and finished chores over, and nothing else", () => {
  const user = {
    userID: "u",
    machineID: "m",
    oauthAccount: { emailAddress: "e" },
    mcpServers: { a: {} },
    history: ["secret"],
    numStartups: 5,
    projects: {
      "/w": { mcpServers: { b: {} }, history: ["secret"], hasTrustDialogAccepted: false },
      "/other": { mcpServers: { c: {} } },
    },
  };
  const seeded = seededClaudeJson(user, { trusted: ["/w"], apiKey: undefined });
  assertEquals(seeded["userID"], "u");
  assertEquals(seeded["machineID"], "m");
  assertEquals(seeded["oauthAccount"], { emailAddress: "e" });
  assertEquals(seeded["mcpServers"], { a: {} });
  assertEquals(seeded["numStartups"], 5);
  assertEquals("history" in seeded, false);
  assertEquals(seeded["projects"], {
    "/w": {
      mcpServers: { b: {} },
      hasTrustDialogAccepted: true,
      hasClaudeMdExternalIncludesWarningShown: true,
    },
  });
});
