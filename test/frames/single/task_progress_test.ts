import { assertEquals } from "@std/assert";
import { tellProgress } from "../../../src/frames/single/task_progress.ts";
import { parseEntry } from "../../../src/transcript/entry.ts";

/** How the frames of a subagent's calls describe them. */
function described(
  calls: readonly (readonly [name: string, input: unknown])[],
): readonly unknown[] {
  const entry = parseEntry(JSON.stringify({
    type: "assistant",
    timestamp: "2026-01-01T00:00:02.000Z",
    message: {
      id: "m",
      model: "m",
      content: calls.map(([name, input], at) => ({ type: "tool_use", id: `t${at}`, name, input })),
      usage: { input_tokens: 3, cache_read_input_tokens: 10, output_tokens: 2 },
    },
  }));
  if (entry === undefined) throw new Error("That is no line");
  const task = {
    id: "a",
    toolUseId: "t",
    type: "local_agent",
    description: "look",
    background: false,
    since: Date.parse("2026-01-01T00:00:00.500Z"),
    calls: 4,
  } as const;
  const { tasks, frames } = tellProgress(
    new Map([["a", task]]),
    { agentId: "a", entry, cwd: "/home/me/project", home: "/home/me" },
    {
      version: "2.1.332",
      sessionId: "s",
      newUuid: () => "u",
      toolUses: new Map(),
      allTasks: new Map(),
      toldTasks: new Map(),
    },
  );
  assertEquals(tasks.get("a")?.calls, 4 + calls.length);
  assertEquals(frames[0]?.["usage"], { total_tokens: 15, tool_uses: 5, duration_ms: 1500 });
  return frames.map(({ description }) => description);
}

const LONG = "y".repeat(90);

Deno.test("tellProgress() describes calls in Claude Code's words", () => {
  const calls = [
    ["Bash", { command: "echo one" }],
    ["Bash", { command: "echo one", description: `Say ${LONG}` }],
    ["Bash", { command: "e".repeat(50) }],
    ["Bash", { command: "e".repeat(51) }],
    ["Read", { file_path: "/home/me/project/a.txt" }],
    ["Read", { file_path: "/home/me/project" }],
    ["Write", { file_path: `/home/me/${LONG}` }],
    ["Edit", { file_path: "/etc/hosts" }],
    ["NotebookEdit", { notebook_path: "n.ipynb" }],
    ["WebFetch", { url: `http://a/${LONG}` }],
    ["WebSearch", { query: "abc def" }],
    ["Agent", { description: "look closer" }],
    ["Read", {}],
    ["mcp__a__b", { command: "x" }],
    ["Bash", "no object"],
  ] as const;
  const expected = [
    "Running echo one",
    `Running Say ${LONG}`,
    `Running ${"e".repeat(50)}`,
    `Running ${"e".repeat(49)}…`,
    "Reading a.txt",
    "Reading ~/project",
    `Writing ~/${LONG}`,
    "Editing /etc/hosts",
    "Editing notebook n.ipynb",
    `Fetching http://a/${"y".repeat(40)}…`,
    "Searching for abc def",
    "look closer",
    "look",
    "look",
    "look",
  ];
  assertEquals(described(calls), expected);
  const searches = [["Glob", { pattern: "*" }], ["Grep", { pattern: "a" }]] as const;
  assertEquals(described(searches), ["Finding *", "Searching for a"]);
});
