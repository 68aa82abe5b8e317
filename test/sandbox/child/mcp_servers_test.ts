import { assertEquals } from "@std/assert";
import { faultyServers, listMcpServers } from "../../../src/sandbox/child/mcp_servers.ts";
import { settingSources } from "../../../src/sandbox/child/read_settings.ts";

Deno.test("listMcpServers() names each server once, from every source that is read", () => {
  const root = Deno.makeTempDirSync();
  const cwd = `${root}/sub`;
  Deno.mkdirSync(cwd);
  Deno.writeTextFileSync(
    `${root}/.mcp.json`,
    '{"mcpServers":{"a":{"command":"outer"},"h":{"command":"x"}}}',
  );
  Deno.writeTextFileSync(
    `${cwd}/.mcp.json`,
    '{"mcpServers":{"a":{"command":"inner"},"b":{"command":"x"}}}',
  );
  Deno.writeTextFileSync(
    `${cwd}/more.json`,
    '{"mcpServers":{"b":{"command":"x"},"c":{"command":"x"}}}',
  );
  const server = { command: "x" };
  const claudeJson = {
    mcpServers: { d: server, amiss: {} },
    projects: {
      [root]: { mcpServers: { e: server }, disabledMcpServers: ["h", "c", 7] },
      [cwd]: { mcpServers: { f: server } },
    },
  };
  const configs = [
    "more.json",
    '{"mcpServers":{"g":{"command":"x"},"a":{"type":"x"}}}',
    "missing.json",
    "{broken",
  ];
  const sources = settingSources(undefined);
  const places = { cwd, root, projectRoot: cwd };
  const options = { ...places, configs, strict: false, claudeJson, sources };
  const shown = (more: Partial<typeof options>) =>
    listMcpServers({ ...options, ...more }).map(({ name, source, disabled }) =>
      `${name} ${source}${disabled ? " off" : ""}`
    ).join(", ");
  assertEquals(
    shown({}),
    "d user, a project, h project off, b dynamic, e local, c dynamic off, g dynamic",
  );
  const config = listMcpServers(options).find(({ name }) => name === "a")?.config;
  assertEquals(config, { command: "inner" }, "the nearest of the project's");
  assertEquals(shown({ strict: true }), "b dynamic, c dynamic off, g dynamic");
  const dynamic = "b dynamic, c dynamic off, g dynamic";
  for (
    const [source, more] of [
      ["user", "d user, "],
      ["local", "e local, "],
      ["", ""],
    ] as const
  ) {
    assertEquals(shown({ sources: settingSources(source) }), `${more}${dynamic}`, source);
  }
  const above = { cwd: "/", projectRoot: "/", configs: [] };
  assertEquals(shown({ ...above, root: "/" }), "d user");
  // What is no configuration names none.
  for (const broken of [{ mcpServers: [] }, { projects: 7 }, { projects: { [root]: 7 } }]) {
    assertEquals(shown({ ...above, claudeJson: broken as never }), "");
  }
  // Of those that are left out, only the command line's are told.
  assertEquals(faultyServers({ cwd, configs }), [{
    name: "a",
    type: "unknown_type",
    message: 'Skipped — unknown MCP server type "x" for server "a"',
  }]);
  Deno.removeSync(root, { recursive: true });
});
