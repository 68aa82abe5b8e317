import { assertEquals } from "@std/assert";
import { countMcpServers } from "../../src/sandbox/mcp_servers.ts";

Deno.test("countMcpServers() counts each name once, from every source", () => {
  const cwd = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${cwd}/.mcp.json`, '{"mcpServers":{"a":{},"b":{}}}');
  Deno.writeTextFileSync(`${cwd}/more.json`, '{"mcpServers":{"b":{},"c":{}}}');
  const claudeJson = {
    mcpServers: { d: {} },
    projects: { [cwd]: { mcpServers: { e: {} } }, "/other": { mcpServers: { f: {} } } },
  };
  const configs = ["more.json", '{"mcpServers":{"g":{}}}', "missing.json", "{broken"];
  assertEquals(countMcpServers({ cwd, configs, strict: false, claudeJson }), 6);
  assertEquals(countMcpServers({ cwd, configs, strict: true, claudeJson }), 3);
  assertEquals(countMcpServers({ cwd: "/", configs: [], strict: false, claudeJson: undefined }), 0);
  Deno.removeSync(cwd, { recursive: true });
});
