import { assert, assertEquals } from "@std/assert";
import { blocks } from "../../docs/blocks.ts";
import { newcomer } from "./newcomer.ts";

/** What a recipe's container runs, and the exit codes that it names. */
function recipe(kind: string): { readonly script: string; readonly text: string } {
  const text = blocks("yaml").find((block) => block.includes(`kind: ${kind}\n`)) ?? "";
  const [, script = ""] = /args:\s*(?:\[|- )'?(.*?claude-print --jsonl)/u.exec(text) ?? [];
  assert(script !== "", `no page has a recipe for a ${kind}`);
  return { script, text };
}

Deno.test("the Kubernetes Job's container runs the line of its index", async () => {
  await using reader = await newcomer();
  const { script, text } = recipe("Job");
  const prompts = reader.home.project;
  for (const [index, input] of ["one", { prompt: "two", id: 2 }].entries()) {
    const { code, stdout } = await reader.type(script.replaceAll("/prompts/", `${prompts}/`), {
      JOB_COMPLETION_INDEX: `${index}`,
    });
    assertEquals(code, 0);
    assertEquals(JSON.parse(stdout).input, input);
  }
  assert(/action: FailIndex.*\n\s+onExitCodes: \{.*values: \[1, 2\] \}/u.test(text));
});

Deno.test("the Argo template's container runs the line it is given", async () => {
  await using reader = await newcomer();
  const { script, text } = recipe("WorkflowTemplate");
  const line = { prompt: 'it\'s "quoted" $HOME', id: 3 };
  const { code, stdout } = await reader.type(script, { LINE: JSON.stringify(line) });
  assertEquals(code, 0);
  const { input, result } = JSON.parse(stdout);
  assertEquals([input, result.result], [line, `You said: ${line.prompt}`]);
  assert(text.includes("expression: asInt(lastRetry.exitCode) in [75, 124]"));
});

Deno.test("a container has the exit code of its run", async () => {
  await using reader = await newcomer();
  const { script } = recipe("WorkflowTemplate");
  assertEquals((await reader.type(script, { LINE: "no json" })).code, 2);
});
