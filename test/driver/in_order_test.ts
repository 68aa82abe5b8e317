import { assertEquals } from "@std/assert";
import { inOrder } from "../../src/driver/in_order.ts";

const at = (second: number, name: string) =>
  `{"name":"${name}","timestamp":"2026-01-01T00:00:0${second}.000Z"}`;
const subagent = { agentId: "a", toolUseId: "t", type: "x", description: "" };
const names = (lines: ReturnType<typeof inOrder>) =>
  lines.map((next) => JSON.parse(typeof next === "string" ? next : next.line).name);

Deno.test("inOrder() puts subagents' lines between those of the session by their times", () => {
  const own = ['{"name":"header"}', at(1, "call"), '{"name":"note"}', at(4, "result")];
  const theirs = [at(2, "prompt"), '{"name":"blob"}', at(3, "answer")];
  assertEquals(names(inOrder(own, theirs.map((line) => ({ subagent, line })))), [
    "header",
    "call",
    "note",
    "prompt",
    "blob",
    "answer",
    "result",
  ]);
});

Deno.test("inOrder() leaves the lines of one transcript as they are written", () => {
  const own = [at(5, "late"), at(1, "prompt"), at(6, "last")];
  assertEquals(names(inOrder(own, [])), ["late", "prompt", "last"]);
  assertEquals(names(inOrder(own, [{ subagent, line: at(5, "theirs") }])), [
    "late",
    "prompt",
    "theirs",
    "last",
  ]);
});
