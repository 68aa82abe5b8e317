import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import { type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const SERVER = join(
  import.meta.dirname ?? ".",
  "..",
  "..",
  "..",
  "..",
  "fixtures",
  "mcp_server.ts",
);
const LOUD = { command: Deno.execPath(), args: ["run", "--no-config", "--no-lock", SERVER] };
const CONFIG = JSON.stringify({ mcpServers: { "loud.one": LOUD } });
const ASKING = ["--permission-prompt-tool", "mcp__loud_one__decide"];

/** Calls of commands, one a request, with the decision on each. */
const calls = (...decisions: readonly string[]): string =>
  decisions.map((decision, place) => `[[bash touch f${place} # ${decision}]]`).join(" ");

/** Results of tools, changes of the mode, and the result, without ids. */
function decidedIn(stdout: string): unknown {
  const kept = parseFrames(stdout).flatMap((frame): readonly unknown[] => {
    const { type, subtype, message, tool_use_result, tool_result_meta, permissionMode } = frame;
    if (type === "result") {
      const { is_error, result, num_turns, errors, terminal_reason, permission_denials } = frame;
      return [[subtype, is_error, result, num_turns, errors, terminal_reason, permission_denials]];
    }
    if (type !== "user" && subtype !== "status") return [];
    const { content = [] } = (message ?? {}) as { readonly content?: readonly JsonObject[] };
    const blocks = content.map(({ content, text, is_error }) => [content, text, is_error]);
    return [[blocks, tool_use_result, tool_result_meta, permissionMode]];
  });
  return JSON.parse(JSON.stringify(kept).replace(/toolu_\w+/gu, "toolu"));
}

forNewestVersion("--permission-prompt-tool lets an MCP tool decide", async (real) => {
  const acceptEdits = { type: "setMode", mode: "acceptEdits", destination: "session" };
  const touch = { behavior: "allow", updatedInput: { command: "touch f0" } };
  const prompt = calls(
    JSON.stringify(touch),
    '{"behavior":"allow","updatedInput":{"command":"echo changed"}}',
    '{"behavior":"deny","message":"Not that"}',
    ...["who asks", "fail"],
    JSON.stringify({ ...touch, updatedPermissions: [acceptEdits] }),
    '{"behavior":"deny","message":"Enough","interrupt":true}',
  );
  const args = [...STREAM_FORMAT, `--mcp-config=${CONFIG}`, ...ASKING, "--", prompt];
  const ours = await real.printInProcess(args);
  const theirs = await real.claudeP(args, { recorded: "prompt_tool/decisions" });
  assertEquals(ours.code, theirs.code, ours.stderr);
  assertEquals(decidedIn(ours.stdout), decidedIn(theirs.stdout));
  // The model knows the server's other tools alone.
  for (const { body } of real.api.turns) {
    const { tools } = body as { readonly tools: readonly JsonObject[] };
    assertEquals(tools.some(({ name }) => `${name}`.endsWith("__decide")), false);
  }
});

forNewestVersion("a project's MCP tool decides in a conversation", async (real) => {
  await Deno.writeTextFile(`${real.home.project}/.mcp.json`, CONFIG);
  const prompt = `${calls("yes!", '{"behavior":"perhaps"}', '{"behavior":"allow"}')} [[say end]]`;
  const args = ['--settings={"enableAllProjectMcpServers":true}', ...ASKING];
  // Stdin ends after the message, before the first decision.
  const script = ({ say }: Caller) => say(prompt);
  const ours = await hold(real, script, args);
  const theirs = await asRecorded(
    real,
    "prompt_tool/conversation",
    () => holdWithClaude(real, script, args),
  );
  assertEquals(decidedIn(ours.stdout), decidedIn(theirs.stdout));
});

forNewestVersion("a missing permission tool fails when it is needed", async (real) => {
  const asking = (tool: string) => ["--permission-prompt-tool", tool, "--"];
  const missing = ["--mcp-config", CONFIG, ...asking("mcp__loud_one__judge")];
  const prompt = `Look [[bash ls]] ${calls("x")} [[say end]]`;
  const [asked, theirs, foreign] = await Promise.all([
    real.printInProcess([...missing, prompt]),
    real.claudeP([...missing, prompt], { recorded: "prompt_tool/missing" }),
    real.printInProcess([...asking("mcp__other__judge"), calls("x")]),
  ]);
  const unasked = real.api.turns.filter(({ text }) => text.includes("Look [[bash ls]]"));
  assert(unasked.length > 1, "a call that needs no permission is made");
  assertEquals([asked.code, asked.stdout], [theirs.code, theirs.stdout]);
  assertEquals(
    asked.stderr.split("\n")[0],
    theirs.stderr.split("\n")[0]?.replace(/^Error/u, "claude-print")
      // claude-print knows only the tools of this server.
      .replace(/(?<=MCP tools: ).*/u, "mcp__loud_one__shout, mcp__loud_one__decide"),
  );
  assertEquals(foreign.code, 1);
  assertMatch(foreign.stderr, /mcp__other__judge .* not found\. Available MCP tools: none\n/u);
  const far = { mcpServers: { far: { type: "http", url: "http://[::1]:1/" } } };
  const remote = await real.printInProcess([
    ...["--mcp-config", JSON.stringify(far), ...asking("mcp__far__judge"), "Hi"],
  ]);
  assertEquals(remote.code, 2);
  assertMatch(remote.stderr, /Cannot honour --permission-prompt-tool=.* is reached by http/u);
});
