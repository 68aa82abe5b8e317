import { assertEquals } from "@std/assert";
import type { ResultFrame } from "../../../src/claude/wire/result_frame.ts";
import { runNotes } from "../../../src/cli/watch/run_notes.ts";

const RESULT: ResultFrame = {
  type: "result",
  subtype: "success",
  is_error: false,
  num_turns: 2,
  session_id: "c0ffee",
  result: "Done",
  total_cost_usd: 0.0602,
  claude_version: "2.1.332",
};
const FACTS = { elapsedMs: 3210, cwd: "/home/user/project", isKept: true };
const NEXT = "continue with --resume c0ffee";

function denied(name: string, input: object) {
  return { tool_name: name, tool_use_id: "t", tool_input: input };
}

const rows: readonly (readonly [
  what: string,
  results: readonly ResultFrame[],
  expected: string,
  facts?: Partial<typeof FACTS>,
])[] = [
  ["time, cost, turns and session", [RESULT], `3.2 s, $0.0602, 2 turns; ${NEXT}`],
  ["a long run", [RESULT], `1 min 05 s, $0.0602, 2 turns; ${NEXT}`, { elapsedMs: 65_000 }],
  [
    "turns of background tasks",
    [RESULT, { ...RESULT, num_turns: 1, result: "Later", total_cost_usd: 1.5 }],
    `3.2 s, $1.50, 3 turns; ${NEXT}`,
  ],
  [
    "a wait that was cut short",
    [RESULT, { ...RESULT, subtype: "timeout" }],
    `3.2 s, $0.0602, 2 turns; ${NEXT}`,
  ],
  [
    "a session that is not kept",
    [{ ...RESULT, num_turns: 1, total_cost_usd: 0 }],
    "3.2 s, $0, 1 turn; session c0ffee",
    { isKept: false },
  ],
];

for (const [what, results, expected, facts] of rows) {
  Deno.test(`the closing line of ${what}`, () => {
    assertEquals(runNotes({ ...FACTS, ...facts, results }), `claude-print: ${expected}\n`);
  });
}

Deno.test("without a turn there is no closing line", () => {
  assertEquals(runNotes({ ...FACTS, results: [] }), "");
  assertEquals(runNotes({ ...FACTS, results: [{ ...RESULT, num_turns: 0 }] }), "");
});

Deno.test("denied calls are listed with the flag that allows them", () => {
  const { total_cost_usd: _, ...costless } = RESULT;
  const calls = [
    denied("Bash", { command: `touch a\n${"b".repeat(80)}` }),
    denied("Write", { file_path: "/home/user/project/a.txt" }),
    ...Array.from({ length: 4 }, () => denied("Bash", { command: "ls" })),
  ];
  const lines = (permission_denials: readonly ReturnType<typeof denied>[]) =>
    runNotes({ ...FACTS, results: [{ ...costless, permission_denials }] }).split("\n");
  assertEquals(lines(calls), [
    "claude-print: 6 tool calls were denied",
    `  Bash touch a ${"b".repeat(62)}…`,
    "  Write a.txt",
    ...Array.from({ length: 3 }, () => "  Bash ls"),
    "  and 1 more",
    "  To allow them: --allowedTools=Bash,Write (deny rules and hooks still count)",
    `claude-print: 3.2 s, 2 turns; ${NEXT}`,
    "",
  ]);
  assertEquals(lines(calls.slice(1, 2))[0], "claude-print: 1 tool call was denied");
});
