import { assertEquals } from "@std/assert";
import { strangerToTurn } from "../../../src/transcript/files/stranger_to_turn.ts";
import {
  answer,
  attached,
  type ConversationLine,
  prompt,
  toolResult,
} from "../conversation_lines.ts";

const interrupt = (text: string): ConversationLine => ({
  ...prompt("i", "a"),
  message: { content: [{ type: "text", text }] },
});

/** What may follow a turn's prompt, with whether it is the turn's own. */
const FOLLOWING: readonly (readonly [string, ConversationLine, boolean])[] = [
  ["an answer", answer("a", { after: "p" }), true],
  ["a result", toolResult("r", "a"), true],
  ["a remark of Claude Code", { type: "system", uuid: "s" }, true],
  ["a listing", attached("skill_listing", { uuid: "l", after: "p" }), true],
  ["an interrupt", interrupt("[Request interrupted by user]"), true],
  ["an interrupted tool", interrupt("[Request interrupted by user for tool use]"), true],
  ["a nudge", { ...prompt("n", "a"), isMeta: true }, true],
  ["another prompt", prompt("q", "a"), false],
  ["a message taken in passing", attached("queued_command", { uuid: "q", after: "a" }), false],
  ["what nobody knows", attached("of_tomorrow", { uuid: "t", after: "a" }), false],
  ["a line of tomorrow", { type: "tomorrow", uuid: "t" }, false],
  ["a summary", { ...prompt("c", "a"), isMeta: true, isCompactSummary: true }, false],
  ["a prompt of the system's", { ...prompt("n", "a"), isMeta: true, promptSource: "x" }, false],
  ["a task's end", { ...prompt("t", "a"), origin: { kind: "task-notification" } }, false],
];

Deno.test("strangerToTurn() finds what is not of a turn", () => {
  for (const [what, line, isOwn] of FOLLOWING) {
    const stranger = strangerToTurn([prompt("p", null), line], "p");
    const named = `the ${line["type"]} line ${line["uuid"]} is among it`;
    assertEquals(stranger, isOwn ? undefined : named, what);
  }
});

Deno.test("strangerToTurn() wants the turn's prompt first, and a person's", () => {
  const furniture = attached("prompt_snapshot", { uuid: "s", after: "a" });
  assertEquals(strangerToTurn([], "p"), undefined);
  assertEquals(strangerToTurn([furniture], "p"), undefined);
  assertEquals(strangerToTurn([furniture, prompt("p", "s")], "p"), undefined);
  const noted = ["stop_hook_summary", "turn_duration"].map((subtype) => ({
    type: "system",
    subtype,
    uuid: subtype,
  }));
  assertEquals(strangerToTurn([...noted, prompt("p", "turn_duration")], "p"), undefined);
  assertEquals(
    strangerToTurn(
      [{ type: "system", subtype: "informational", uuid: "i" }, prompt("p", "i")],
      "p",
    ),
    "the first of it is the system line i",
  );
  assertEquals(strangerToTurn([prompt("p", "s")], "q"), "the first of it is the user line p");
  assertEquals(
    strangerToTurn([answer("a", { after: "p" })], "a"),
    "the first of it is the assistant line a",
  );
  for (const more of [{ isMeta: true }, { isCompactSummary: true }, { origin: { kind: "peer" } }]) {
    assertEquals(
      strangerToTurn([{ ...prompt("p", "s"), ...more }], "p"),
      "the user line p is no prompt of the user's",
    );
  }
});
