import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  readReplyScript,
  ReplyScriptError,
  scriptPosition,
} from "../../../src/recording/learn/reply_script.ts";

const text = (text: string) => ({ kind: "text", text });
const tool = (name: string, input: object = {}) => ({ kind: "tool", name, input });
const bash = (command: string) => tool("Bash", { command, description: "Run a command" });
const error = (status: number, more = {}) => ({ kind: "error", status, flavour: "plain", ...more });

const agentPrompt = "[[bash ls]] [[say found]]";

const SCRIPTS: Readonly<Record<string, unknown>> = {
  "What is [[1, 2]] in [[2]] and [[Name]]?": [],
  // A tool call ends a reply.
  "[[say Look]] [[bash ls]] then [[say Done]]": [[text("Look"), bash("ls")], [text("Done")]],
  '[[tool Read {"file_path":"a"}]] [[also tool Glob]]': [
    [tool("Read", { file_path: "a" }), tool("Glob")],
  ],
  // Brackets of a command or of JSON.
  '[[bash [[ -f x ]] && echo "${a[0]}"]] [[bash echo a[0]]] [[tool T {"m":[[1],[[2]],"]]"]}]]': [
    [bash('[[ -f x ]] && echo "${a[0]}"')],
    [bash("echo a[0]")],
    [tool("T", { m: [[1], [[2]], "]]"] })],
  ],
  [`[[tool Agent ${JSON.stringify({ prompt: agentPrompt })}]]`]: [
    [tool("Agent", { prompt: agentPrompt })],
  ],
  "[[error 529]]": [[error(529)]],
  "[[error 429 x2 no-retry]]": [[error(429, { flavour: "no-retry", times: 2 })]],
  "[[error 400 credit]]": [[error(400, { flavour: "credit" })]],
  "[[error 400 x1 Bad\\nluck]]": [[error(400, { message: "Bad\nluck", times: 1 })]],
  "say [[wait 1]] it again [[echo]]\n": [
    [{ kind: "wait", milliseconds: 1 }, text("say  it again")],
  ],
  "[[lines 3]]": [[text("line 1\nline 2\nline 3")]],
};

Deno.test("directives of a prompt script the replies", () => {
  for (const [prompt, replies] of Object.entries(SCRIPTS)) {
    assertEquals<unknown>(readReplyScript(prompt), replies, prompt);
  }
  const [[step] = []] = readReplyScript("[[kilobytes 2]]");
  assertEquals(step?.kind === "text" && step.text.length, 2048);
});

Deno.test("a mistake in a script is an error", () => {
  const mistakes = [
    ...["[[sya hi]]", "[[wait long]]", "[[stop later]]", "[[error]]", "[[tool]]", "[[tool X {]]"],
    ...["[[tool X []]]", "[[hang twice]]", "[[also bash ls]]"],
    "[[bash ls]] [[say x]] [[also bash ls]]",
  ];
  for (const mistake of mistakes) {
    assertThrows(() => readReplyScript(mistake), ReplyScriptError, undefined, mistake);
  }
});

Deno.test("[[say]] gives back any escaped text", () => {
  const escape = (text: string) =>
    text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (words) => {
      fc.pre(!/[[\]]/.test(words));
      assertEquals<unknown>(readReplyScript(`[[say ${escape(words)}]]`), [[text(words)]]);
    }),
    { numRuns: 50 },
  );
});

const ANSWER = { role: "assistant", content: [{ type: "text", text: "…" }] };
const REMINDER = { type: "text", text: "<system-reminder>\nToday is a day.\n</system-reminder>\n" };
const RESULT = { role: "user", content: [{ type: "tool_result", content: "ok" }, REMINDER] };

function user(...texts: readonly string[]) {
  return { role: "user", content: texts.map((text) => ({ type: "text", text })) };
}

type Message = Parameters<typeof scriptPosition>[0][number];

Deno.test("a position is the last prompt and the answers since", () => {
  const limit = "Output token limit hit. Resume directly";
  const empty = "[Your previous response had no visible output. Please continue]";
  const notified = "<task-notification>x";
  const rows: readonly (readonly [readonly Message[], string, number])[] = [
    [[], "", 0],
    [[ANSWER], "", 1],
    // Additions of Claude Code do not count.
    [
      [
        { role: "user", content: [REMINDER, { type: "text", text: "Hi <b>\n there" }] },
        { role: "system", content: "Available agent types" },
      ],
      "Hi <b>\n there",
      0,
    ],
    [[user("one"), ANSWER, user("two"), ANSWER, RESULT, ANSWER, RESULT], "two", 2],
    [[user("one", "two")], "one\ntwo", 0],
    // Claude Code continues by itself.
    [[user("write"), ANSWER, user(limit)], "write", 1],
    [[user("write"), ANSWER, user(limit), ANSWER, user(notified)], "write", 2],
    // It leaves out empty answers.
    ...[empty, `<system-reminder>\n${empty}\n</system-reminder>`].map((nudge) =>
      [[user("write", nudge)], "write", 1] as const
    ),
    [[user("one", "[Request interrupted by user]", "two")], "two", 0],
  ];
  for (const [messages, prompt, round] of rows) {
    assertEquals(scriptPosition([...messages]), { prompt, round });
  }
});
