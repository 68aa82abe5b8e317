import { assertEquals } from "@std/assert";
import { McpSource } from "../../src/driver/sources/mcp_source.ts";

Deno.test("McpSource counts the connections that the debug log tells of", () => {
  const folder = Deno.makeTempDirSync();
  const log = `${folder}/debug.log`;
  const source = new McpSource(log);
  assertEquals(source.read(), undefined, "there is no log yet");
  const line = (server: string, text: string) =>
    Deno.writeTextFileSync(log, `T [DEBUG] MCP server "${server}": ${text}\n`, { append: true });
  line("a", "Starting connection with timeout of 30000ms");
  line("b", "Starting connection with timeout of 30000ms");
  line("a", "Successfully connected (transport: stdio) in 3ms");
  assertEquals(source.read(), { begun: 2, done: 0, settled: {} });
  assertEquals(source.read(), undefined);
  line("a", "Channel notifications skipped: …");
  assertEquals(source.read(), { begun: 2, done: 1, settled: { a: "connected" } });
  line("b", "Connection failed after 5ms");
  assertEquals(source.read(), {
    begun: 2,
    done: 2,
    settled: { a: "connected", b: "failed" },
  });
  // What a server says itself stands in one line, and is looked at no longer for being long.
  const said = '[DEBUG] MCP server "c": Connection failed '.repeat(100_000);
  Deno.writeTextFileSync(log, `T [ERROR] MCP server "a" Server stderr: ${said}\n`, {
    append: true,
  });
  Deno.writeTextFileSync(log, `T [DEBUG] ${'MCP server "'.repeat(100_000)}\n`, { append: true });
  assertEquals(source.read(), undefined);
  Deno.removeSync(folder, { recursive: true });
});
