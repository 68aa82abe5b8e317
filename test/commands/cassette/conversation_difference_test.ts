import { assertEquals } from "@std/assert";
import { conversationDifference } from "../../../src/commands/cassette/conversation_difference.ts";

const NAMES = ["one", "other"] as const;
const MODELS = [["a"], ["a"]] as const;

Deno.test("conversationDifference() says where two conversations part", () => {
  const said = conversationDifference({
    common: { turns: 1, steps: 3 },
    turns: [2, 3],
    models: MODELS,
    parting: {
      turn: 2,
      one: { kind: "call", tool: "Bash", input: { command: "ls" } },
      other: { kind: "call", tool: "Bash", input: { command: "\x1b[2J" } },
      difference: { pointer: "/input/command", one: '"ls"', other: '"\x1b[2J"' },
    },
  }, NAMES);
  assertEquals(said.split("\n"), [
    "The conversations are the same for 1 turn and 3 steps, and part in turn 2, at a call of a tool (/input/command):",
    '  one: "ls"',
    '  other: "<U+001B>[2J"',
    "Turns in all: 2 and 3",
  ]);
});

Deno.test("conversationDifference() says what either goes on with, or that it is over", () => {
  const said = conversationDifference({
    common: { turns: 0, steps: 1 },
    turns: [1, 1],
    models: [["a"], []],
    parting: { turn: 1, one: { kind: "answer", text: "x".repeat(1000) } },
  }, NAMES);
  assertEquals(said.split("\n"), [
    "The conversations are the same for 0 turns and 1 step, and part in turn 1:",
    `  one: an answer, {"text":"${"x".repeat(191)}…`,
    "  other: is over",
    "Turns in all: 1 and 1",
    "Their models, which do not count:",
    "  one: a",
    "  other: none",
  ]);
});

Deno.test("conversationDifference() says that there is none", () => {
  const same = { common: { turns: 2, steps: 4 }, turns: [2, 2], models: MODELS } as const;
  assertEquals(
    conversationDifference(same, NAMES),
    "Both conversations are the same, for 2 turns and 4 steps",
  );
});
