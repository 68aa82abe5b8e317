import { assertEquals } from "@std/assert";
import { addLine, countLines, listSummary, NO_LINES } from "../../../src/cli/run/list_summary.ts";

/** The summary of lines with these exit codes and results, after 12 s. */
function summary(
  reports: readonly (readonly [exitCode: number, result: unknown])[],
  oneSession = false,
): string {
  const state = reports.reduce(
    (state, [exitCode, result], at) =>
      addLine(state, { exitCode, result }, { number: at + 1, oneSession }),
    NO_LINES,
  );
  return listSummary(state, 12_000);
}

const cost = (usd: number) => ({ total_cost_usd: usd });

Deno.test("the summary of a list has time, cost and failed lines", () => {
  assertEquals(summary([]), "");
  assertEquals(summary([[0, cost(0.1)]]), "claude-print: 1 line, 12 s, $0.1000; all succeeded\n");
  assertEquals(
    summary([[0, [{ type: "system" }, cost(0.25)]], [75, null], [0, cost(0.5)], [2, {}]]),
    "claude-print: 4 lines, 12 s, $0.75; failed (exit code): line 2 (75), line 4 (2)\n",
  );
});

Deno.test("turns of one conversation have its cost so far", () => {
  assertEquals(
    summary([[0, cost(0.1)], [0, cost(0.2)], [1, cost(0)]], true),
    "claude-print: 3 lines, 12 s, $0.2000; failed (exit code): line 3 (1)\n",
  );
});

Deno.test("a summary names ten failed lines and counts the others", () => {
  const text = summary(Array.from({ length: 12 }, () => [1, null] as const));
  assertEquals(text.split("line 10 (1)")[1], ", 2 more\n");
});

Deno.test("lines are counted in a file, not in a pipe", async () => {
  const path = await Deno.makeTempFile();
  for (const [text, lines] of [["", 0], ['"a"\n\n"b"\n', 3], ['"a"\n"b"', 2]] as const) {
    await Deno.writeTextFile(path, text);
    assertEquals(await countLines({ inputFile: path }), lines);
  }
  await Deno.remove(path);
  assertEquals(await countLines({ inputFile: path }), undefined);
  assertEquals(await countLines({ inputFile: "/dev/null" }), undefined);
});
