import { assertEquals } from "@std/assert";
import type { Entry } from "../../src/transcript/entry.ts";
import { inOrder } from "../../src/frames/lines.ts";

const entry = (name: string, more: object = {}): Entry => ({
  type: "other",
  line: { name, ...more },
});
const at = (second: number, name: string) =>
  entry(name, { timestamp: `2026-01-01T00:00:0${second}.000Z` });
const subagent = { agentId: "a", toolUseId: "t", type: "x", description: "" };
const names = (lines: ReturnType<typeof inOrder>) =>
  lines.map(({ entry }) => entry.type === "other" ? entry.line.name : undefined);

Deno.test("inOrder() puts subagents' lines between those of the session by their times", () => {
  const own = [entry("header"), at(1, "call"), entry("note"), at(4, "result")];
  const theirs = [at(2, "prompt"), entry("blob"), at(3, "answer")];
  assertEquals(names(inOrder(own, theirs.map((entry) => ({ subagent, entry })))), [
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
  assertEquals(names(inOrder(own, [{ subagent, entry: at(5, "theirs") }])), [
    "late",
    "prompt",
    "theirs",
    "last",
  ]);
});
