import { assertEquals } from "@std/assert";
import type { Report } from "../../src/frames/result/report.ts";
import { unrecordedProblems } from "../../src/run/unrecorded_problems.ts";

Deno.test("unrecordedProblems() says what to do about what is not recorded, in the turn that asked it", () => {
  const troubles: string[] = [];
  const relay = { troubles: () => troubles };
  const options = { apiCassette: { folder: "c", onMiss: "fail", allowUpstream: false } } as const;
  const fine = { exitCode: 0, showScreen: false } as Report;
  const failed = { ...fine, exitCode: 1, problem: { message: "503" } } satisfies Report;
  const own = unrecordedProblems({ relay, options });
  const suggested = (report: Report) => own(report)?.problem?.suggestion?.slice(0, 21);
  assertEquals(suggested(failed), undefined);
  troubles.push("Nothing is recorded of this");
  assertEquals(suggested(failed), "Ask what was recorded");
  // The next failure is another one.
  assertEquals(suggested(failed), undefined);
  troubles.push("Nothing is recorded of that");
  assertEquals(suggested(fine), undefined);
  assertEquals(unrecordedProblems({ options })(failed), undefined);
  // What could not be written beside a run is no reason for its failure.
  assertEquals(unrecordedProblems({ relay, options: {} })(failed), undefined);
});
