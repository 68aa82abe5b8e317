import { assertEquals } from "@std/assert";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { ProgressLines } from "../../../src/cli/watch/progress_lines.ts";

/** What is printed of frames, 65 s after the start of the run. */
function printed(...frames: readonly object[]): string {
  let text = "";
  const lines = new ProgressLines({
    print: (more) => text += more,
    elapsedMs: () => 65_000,
    cwd: "/project",
  });
  for (const frame of frames) lines.observe(frame as Frame);
  return text;
}

function assistant(...content: readonly object[]) {
  return { type: "assistant", message: { content } };
}

function delta(text: string, id = "t1") {
  return { type: "system", subtype: "shell_output_delta", tool_use_id: id, text };
}

Deno.test("--progress prints a line for each call", () => {
  const text = printed(
    { type: "system", subtype: "init" },
    assistant({ type: "text", text: "I look." }),
    assistant({ type: "tool_use", id: "t1", name: "Read", input: { file_path: "/project/a.ts" } }),
    assistant(
      { type: "tool_use", id: "t2", name: "Bash", input: { command: "npm\n test" } },
      { type: "tool_use", id: "t3", name: "TodoWrite", input: {} },
    ),
    { type: "result", subtype: "success" },
  );
  assertEquals(
    text,
    "[1 min 05 s] Read a.ts\n[1 min 05 s] Bash npm test\n[1 min 05 s] TodoWrite\n",
  );
});

Deno.test("--progress prints complete lines of each shell", () => {
  assertEquals(printed(delta("one\r\ntw"), delta("x\n", "t2"), delta("o")), "  | one\n  | x\n");
  assertEquals(printed(delta("one\n\ntwo"), delta("")), "  | one\n  | \n  | two\n");
  assertEquals(printed(delta("one\n"), delta("")), "  | one\n");
});
