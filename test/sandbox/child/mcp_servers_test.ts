import { assertEquals } from "@std/assert";
import {
  faultyServers,
  listMcpServers,
  serverFault,
} from "../../../src/sandbox/child/mcp_servers.ts";
import { settingSources } from "../../../src/sandbox/child/read_settings.ts";
import { tempFolder } from "../../temp_folder.ts";

Deno.test("listMcpServers() lists each server once from all sources", () => {
  using folder = tempFolder({
    ".mcp.json": '{"mcpServers":{"a":{"command":"outer"},"h":{"command":"x"}}}',
    "sub/.mcp.json": '{"mcpServers":{"a":{"command":"inner"},"b":{"command":"x"}}}',
    "sub/more.json": '{"mcpServers":{"b":{"command":"x"},"c":{"command":"x"}}}',
  });
  const root = folder.path;
  const cwd = `${root}/sub`;
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
  const rows = [
    ["user", "d user, "],
    ["local", "e local, "],
    ["", ""],
  ] as const;
  for (const [source, more] of rows) {
    assertEquals(shown({ sources: settingSources(source) }), `${more}${dynamic}`, source);
  }
  const above = { cwd: "/", projectRoot: "/", configs: [] };
  assertEquals(shown({ ...above, root: "/" }), "d user");
  // Invalid configurations have no servers.
  for (const broken of [{ mcpServers: [] }, { projects: 7 }, { projects: { [root]: 7 } }]) {
    assertEquals(shown({ ...above, claudeJson: broken as never }), "");
  }
  // Only skipped servers of the command line are reported.
  assertEquals(faultyServers({ cwd, configs }), [{
    name: "a",
    type: "unknown_type",
    message: 'Skipped — unknown MCP server type "x" for server "a"',
  }]);
});

/** A server that `claude -p` 2.1.330 skips, and the fault that it reports. */
const INVALID: readonly (readonly [unknown, string])[] = [
  [{ command: 3 }, "command: expected string, received number"],
  [{}, "command: expected string, received undefined"],
  [{ command: "" }, "command: Command cannot be empty"],
  [{ command: "a", args: "x" }, "args: expected array, received string"],
  [{ command: "a", args: null }, "args: expected array, received null"],
  [{ command: "a", args: ["a", 3] }, "args.1: expected string, received number"],
  [{ command: "a", env: { A: 3 } }, "env.A: expected string, received number"],
  [{ command: "a", env: [] }, "env: expected record, received array"],
  [{ command: "a", alwaysLoad: "x" }, "alwaysLoad: expected boolean, received string"],
  [{ command: "a", timeout: "x" }, "timeout: expected number, received string"],
  [{ command: "a", timeout: 1.5 }, "timeout: expected int, received number"],
  [{ command: "a", timeout: 0 }, "timeout: Too small: expected number to be >0"],
  [{ type: 3, command: "a" }, 'type: expected "stdio"'],
  [{ type: null, command: "a" }, 'type: expected "stdio"'],
  [{ type: "sse" }, "url: expected string, received undefined"],
  [{ type: "streamable-http" }, "url: expected string, received undefined"],
  [{ type: "http", url: "u", headersHelper: 3 }, "headersHelper: expected string, received number"],
  [{ type: "http", url: "u", oauth: 3 }, "oauth: expected object, received number"],
  [{ type: "http", url: "u", headers: { a: 1 } }, "headers.a: expected string, received number"],
  [
    { type: "http", url: 3, headers: "x" },
    "url: expected string, received number; headers: expected record, received string",
  ],
  [
    { type: "claudeai-proxy" },
    "url: expected string, received undefined; id: expected string, received undefined",
  ],
  ["x", "(root): expected object, received string"],
  [null, "(root): expected object, received null"],
  [[], "(root): expected object, received array"],
];

Deno.test("a skipped server is reported as Claude Code does", () => {
  for (const [config, fault] of INVALID) {
    assertEquals(serverFault("it", config), {
      type: "invalid_config",
      message: `Skipped — invalid MCP server config for "it": ${fault}`,
    });
  }
  assertEquals(serverFault("it", { type: "toString", command: "a" }), {
    type: "unknown_type",
    message: 'Skipped — unknown MCP server type "toString" for server "it"',
  });
  assertEquals(serverFault("it", { url: 3 })?.type, "url_missing_type");
  assertEquals(serverFault("workspace", { command: "a" }), {
    type: "reserved_name",
    message: '"workspace" is a reserved MCP server name and was not loaded',
  });
});

Deno.test("a server that only fails to connect is kept", () => {
  const sound: readonly unknown[] = [
    { command: "a" },
    { type: "stdio", command: "  ", args: [], env: {}, timeout: 1, alwaysLoad: true },
    { type: "http", url: "nonsense" },
    { type: "streamable-http", url: "http://127.0.0.1:1" },
    { type: "ws", url: "" },
    { url: "http://127.0.0.1:1", command: "a" },
    { command: "a", unknown: 3 },
  ];
  for (const config of sound) assertEquals(serverFault("bad name!", config), undefined);
});
