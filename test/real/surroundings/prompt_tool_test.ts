import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "../hold_conversation.ts";
import { factsOfResult, type JsonObject, parseFrames } from "../print_mode_facts.ts";

const SERVER = join(import.meta.dirname ?? ".", "..", "..", "..", "fixtures", "mcp_server.ts");
const LOUD = { command: Deno.execPath(), args: ["run", "--no-config", "--no-lock", SERVER] };
const CONFIG = JSON.stringify({ mcpServers: { "loud.one": LOUD } });
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];
const ASKING = ["--permission-prompt-tool", "mcp__loud_one__decide"];

/** Calls of commands, one a request, with what is decided on each. */
const calls = (...decisions: readonly string[]): string =>
  decisions.map((decision, place) => `[[bash touch f${place} # ${decision}]]`).join(" ");

/** Results of tools, and changes of the mode. */
function heardIn(frames: readonly JsonObject[]): readonly unknown[] {
  return frames.filter(({ type, subtype }) => type === "user" || subtype === "status").map(
    ({ message, tool_use_result, tool_result_meta, permissionMode }) =>
      JSON.stringify([
        ((message as JsonObject | undefined)?.content as readonly JsonObject[] | undefined)
          ?.map(({ content, text, is_error }) => [content, text, is_error]),
        tool_use_result,
        tool_result_meta,
        permissionMode,
      ]).replace(/toolu_\w+/gu, "toolu"),
  );
}

function resultsIn(frames: readonly JsonObject[]): readonly JsonObject[] {
  return frames.filter(({ type }) => type === "result").map((result) => {
    const { subtype, is_error, result: text, num_turns, errors, terminal_reason } = factsOfResult(
      result,
    );
    const denials = JSON.stringify(result.permission_denials).replace(/toolu_\w+/gu, "toolu");
    return { subtype, is_error, text, num_turns, errors, terminal_reason, denials };
  });
}

forNewestVersion(
  "--permission-prompt-tool lets an MCP tool decide",
  async (real) => {
    const prompt = calls(
      '{"behavior":"allow","updatedInput":{"command":"touch f0"}}',
      '{"behavior":"allow","updatedInput":{"command":"echo changed"}}',
      '{"behavior":"deny","message":"Not that"}',
      "who asks",
      "fail",
      '{"behavior":"allow","updatedInput":{"command":"touch f0"},"updatedPermissions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}',
      '{"behavior":"deny","message":"Enough","interrupt":true}',
    );
    const args = [...STREAM_FORMAT, `--mcp-config=${CONFIG}`, ...ASKING, "--", prompt];
    const ours = await real.printHere(args);
    const theirs = await real.claudeP(args, { recorded: "prompt_tool/decisions" });
    assertEquals(ours.code, theirs.code, ours.stderr);
    const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
    assertEquals(heardIn(frames), heardIn(expected));
    assertEquals(resultsIn(frames), resultsIn(expected));
    // The model knows the server's other tools alone.
    for (const { body } of real.api.turns) {
      const { tools } = body as { readonly tools: readonly JsonObject[] };
      assertEquals(tools.some(({ name }) => `${name}`.endsWith("__decide")), false);
    }
  },
);

forNewestVersion(
  "a project's MCP tool decides in a conversation",
  async (real) => {
    await Deno.writeTextFile(`${real.home.project}/.mcp.json`, CONFIG);
    const decisions = ["yes!", '{"behavior":"perhaps"}', '{"behavior":"allow"}'];
    const prompt = `${calls(...decisions)} [[say end]]`;
    const args = ['--settings={"enableAllProjectMcpServers":true}', ...ASKING];
    const script = ({ say }: Caller) => say(prompt);
    const ours = await hold(real, script, args);
    const theirs = await asRecorded(
      real,
      "prompt_tool/conversation",
      () => holdWithClaude(real, script, args),
    );
    const [frames, expected] = [ours, theirs].map((held) => parseFrames(held?.stdout ?? ""));
    assertEquals(resultsIn(frames ?? []), resultsIn(expected ?? []));
    assertEquals(heardIn(frames ?? []), heardIn(expected ?? []));
  },
);

forNewestVersion(
  "a missing permission tool fails when it is needed",
  async (real) => {
    const run = (
      prompt: string,
    ) => ["--mcp-config", CONFIG, "--permission-prompt-tool", "mcp__loud_one__judge", "--", prompt];
    const prompt = `Look [[bash ls]] ${calls("x")} [[say end]]`;
    const [asked, theirs, foreign] = await Promise.all([
      real.printHere(run(prompt)),
      real.claudeP(run(prompt), { recorded: "prompt_tool/missing" }),
      real.printHere(["--permission-prompt-tool", "mcp__other__judge", "--", calls("x")]),
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
    const ended = real.api.turns.filter(({ text }) =>
      text.includes(calls("x")) && !text.includes("Look")
    );
    assertEquals([ended.length, foreign.code], [1, 1]);
    assertMatch(foreign.stderr, /mcp__other__judge .* not found\. Available MCP tools: none\n/u);
    const remote = JSON.stringify({
      mcpServers: { far: { type: "http", url: "http://[::1]:1/" } },
    });
    const refused = await real.printHere(
      ["--mcp-config", remote, "--permission-prompt-tool", "mcp__far__judge", "--", "Hi"],
    );
    assertEquals(refused.code, 2);
    assertMatch(refused.stderr, /Cannot honour --permission-prompt-tool=.* is reached by http/u);
  },
);
