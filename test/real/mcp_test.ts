import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { forEachVersion } from "./for_each_version.ts";
import { hold } from "./hold_conversation.ts";

const SERVER = join(import.meta.dirname ?? ".", "..", "..", "fixtures", "mcp_server.ts");

/** A configuration with a server that works and one that ends at once. */
const CONFIG = JSON.stringify({
  mcpServers: {
    loud: { command: Deno.execPath(), args: ["run", "--no-config", "--no-lock", SERVER] },
    broken: { command: "/bin/false" },
  },
});

forEachVersion(
  "the first request knows the tools of MCP servers, which are called",
  async (real) => {
    const tool = "mcp__loud__shout";
    const run = await real.print([
      `--mcp-config=${CONFIG}`,
      `--allowedTools=${tool}`,
      `[[tool ${tool} {"text":"hello there"}]] [[say ok]]`,
    ]);
    assertEquals([run.code, run.stdout, run.stderr], [0, "ok\n", ""]);
    const [first, second, ...others] = real.api.turns;
    const offered = first?.text.replaceAll(`[[tool ${tool}`, "");
    assertStringIncludes(offered ?? "", tool, "the tool is on offer");
    assertStringIncludes(second?.text ?? "", "HELLO THERE");
    assertEquals(others, []);
  },
);

forEachVersion("so does that of a conversation's first message", async (real) => {
  const tool = "mcp__loud__shout";
  const { code, stdout, stderr } = await hold(real, async ({ say, heard }) => {
    await say(`[[tool ${tool} {"text":"hello there"}]] [[say ok]]`);
    await heard('"type":"result"');
  }, [`--mcp-config=${CONFIG}`, `--allowedTools=${tool}`]);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, '"result":"ok"');
  const [first, second] = real.api.turns;
  const offered = first?.text.replaceAll(`[[tool ${tool}`, "");
  assertStringIncludes(offered ?? "", tool, "the tool is on offer");
  assertStringIncludes(second?.text ?? "", "HELLO THERE");
});
