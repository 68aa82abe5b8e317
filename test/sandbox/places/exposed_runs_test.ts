import { assertEquals } from "@std/assert";
import { exposedRuns } from "../../../src/sandbox/places/exposed_runs.ts";

const RUNS = ["/tmp/claude-print-1", "/run/1/claude-print-1"];
const FOLDER = "/run/1/claude-print-1/7-8-00000000";

Deno.test("exposedRuns() names the folders of runs that tools may write to", () => {
  const exposedTo = (...writable: readonly string[]) =>
    exposedRuns(RUNS, { writable, inside: [FOLDER, "/w"] });
  assertEquals(exposedTo("/w", "/tmp/claude", "/run/1/claude-print-1/7-8-00000000"), []);
  assertEquals(exposedTo("/w", "/tmp"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/tmp/claude-print-1"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/"), ["/tmp/claude-print-1"], "its own it cannot close");
});

Deno.test("exposedRuns() names none that the run works in, as one that a run's tool starts may do", () => {
  const work = "/tmp/claude-print-1/5-6-00000000/tmp/work";
  assertEquals(exposedRuns(RUNS, { writable: ["/"], inside: [FOLDER, work] }), []);
});
