import { assertEquals, assertStringIncludes } from "@std/assert";
import { unfinishedProblem } from "../../../src/frames/result/report.ts";

const SHELL = { type: "shell", description: "Build" };
const AGENT = { type: "subagent", description: "Look" };

Deno.test("unfinishedProblem() names the tasks, and what gives them more time", () => {
  const { message, suggestion } = unfinishedProblem([SHELL, AGENT, { type: "new" }]);
  assertEquals(
    message,
    'Stopped waiting for what runs in the background: shell "Build", subagent "Look", a task',
  );
  assertStringIncludes(suggestion ?? "", "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS");
});
