import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { forEarlierVersions, forNewestVersion } from "../for_each_version.ts";
import { hold } from "../hold_conversation.ts";
import { blocksOf, parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

const SERVER = join(import.meta.dirname ?? ".", "..", "..", "..", "fixtures", "mcp_server.ts");

/** A configuration with a server that works and one that ends at once. */
const CONFIG = JSON.stringify({
  mcpServers: {
    loud: { command: Deno.execPath(), args: ["run", "--no-config", "--no-lock", SERVER] },
    broken: { command: "/bin/false" },
  },
});

/** Calls of a server's tool, of which the first request has to know: it answers, asks the user, and then misbehaves. */
const calling = (tool: string) =>
  ["hello there", "?", "flood", "silence", "crash"]
    .map((text) => `[[tool ${tool} ${JSON.stringify({ text })}]] `).join("") + "[[say ok]]";

/** Fails unless the tool was on offer in the first request, and was called. */
function assertCalled({ api }: RealClaude, tool: string): void {
  const [first, second, third, fourth, ...others] = api.turns;
  const offered = first?.text.replaceAll(`[[tool ${tool}`, "");
  assertStringIncludes(offered ?? "", tool, "the tool is on offer");
  assertStringIncludes(second?.text ?? "", "HELLO THERE");
  assertStringIncludes(third?.text ?? "", "DOES: CANCEL");
  assertStringIncludes(fourth?.text ?? "", "FLOOD");
  assertEquals(others.length, 2);
}

forNewestVersion(
  "MCP servers from every source are listed and called",
  async (real) => {
    const { loud, broken } = JSON.parse(CONFIG).mcpServers;
    const tool = "mcp__dynamic__shout";
    const { path, project } = real.home;
    const own = JSON.parse(await Deno.readTextFile(`${path}/.claude.json`));
    await Deno.writeTextFile(
      `${path}/.claude.json`,
      JSON.stringify({
        ...own,
        mcpServers: { users: loud },
        projects: {
          [project]: { mcpServers: { local: broken }, disabledMcpServers: ["off", "off-too"] },
        },
      }),
    );
    await Deno.writeTextFile(
      `${project}/.mcp.json`,
      JSON.stringify({ mcpServers: { projects: broken, off: loud } }),
    );
    const args = [
      `--mcp-config=${JSON.stringify({ mcpServers: { dynamic: loud, "off-too": loud } })}`,
      ...["--output-format", "stream-json", "--verbose", `--allowedTools=${tool}`, calling(tool)],
    ];
    const env = { MCP_TOOL_TIMEOUT: "1000" };
    const ours = await real.printInProcess(args, { env });
    assertEquals([ours.code, ours.stderr], [0, ""]);
    assertCalled(real, tool);
    const theirs = await real.claudeP(args, { recorded: "mcp/listed", env });
    const results = [ours, theirs].map(({ stdout }) =>
      parseFrames(stdout).flatMap(({ message }) => blocksOf(message))
        .filter(({ type }) => type === "tool_result").map(({ content }) => content)
    );
    assertEquals(results[0], results[1]);
    assertEquals(results[0]?.length, 5);
    // The state of a connection at the start depends on the machine.
    const servers = [ours, theirs].map(({ stdout }) =>
      JSON.stringify(parseFrames(stdout).find(({ subtype }) => subtype === "init")?.mcp_servers)
        .replaceAll(/connected|failed|pending/gu, "tried")
    );
    assertEquals(servers[0], servers[1], ours.stderr);
    assertStringIncludes(theirs.stdout, "DOES: CANCEL");
  },
);

forEarlierVersions(
  "a resumed session knows the tools of slow servers",
  async (real) => {
    const { home, api } = real;
    const slow = `${home.path}/slow`;
    await Deno.writeTextFile(
      slow,
      `sleep 1; exec ${Deno.execPath()} run --no-config --no-lock ${SERVER}`,
    );
    const config = { mcpServers: { slow: { command: "/bin/sh", args: [slow] } } };
    const args = [`--mcp-config=${JSON.stringify(config)}`, "--permission-mode=default"];
    const { code, stdout, stderr } = await hold(real, async ({ say, send, heard }) => {
      await say("One. [[say first]]");
      await heard('"type":"result"', 1);
      const request = { subtype: "set_permission_mode", mode: "plan" };
      await send({ type: "control_request", request_id: "mode", request });
      await heard('"request_id":"mode"');
      await say("Two. [[say second]]");
      await heard('"type":"result"', 2);
    }, args);
    assertEquals(code, 0, stderr);
    const session = `${parseFrames(stdout).at(-1)?.session_id}`;
    const resumed = await real.printInProcess([
      ...args,
      "--resume",
      session,
      "Three. [[say third]]",
    ]);
    assertEquals([resumed.stdout, resumed.stderr], ["third\n", ""]);
    const offered = api.turns.map(({ body }) => JSON.stringify(body).includes("mcp__slow__shout"));
    assertEquals(offered, [true, true, true]);
  },
);
