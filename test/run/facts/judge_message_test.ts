import { assert, assertEquals } from "@std/assert";
import type { EarlierOutput } from "../../../src/conversation/output/output_options.ts";
import { gatePrompt, LONGEST_SOCKET_PROMPT } from "../../../src/run/facts/gate_prompt.ts";
import { createMessageJudge } from "../../../src/run/facts/judge_message.ts";
import { tracesSpans } from "../../../src/run/plan/api_variables.ts";
import type { RunOrder } from "../../../src/run/plan/run_order.ts";
import { contextIn } from "../../../src/conversation/control/message.ts";
import { messageLine } from "../../../src/claude/wire/caller_line.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

const FACTS = {
  version: "2.1.332",
  projectRoot: "/none",
  userConfig: { dir: "/none", claudeJson: "/none.json", loginDir: "/none" },
  settings: [],
  mcpServers: 0,
  watchesPrompts: false,
};

/** A line of the session with the id "a". */
const LINE_A = '{"type":"system","uuid":"a"}';

const judgeOf = (facts: Partial<Parameters<typeof createMessageJudge>[1]> = {}, order = {}) =>
  createMessageJudge({ ...PLAIN_ORDER, ...order }, { ...FACTS, ...facts });

type Judge = ReturnType<typeof judgeOf>;
type Line = Parameters<Judge>[0];

const user = (text: string, more: Partial<Line> = {}): Line => ({
  type: "user",
  text,
  content: text,
  ...more,
});

/** A message of several texts. */
const blocks = (...texts: readonly string[]) =>
  messageLine(texts.map((text) => ({ type: "text", text })), { ticket: "t" });

/** How a message reaches the child, and its command; or the answer that it gets instead. */
function wayOf(judge: Judge, line: Line): string {
  const message = judge(line);
  if (message.way !== undefined) return [message.way, message.command ?? ""].join(" ").trim();
  const { settled } = message;
  return "text" in settled ? settled.text : "message" in settled ? settled.message : settled.kind;
}

const BLANK = "Blank prompt — the message was only whitespace, so nothing was sent to the model.";
const TYPED =
  "Cannot type the command /init: the control character U+0009 at offset 7 would be taken as a key";

Deno.test("text goes to the socket, commands elsewhere", () => {
  const texts = [
    "hello",
    "  indented",
    "# not a comment",
    "@file",
    "tab\there ",
    "back\\",
    "x\r\ny",
  ];
  for (const version of ["2.1.285", "2.1.332"]) {
    for (const text of [...texts, "exit", "x".repeat(500_000)]) {
      assertEquals(wayOf(judgeOf({ version }), user(text)), "rendezvous");
    }
  }
  const rows = [
    ...["!ls", "/frob x", "/ hi"].map((text) => [text, "rendezvous"] as const),
    ...[" ", "\u00a0\n"].map((text) => [text, BLANK] as const),
    // The socket takes a command for text.
    ["/init", "paste /init"],
    ["/init a\tb", TYPED],
    // A headless helper answers these.
    ...["/login", "/context", "/cost"].map((text) => [text, "asked"] as const),
  ] as const;
  for (const [text, way] of rows) assertEquals(wayOf(judgeOf(), user(text)), way);
  const line = user(" ", { content: [{ type: "text", text: " " }] });
  assertEquals(wayOf(judgeOf(), line), "rendezvous");
});

Deno.test("a literal message holds no command and no mention", () => {
  for (const text of ["/cost", "!ls", "me@example.com", "exit"]) {
    const { way, unread } = judgeOf()(user(text, { literal: true }));
    assertEquals([way, unread], ["rendezvous", undefined], text);
  }
  for (const text of ["@/etc/passwd", "x\n@a", '(@"a b"', "\u3042@a"]) {
    const { way, unread } = judgeOf()(user(text, { literal: true }));
    assertEquals([way, unread], ["rendezvous", true], text);
  }
});

Deno.test("the model learns that a message is not the user's", () => {
  const note = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n";
  const rows = [
    ...["hello", "!ls", "/frob x", " "].map((text) => [text, "rendezvous", note + text] as const),
    // Only a user's mention has a file read.
    ["@a", "rendezvous", `${note}@a`, true],
    ["/cost", undefined, "/cost"],
  ] as const;
  for (const [text, way, sent, unread] of rows) {
    const message = judgeOf()(user(text, { synthetic: true }));
    assertEquals([message.way, message.text, message.synthetic, message.unread], [
      ...[way, sent, true, unread],
    ]);
  }
  const image = { type: "image", source: { type: "base64", data: "iVBORw0KGgo=" } };
  assertEquals(
    wayOf(judgeOf(), user("hello", { content: [image], images: true, synthetic: true })),
    "Cannot send the message with its images: it is not the user's",
  );
});

Deno.test("malformed and unsupported content are distinguished", () => {
  const judged = [5, [{ type: "text" }], [{ type: "document" }]].map((content) => {
    const message = judgeOf()(messageLine(content, { ticket: "t" }));
    return message.way === undefined && message.settled.kind === "refused" &&
      message.settled.malformed === true;
  });
  assertEquals(judged, [true, true, false]);
});

Deno.test("only the last block may be a command", () => {
  const judged = (line: Line, version: string) => {
    const message = judgeOf({ version })(line);
    const context = message.hasContext ? contextIn(message.content) : [];
    const way = message.way === undefined
      ? message.settled.kind
      : `${message.way} ${message.command ?? ""}`.trim();
    return [way, message.text, ...context];
  };
  assertEquals(judged(blocks("foo", "bar"), "2.1.285"), ["rendezvous", "foo\nbar"]);
  const rows = [
    [["/clear", "and more"], ["rendezvous", "/clear\nand more"]],
    [["foo", "bar"], ["rendezvous", "foo\nbar"]],
    [["foo", "/nosuch x"], ["rendezvous", "foo\n/nosuch x"]],
    [["foo", "/context"], ["asked", "/context", "foo"]],
    [["foo", "/clear"], ["asked", "/clear"]],
    [["", " ", "/init"], ["paste /init", "/init"]],
    [["foo", "!", "/init x"], ["paste /init", "/init x", "foo", "!"]],
  ] as const;
  for (const [texts, expected] of rows) {
    assertEquals(judged(blocks(...texts), "2.1.332"), [...expected]);
  }
  const refusals:
    readonly (readonly [Partial<typeof FACTS>, Partial<RunOrder>, Partial<Line>, string])[] = [
      [
        ...[{}, { persistSession: false }, {}] as const,
        "the session is not kept, which another Claude Code would resume",
      ],
      [
        ...[{}, { forkSession: true }, {}] as const,
        "the session is a fork, which has no transcript before its first message",
      ],
      [{ watchesPrompts: true }, {}, {}, "a hook for UserPromptSubmit would not see that"],
      [{}, {}, { synthetic: true }, "the message is not the user's"],
    ];
  for (const [facts, order, more, why] of refusals) {
    assertEquals(
      wayOf(judgeOf(facts, order), { ...blocks("foo", "/init"), ...more }),
      `Cannot send the message: other text stands before the command /init, and ${why}`,
    );
  }
});

Deno.test("a message too long for the socket goes to stdin", () => {
  const long = "x\n".repeat(500_000);
  assertEquals(wayOf(judgeOf(), user(long)), "stdin");
  assertEquals(wayOf(judgeOf(), user("x".repeat(1_000_000))), "rendezvous");
  for (const altered of [`\u200b${long.slice(2)} `, `!${long.slice(1)}`]) {
    assertEquals(wayOf(judgeOf(), user(altered)).slice(0, 23), "Cannot send the message");
  }
  assertEquals(judgeOf({}, { persistSession: false })(user(long)).way, undefined);
});

Deno.test("an id is accepted once", () => {
  const before: EarlierOutput = { results: 1, totalUsd: 0, apiDurationMs: 0 };
  const ids = ["a", "b", "a", undefined, undefined, "", ""];
  const rest = [undefined, undefined, undefined, undefined];
  const rows = [
    [{}, {}, [undefined, undefined, true, ...rest], undefined],
    // The session has an "a".
    [{ transcript: LINE_A }, {}, ["before", undefined, "before", ...rest], undefined],
    // An earlier child of this conversation wrote it.
    [{ transcript: LINE_A }, { before }, [true, undefined, true, ...rest], undefined],
    // A fork keeps the line of its session under another id.
    [{ transcript: LINE_A }, { forkSession: true }, [undefined, undefined, true, ...rest], true],
  ] as const;
  for (const [facts, order, repeated, namesake] of rows) {
    const judge = judgeOf(facts, order);
    const judged = ids.map((uuid) => judge(user("x", uuid === undefined ? {} : { uuid })));
    assertEquals(judged.map((message) => message.repeated), [...repeated]);
    assertEquals(judged[0]?.namesake, namesake);
  }
  // A caller that waits for a result gets one.
  const awaited = judgeOf({ transcript: LINE_A })(messageLine("x", { uuid: "a", ticket: "t" }));
  assert(awaited.way === undefined && awaited.settled.kind === "refused");
  assertEquals(awaited.repeated, undefined);
});

Deno.test("a refused initialization refuses every message", () => {
  const refusal = 'claude-print cannot honour "toolAliases": so it is';
  for (const text of ["hello", "/cost", " ", "/init"]) {
    const message = judgeOf({ refusal })(user(text));
    assertEquals(message.way === undefined && message.settled, {
      kind: "refused",
      message: `Cannot send the message: ${refusal}`,
      suggestion: "Leave it out of the options, or of the initialize request, and begin again",
    }, text);
  }
});

Deno.test("spans are traced with telemetry and its beta", () => {
  const telemetry = { CLAUDE_CODE_ENABLE_TELEMETRY: "1" };
  const beta = { CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "true" };
  const off = { CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "0" };
  const rows = [
    [telemetry, {}, false],
    [beta, {}, false],
    [{ ...telemetry, ...beta }, {}, true],
    [{ ...telemetry, ENABLE_ENHANCED_TELEMETRY_BETA: "1" }, {}, true],
    [telemetry, beta, true],
    [{ ...telemetry, ...beta }, off, false],
  ] as const;
  for (const [env, set, isTraced] of rows) {
    assertEquals(tracesSpans({ env, settings: [{ env: set }] }), isTraced);
  }
});

Deno.test("a traced prompt goes to the socket if it can", () => {
  const verbatim = (prompt: string, { isTraced = true } = {}) =>
    gatePrompt({ ...PLAIN_ORDER, prompt, isTraced }, {
      version: "2.1.332",
      projectRoot: "/nonexistent",
      configDir: "/nonexistent",
      settings: [],
      mcpServers: 0,
    }).verbatim;
  const prompts = ["hello", "/init", "x".repeat(LONGEST_SOCKET_PROMPT)];
  assertEquals(prompts.map((prompt) => verbatim(prompt)), [true, false, false]);
  assertEquals(verbatim("hello", { isTraced: false }), false);
});
