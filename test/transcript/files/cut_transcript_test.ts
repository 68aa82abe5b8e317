import { assertEquals } from "@std/assert";
import { type CutTranscript, cutTranscript } from "../../../src/transcript/files/cut_transcript.ts";
import {
  answer,
  attached,
  type ConversationLine,
  prompt,
  toolResult,
  transcriptOf,
} from "../conversation_lines.ts";

const CALL = { type: "tool_use", name: "Bash" };

/** Two turns, the second with two calls at once, whose first result is in nobody's line of descent. */
const TURNS: readonly ConversationLine[] = [
  prompt("p1", null),
  attached("date", { uuid: "d1", after: "p1" }),
  answer("a1", { after: "d1" }),
  attached("prompt_snapshot", { uuid: "s1", after: "a1" }),
  { type: "last-prompt", leafUuid: "s1" },
  prompt("p2", "s1"),
  answer("a2", { after: "p2", id: "m2" }),
  answer("c1", { after: "a2", id: "m2", block: CALL }),
  answer("c2", { after: "c1", id: "m2", block: CALL }),
  toolResult("r1", "c1"),
  toolResult("r2", "c2"),
  answer("a3", { after: "r2" }),
  { type: "last-prompt", leafUuid: "a3" },
  { type: "custom-title", customTitle: "A title" },
];

const TITLE = TURNS.slice(-1);

function cut(
  upTo: string,
  { lines = TURNS, dropsTurn }: {
    readonly lines?: readonly ConversationLine[];
    readonly dropsTurn?: string;
  } = {},
) {
  return cutTranscript(transcriptOf(lines), { upTo, dropsTurn });
}

const kept = (lines: readonly ConversationLine[]): CutTranscript => ({
  kind: "cut",
  text: transcriptOf(lines),
});

const ELSEWHERE = (message: string): CutTranscript => ({
  kind: "refused",
  by: "message",
  reason:
    `the message "${message}" is not the end of an answer, and the interactive Claude Code adds to what ends elsewhere`,
});

const MISSING: CutTranscript = { kind: "absent" };

Deno.test("cutTranscript() keeps all up to the message, and what is said of the whole session", () => {
  assertEquals(cut("a1"), kept([...TURNS.slice(0, 3), ...TITLE]));
  assertEquals(cut("s1"), kept([...TURNS.slice(0, 4), TURNS[4] ?? {}, ...TITLE]));
  assertEquals(cut("a2"), kept([...TURNS.slice(0, 7), ...TITLE]));
  assertEquals(cut("a3"), kept(TURNS));
});

Deno.test("cutTranscript() keeps what a message descends from, though it was written later", () => {
  const [first, date, answered, ...others] = TURNS;
  const late = [date, answered, first, ...others] as readonly ConversationLine[];
  assertEquals(
    cut("a1", { lines: late }),
    kept([date, first, answered, ...TITLE] as readonly ConversationLine[]),
  );
});

Deno.test("cutTranscript() refuses a message with which no answer ends", () => {
  for (const message of ["p1", "d1", "p2", "c1", "c2", "r1", "r2"]) {
    assertEquals(cut(message), ELSEWHERE(message), message);
  }
});

Deno.test("cutTranscript() knows the messages of the last branch alone", () => {
  assertEquals(cut("nobody"), MISSING);
  const branched = [...TURNS, prompt("p3", "a1"), answer("a4", { after: "p3" })];
  assertEquals(cut("a3", { lines: branched }), MISSING);
  assertEquals(cut("a1", { lines: branched }), kept([...TURNS.slice(0, 3), ...TITLE]));
  const compacted = [
    ...TURNS,
    { type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null },
    prompt("p4", "b"),
    answer("a5", { after: "p4" }),
  ];
  assertEquals(cut("a1", { lines: compacted }), MISSING);
  const aside = { ...answer("x", { after: "a3" }), isSidechain: true };
  assertEquals(cut("x", { lines: [...TURNS, aside] }), MISSING);
  // A circle that somebody made ends.
  assertEquals(cut("q", { lines: [prompt("p", "q"), answer("q", { after: "p" })] }).kind, "cut");
});

Deno.test("cutTranscript() takes lines that are none for nothing", () => {
  const text = `not json\n[]\n${transcriptOf(TURNS)}{"half`;
  const { kind } = cutTranscript(text, { upTo: "a1", dropsTurn: undefined });
  assertEquals(kind, "cut");
  assertEquals(cutTranscript("", { upTo: "a1", dropsTurn: undefined }), MISSING);
});

Deno.test("cutTranscript() drops no more than a turn where one is named", () => {
  assertEquals(cut("a1", { dropsTurn: "p2" }), cut("a1"));
  assertEquals(cut("a3", { dropsTurn: "p2" }), cut("a3"), "nothing is dropped");
  assertEquals(cut("a1", { dropsTurn: "p1" }), {
    kind: "refused",
    by: "turn",
    reason: 'more than the turn "p1" would be left out: the first of it is the user line p2',
  });
  const lines = [...TURNS, prompt("p3", "a3"), answer("a4", { after: "p3" })];
  assertEquals(cut("a1", { lines, dropsTurn: "p2" }), {
    kind: "refused",
    by: "turn",
    reason: 'more than the turn "p2" would be left out: the user line p3 is among it',
  });
});
