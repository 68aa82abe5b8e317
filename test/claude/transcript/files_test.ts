import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { replaceConfigFolder } from "../../../src/claude/transcript/moved_lines.ts";
import {
  type CutTranscript,
  cutTranscript,
  findForeignLine,
} from "../../../src/claude/transcript/cut_transcript.ts";
import { createLineSplitter } from "../../../src/claude/transcript/line_splitter.ts";
import { projectSlug } from "../../../src/claude/transcript/session_files.ts";
import {
  isSameTitle,
  readSessionKind,
  readSessionTitle,
} from "../../../src/claude/transcript/session_description.ts";
import { sortTranscript } from "../../../src/claude/transcript/entry_order.ts";
import { readRecording } from "./recording.ts";

const HOMES = { child: "/tmp/run/.claude", user: "/home/$&/.claude" };

Deno.test("replaceConfigFolder() names the child's files as they will be named", () => {
  const line = (home: string) => ({
    uuid: "u",
    toolUseResult: { persistedOutputPath: `${home}/projects/p/x.txt`, size: 9, none: null },
    message: { content: [{ type: "tool_result", content: `to: ${home}/projects/p/x.txt\n\n1` }] },
  });
  assertEquals(replaceConfigFolder(line(HOMES.child), HOMES), line(HOMES.user));
  const other = {
    cwd: "/tmp/run/.claude/settings.json",
    list: ["/tmp/run/.claudes/projects/", 1, null, { is: true }],
  };
  assert(replaceConfigFolder(other, HOMES) === other);
});

Deno.test("lines are cut alike at every split of the bytes", () => {
  const bytes = new TextEncoder().encode('{"a":"é😀"}\n\n日本\r\n\ufeff{"b":1}\nrest ü');
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second += 5) {
      const splitter = createLineSplitter();
      const lines = [
        bytes.subarray(0, first),
        bytes.subarray(first, second),
        bytes.subarray(second),
      ].flatMap(splitter.push);
      assertEquals(lines, ['{"a":"é😀"}', "", "日本\r", '\ufeff{"b":1}']);
      assertEquals([splitter.remainder(), splitter.pending()], ["rest ü", 7]);
    }
  }
});

Deno.test("a recorded transcript is cut alike in any chunks", () => {
  const { transcript } = readRecording("2.1.330/bash");
  const expected = new TextDecoder().decode(transcript).split("\n").slice(0, -1);
  fc.assert(
    fc.property(fc.array(fc.nat(transcript.length), { maxLength: 50 }), (cuts) => {
      const splitter = createLineSplitter();
      const places = [0, ...cuts.sort((a, b) => a - b), transcript.length];
      const lines = places.flatMap((place, index) =>
        splitter.push(transcript.subarray(places[index - 1] ?? 0, place))
      );
      assertEquals([lines, splitter.remainder()], [expected, ""]);
    }),
    { numRuns: 20 },
  );
});

Deno.test("a line splitter keeps its input and replaces invalid UTF-8", () => {
  const splitter = createLineSplitter();
  const buffer = new TextEncoder().encode("ab");
  splitter.push(buffer);
  buffer.fill(0x58);
  assertEquals(splitter.push(new TextEncoder().encode("c\n")), ["abc"]);
  assertEquals(splitter.push(Uint8Array.of(0x61, 0xff, 0x0a, 0x62, 0x0a)), ["a\ufffd", "b"]);
});

Deno.test("projectSlug() names folders as Claude Code does", () => {
  // The folders that Claude Code 2.1.168 and 2.1.330 made when started in these directories.
  for (
    const [directory, slug] of [
      ["/tmp/slug/a.b_c d", "-tmp-slug-a-b-c-d"],
      ["/tmp/slug/ümläut", "-tmp-slug--ml-ut"],
      ["/tmp/slug/x\ny", "-tmp-slug-x-y"],
      ["/tmp/slug/日本語", "-tmp-slug----"],
      ["/tmp/slug/e😀e", "-tmp-slug-e--e"],
      ["/tmp/slug/nfde\u0301x", "-tmp-slug-nfde-x"],
      [`/tmp/slug/q'uo"te$`, "-tmp-slug-q-uo-te-"],
      ["/tmp/slug/-lead", "-tmp-slug--lead"],
      [
        `/tmp/slug/${"L".repeat(60)}/${"é".repeat(60)}/${"M".repeat(80)}/${"n".repeat(30)}`,
        `-tmp-slug-${"L".repeat(60)}${"-".repeat(62)}${"M".repeat(68)}-s9y6we`,
      ],
      ["/".repeat(200), "-".repeat(200)],
    ] as const
  ) assertEquals(projectSlug(directory), slug);
  const long = projectSlug("/".repeat(201));
  assert(/^-{200}-[a-z0-9]{1,7}$/u.test(long), long);
});

const json = (...lines: readonly object[]) => lines.map((line) => JSON.stringify(line));

Deno.test("readSessionKind() tells conversations from other sessions", () => {
  for (
    const [kind, ...lines] of [
      ["conversation", { type: "user", isSidechain: false, entrypoint: "cli" }],
      ["conversation", { type: "mode" }, { type: "assistant", sessionKind: "" }],
      ["conversation", { type: "user" }, { type: "user", isSidechain: true }],
      ["aside", { type: "user", isSidechain: true }],
      ["aside", { type: "user", teamName: "team" }],
      ["aside", { type: "user", sessionKind: "daemon-worker" }],
      ["background", { type: "user", sessionKind: "bg" }],
      ["wordless", { type: "custom-title", customTitle: "t" }],
    ] as const
  ) assertEquals(readSessionKind(json(...lines)), kind);
  assertEquals(readSessionKind(["", "not json", "[]"]), "wordless");
});

Deno.test("readSessionTitle() prefers the last given title", () => {
  const given = (customTitle: unknown) => ({ type: "custom-title", customTitle });
  const invented = (aiTitle: unknown) => ({ type: "ai-title", aiTitle });
  assertEquals(readSessionTitle(json(given("old"), given("new"), invented("ai"))), "new");
  assertEquals(readSessionTitle(json(invented("one"), invented("two"))), "two");
  const others = json({ type: "user", customTitle: "no" }, given(1));
  assertEquals(readSessionTitle([...others, "", "half"]), undefined);
  assertEquals(readSessionTitle([...json(given("whole")), '{"type":"custom-title","cus']), "whole");
  assertEquals([isSameTitle(" My Title", "my title "), isSameTitle("my", "my title")], [
    ...[true, false],
  ]);
});

type Line = Readonly<Record<string, unknown>>;

const prompt = (uuid: string, parentUuid: string | null, more: Line = {}): Line => ({
  ...{ type: "user", uuid, parentUuid, message: { content: `prompt ${uuid}` } },
  ...more,
});
const answer = (uuid: string, parentUuid: string, id = uuid, type = "text"): Line => ({
  ...{ type: "assistant", uuid, parentUuid },
  message: { id, model: "m", content: [{ type, text: uuid, name: "Bash" }] },
});
const toolResult = (uuid: string, parentUuid: string) =>
  prompt(uuid, parentUuid, { message: { content: [{ type: "tool_result" }] } });
const attached = (type: string, uuid: string, parentUuid: string): Line => ({
  ...{ type: "attachment", uuid, parentUuid, attachment: { type } },
});
const textOf = (lines: readonly Line[]) =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");

/** Two turns, the second with two calls at once, whose first result has no descendants. */
const TURNS: readonly Line[] = [
  prompt("p1", null),
  attached("date", "d1", "p1"),
  answer("a1", "d1"),
  attached("prompt_snapshot", "s1", "a1"),
  { type: "last-prompt", leafUuid: "s1" },
  prompt("p2", "s1"),
  answer("a2", "p2", "m2"),
  answer("c1", "a2", "m2", "tool_use"),
  answer("c2", "c1", "m2", "tool_use"),
  toolResult("r1", "c1"),
  toolResult("r2", "c2"),
  answer("a3", "r2"),
  { type: "last-prompt", leafUuid: "a3" },
  { type: "custom-title", customTitle: "A title" },
];
const TITLE = TURNS.slice(-1);

const cut = (upTo: string, dropsTurn?: string, lines = TURNS): CutTranscript =>
  cutTranscript(textOf(lines), { upTo, dropsTurn });
const kept = (...lines: readonly Line[]): CutTranscript => ({ kind: "cut", text: textOf(lines) });
const refused = (by: "message" | "turn", reason: string): CutTranscript => ({
  kind: "refused",
  by,
  reason,
});
const ABSENT: CutTranscript = { kind: "absent" };

Deno.test("cutTranscript() keeps a message and all before it", () => {
  assertEquals(cut("a1"), kept(...TURNS.slice(0, 3), ...TITLE));
  assertEquals(cut("s1"), kept(...TURNS.slice(0, 5), ...TITLE));
  assertEquals(cut("a2"), kept(...TURNS.slice(0, 7), ...TITLE));
  assertEquals(cut("a3"), kept(...TURNS));
  // Its ancestors may be written later.
  const [first = {}, date = {}, answered = {}, ...others] = TURNS;
  const late = [date, answered, first, ...others];
  assertEquals(cut("a1", undefined, late), kept(date, first, answered, ...TITLE));
});

Deno.test("cutTranscript() refuses a message that ends no answer", () => {
  for (const message of ["p1", "d1", "p2", "c1", "c2", "r1", "r2"]) {
    const reason = `the message "${message}" is not the end of an answer, ` +
      "and the interactive Claude Code adds to what ends elsewhere";
    assertEquals(cut(message), refused("message", reason));
  }
});

Deno.test("cutTranscript() knows the messages of the last branch", () => {
  const branched = [...TURNS, prompt("p3", "a1"), answer("a4", "p3")];
  const boundary = { type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null };
  const compacted = [...TURNS, boundary, prompt("p4", "b"), answer("a5", "p4")];
  const aside = { ...answer("x", "a3"), isSidechain: true };
  assertEquals(cut("nobody"), ABSENT);
  assertEquals(cut("a3", undefined, branched), ABSENT);
  assertEquals(cut("a1", undefined, branched), kept(...TURNS.slice(0, 3), ...TITLE));
  assertEquals(cut("a1", undefined, compacted), ABSENT);
  assertEquals(cut("x", undefined, [...TURNS, aside]), ABSENT);
  assertEquals(cut("q", undefined, [prompt("p", "q"), answer("q", "p")]).kind, "cut", "a circle");
  const odd = `not json\n[]\n${textOf(TURNS)}{"half`;
  assertEquals(cutTranscript(odd, { upTo: "a1", dropsTurn: undefined }).kind, "cut");
  assertEquals(cut("a1", undefined, []), ABSENT);
});

Deno.test("cutTranscript() drops one named turn at most", () => {
  assertEquals(cut("a1", "p2"), cut("a1"));
  assertEquals(cut("a3", "p2"), cut("a3"), "nothing is dropped");
  const more = (turn: string, why: string) =>
    refused("turn", `more than the turn "${turn}" would be left out: ${why}`);
  assertEquals(cut("a1", "p1"), more("p1", "the first of it is the user line p2"));
  const lines = [...TURNS, prompt("p3", "a3"), answer("a4", "p3")];
  assertEquals(cut("a1", "p2", lines), more("p2", "the user line p3 is among it"));
});

Deno.test("findForeignLine() finds lines that are not the turn's", () => {
  const interrupt = (text: string) =>
    prompt("i", "a", { message: { content: [{ type: "text", text }] } });
  const furniture = "agent_listing_delta command_permissions credential_org date date_change " +
    "deferred_tools_delta edited_text_file environment file hook_additional_context " +
    "hook_blocking_error hook_non_blocking_error hook_permission_decision hook_success " +
    "mcp_instructions_delta model nested_memory plan_mode prompt_snapshot remote_session_change " +
    "session_context skill_listing task_reminder todo_reminder";
  const own = [
    answer("a", "p"),
    toolResult("r", "a"),
    { type: "system", uuid: "s" },
    interrupt("[Request interrupted by user]"),
    interrupt("[Request interrupted by user for tool use]"),
    prompt("i", "a", { message: { content: "[Request interrupted by user]" } }),
    ...furniture.split(" ").map((type) => attached(type, "l", "p")),
    prompt("n", "a", { isMeta: true }),
  ];
  const strange: readonly Line[] = [
    prompt("q", "a"),
    interrupt("Look"),
    attached("queued_command", "q", "a"),
    attached("of_tomorrow", "t", "a"),
    { type: "tomorrow", uuid: "t" },
    prompt("c", "a", { isMeta: true, isCompactSummary: true }),
    prompt("n", "a", { isMeta: true, promptSource: "x" }),
    prompt("t", "a", { origin: { kind: "task-notification" } }),
  ];
  for (const line of own) assertEquals(findForeignLine([prompt("p", null), line], "p"), undefined);
  for (const line of strange) {
    const named = `the ${line["type"]} line ${line["uuid"]} is among it`;
    assertEquals(findForeignLine([prompt("p", null), line], "p"), named);
  }
});

Deno.test("findForeignLine() wants a person's prompt first", () => {
  const snapshot = attached("prompt_snapshot", "s", "a");
  const noted = (subtype: string) => ({ type: "system", subtype, uuid: subtype });
  const ends = [noted("stop_hook_summary"), noted("turn_duration")];
  const own = [[], [snapshot], [snapshot, prompt("p", "s")], [...ends, prompt("p", "s")]];
  for (const lines of own) assertEquals(findForeignLine(lines, "p"), undefined);
  const first = "the first of it is the";
  for (
    const [lines, turn, reason] of [
      [[noted("informational"), prompt("p", "i")], "p", `${first} system line informational`],
      [[prompt("p", "s")], "q", `${first} user line p`],
      [[answer("a", "p")], "a", `${first} assistant line a`],
      ...[{ isMeta: true }, { isCompactSummary: true }, { origin: { kind: "peer" } }].map((more) =>
        [[prompt("p", "s", more)], "p", "the user line p is no prompt of the user's"] as const
      ),
    ] as const
  ) assertEquals(findForeignLine(lines, turn), reason);
});

Deno.test("sortTranscript() puts lines after their parents", () => {
  const lines = [prompt("p", null), answer("a", "p"), answer("b", "a")];
  const [first = {}, second = {}, third = {}] = lines;
  assertEquals(sortTranscript(textOf(lines)), undefined, "they are in order");
  for (const late of [[second, third, first], [third, second, first], [third, first, second]]) {
    assertEquals(sortTranscript(textOf(late)), textOf(lines));
  }
  const circle = [answer("x", "y"), answer("y", "x")];
  assertEquals(sortTranscript(textOf(circle)), textOf(circle));
  assertEquals(sortTranscript(""), undefined);
});
