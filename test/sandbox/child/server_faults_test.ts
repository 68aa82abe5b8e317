import { assertEquals } from "@std/assert";
import { serverFault } from "../../../src/sandbox/child/server_faults.ts";

/** What `claude -p` of 2.1.330 says of servers that it leaves out, behind what it says of all of them. */
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
  [
    { type: "http", url: "u", headersHelper: 3 },
    "headersHelper: expected string, received number",
  ],
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

Deno.test("servers that Claude Code leaves out are told in its words", () => {
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

Deno.test("servers that only fail to connect are not left out", () => {
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
