import { assertEquals } from "@std/assert";
import { countMcpServers } from "../../../src/sandbox/child/mcp_servers.ts";
import { settingSources } from "../../../src/sandbox/child/read_settings.ts";

Deno.test("countMcpServers() counts each name once, from every source that is read", () => {
  const root = Deno.makeTempDirSync();
  const cwd = `${root}/sub`;
  Deno.mkdirSync(cwd);
  Deno.writeTextFileSync(`${root}/.mcp.json`, '{"mcpServers":{"a":{},"h":{}}}');
  Deno.writeTextFileSync(`${cwd}/.mcp.json`, '{"mcpServers":{"a":{},"b":{}}}');
  Deno.writeTextFileSync(`${cwd}/more.json`, '{"mcpServers":{"b":{},"c":{}}}');
  const claudeJson = {
    mcpServers: { d: {} },
    projects: { [root]: { mcpServers: { e: {} } }, [cwd]: { mcpServers: { f: {} } } },
  };
  const configs = ["more.json", '{"mcpServers":{"g":{}}}', "missing.json", "{broken"];
  const sources = settingSources(undefined);
  const options = { cwd, root, configs, strict: false, claudeJson, sources };
  assertEquals(countMcpServers(options), 7);
  assertEquals(countMcpServers({ ...options, strict: true }), 3);
  for (const [source, count] of [["user", 4], ["project", 5], ["local", 4], ["", 3]] as const) {
    assertEquals(countMcpServers({ ...options, sources: settingSources(source) }), count, source);
  }
  assertEquals(countMcpServers({ ...options, cwd: "/", root: "/", configs: [] }), 1);
  Deno.removeSync(root, { recursive: true });
});
