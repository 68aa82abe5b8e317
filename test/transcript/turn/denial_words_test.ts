import { assert, assertEquals } from "@std/assert";
import { denialWords, isDenialWords } from "../../../src/transcript/turn/denial_words.ts";

const words = (tool: string, input: Readonly<Record<string, unknown>>) =>
  denialWords({ tool, input, cwd: "/p" });

Deno.test("denialWords: says what somebody should permit in the words of claude -p", () => {
  const told = (what: string) =>
    `Claude requested permissions to ${what}, but you haven't granted it yet.`;
  for (
    const [tool, input, said] of [
      ["Bash", { command: "npm test" }, "This command requires approval"],
      ["Monitor", { command: "npm test" }, "This command requires approval"],
      ["Write", { file_path: "a.txt", content: "x" }, told("write to /p/a.txt")],
      ["Edit", { file_path: "/q/a.txt" }, told("write to /q/a.txt")],
      ["NotebookEdit", { notebook_path: "/q/n.ipynb" }, told("write to /q/n.ipynb")],
      ["Read", { file_path: "/etc/passwd" }, told("read from /etc/passwd")],
      ["Grep", { pattern: "x", path: "/etc" }, told("read from /etc")],
      ["Grep", { pattern: "x" }, told("use Grep")],
      ["Write", { file_path: 1 }, told("use Write")],
      ["WebFetch", { url: "http://x", prompt: "y" }, told("use WebFetch")],
      ["mcp__s__shout", { text: "x" }, told("use mcp__s__shout")],
      ["toString", {}, told("use toString")],
      ["Skill", {}, told("use Skill")],
    ] as const
  ) {
    assertEquals(words(tool, input), said);
    assert(isDenialWords(said));
  }
  const skill = denialWords({ tool: "Skill", input: { skill: "s" }, cwd: "/" });
  assertEquals(
    skill,
    "Execute skill: s. The user can add the allow rule Skill(s) to .claude/settings.local.json to let it run without asking.",
  );
  assert(isDenialWords(skill));
});

Deno.test("denialWords: says at the end what it is where nobody is ever asked", () => {
  const said = denialWords({ tool: "WebSearch", input: {}, cwd: "/" }, { unattended: true });
  assert(said.endsWith(` What required approval: ${words("WebSearch", {})}`));
  assert(isDenialWords(said));
});

Deno.test("isDenialWords: takes no other errors for it", () => {
  for (
    const text of [
      "",
      "Exit code 1\nThis command requires approval",
      "Permission to use Bash with command x has been denied.",
      "Execute skill: s\nfailed",
      "A hook says: Claude requested permissions to use X, but you haven't granted it yet.",
    ]
  ) assert(!isDenialWords(text));
});
