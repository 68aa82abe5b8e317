import { assert, assertEquals } from "@std/assert";
import { messageJudge } from "../../../../src/run/facts/prompt/message_judge.ts";
import { messageLine } from "../../../../src/wire/caller_line.ts";
import { contextIn, type SettledMessage } from "../../../../src/session/message.ts";
import type { ToldBefore } from "../../../../src/frames/telling/frames_options.ts";
import { PLAIN_ORDER } from "../../plain_order.ts";

const FACTS = {
  projectRoot: "/none",
  userConfig: { dir: "/none", claudeJson: "/none.json", loginDir: "/none" },
  settings: [],
  mcpServers: 0,
  watchesPrompts: false,
};

/** How texts reach a child of a version, in words. */
function ways(version: string, texts: readonly string[]): readonly string[] {
  const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version });
  return texts.map((text) => {
    const message = judge({ type: "user", text, content: text });
    if (message.way !== undefined) {
      return message.command === undefined ? message.way : `${message.way} ${message.command}`;
    }
    const { settled } = message;
    return "text" in settled ? settled.text : "message" in settled ? settled.message : settled.kind;
  });
}

const PLAIN = ["hello", "  indented", "# not a comment", "@file", "tab\there ", "back\\", "x\r\ny"];

Deno.test("a message goes to the socket as it is", () => {
  for (const version of ["2.1.285", "2.1.332"]) {
    assertEquals(ways(version, PLAIN), PLAIN.map(() => "rendezvous"), version);
    assertEquals(ways(version, ["exit", "x".repeat(500_000)]), ["rendezvous", "rendezvous"]);
  }
});

Deno.test("what looks like a shell command is text", () => {
  assertEquals(ways("2.1.332", ["!ls", "/frob x", "/ hi"]), [
    "rendezvous",
    "rendezvous",
    "rendezvous",
  ]);
});

Deno.test("a message that is to be taken as it is holds no command, and files that it mentions are not to be read", () => {
  const judged = (version: string, text: string) => {
    const message = messageJudge(PLAIN_ORDER, { ...FACTS, version })({
      type: "user",
      text,
      content: text,
      literal: true,
    });
    return [message.way, message.unread];
  };
  for (const text of ["/cost", "!ls", "me@example.com", "exit"]) {
    assertEquals(judged("2.1.332", text), ["rendezvous", undefined], text);
  }
  for (const text of ["@/etc/passwd", "x\n@a", '(@"a b"', "\u3042@a"]) {
    assertEquals(judged("2.1.332", text), ["rendezvous", true], text);
  }
});

Deno.test("the model is told of a message that is not the user's", () => {
  const judged = (version: string, text: string) => {
    const message = messageJudge(PLAIN_ORDER, { ...FACTS, version })({
      type: "user",
      text,
      content: text,
      synthetic: true,
    });
    return [message.way, message.text, message.synthetic, message.unread];
  };
  const told = (text: string) => `[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n${text}`;
  for (const text of ["hello", "!ls", "/frob x", " "]) {
    assertEquals(judged("2.1.332", text), ["rendezvous", told(text), true, undefined], text);
  }
  // No file is read because somebody else than the user has mentioned it.
  assertEquals(judged("2.1.332", "@a"), ["rendezvous", told("@a"), true, true]);
  // A command is carried out, by what follows its name.
  assertEquals(judged("2.1.332", "/cost"), [undefined, "/cost", true, undefined]);
  const image = { type: "image", source: { type: "base64", data: "iVBORw0KGgo=" } };
  const beside = messageJudge(PLAIN_ORDER, { ...FACTS, version: "2.1.332" })({
    type: "user",
    text: "hello",
    content: [image],
    images: true,
    synthetic: true,
  });
  assertEquals(
    beside.way === undefined && beside.settled.kind === "refused" && beside.settled.message,
    "Cannot send the message with its images: it is not the user's",
  );
});

Deno.test("a message of white space alone is told that it is blank where claude -p does", () => {
  const blank = "Blank prompt — the message was only whitespace, so nothing was sent to the model.";
  assertEquals(ways("2.1.332", [" ", "\u00a0\n"]), [blank, blank]);
  const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version: "2.1.332" });
  const blocks = [{ type: "text", text: " " }];
  assertEquals(judge({ type: "user", text: " ", content: blocks }).way, "rendezvous");
});

Deno.test("a message that nobody could send is told from one that only this program does not pass on", () => {
  const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version: "2.1.332" });
  const judged = [5, [{ type: "text" }], [{ type: "document" }]].map((content) => {
    const { way, settled } = {
      settled: undefined,
      ...judge(messageLine(content, { ticket: "t" })),
    };
    return way ?? (settled?.kind === "refused" && settled.malformed === true);
  });
  assertEquals(judged, [true, true, false]);
});

Deno.test("a command is typed where the socket takes it for text", () => {
  assertEquals(ways("2.1.332", ["/init", "/init a\tb"]), [
    "paste /init",
    "Cannot type the command /init: the control character U+0009 at offset 7 would be taken as a key",
  ]);
  // Who says so tells what the session is like as well.
  assertEquals(ways("2.1.332", ["/login"]), ["asked"]);
  assertEquals(ways("2.1.332", ["/context", "/cost"]), ["asked", "asked"]);
});

Deno.test("of several blocks the last one alone may be a command", () => {
  const judged = (version: string, ...texts: readonly string[]) => {
    const blocks = texts.map((text) => ({ type: "text", text }));
    const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version });
    const message = judge(messageLine(blocks, { ticket: "t" }));
    const context = message.hasContext ? contextIn(message.content) : [];
    if (message.way !== undefined) return [message.way, message.text, message.command, ...context];
    const { settled } = message;
    return [settled.kind, "message" in settled ? settled.message : message.text, ...context];
  };
  const text = ["rendezvous", "/clear\nand more", undefined];
  assertEquals(judged("2.1.332", "/clear", "and more"), text);
  for (const version of ["2.1.285", "2.1.332"]) {
    assertEquals(judged(version, "foo", "bar"), ["rendezvous", "foo\nbar", undefined]);
  }
  assertEquals(judged("2.1.332", "foo", "/context"), ["asked", "/context", "foo"]);
  assertEquals(judged("2.1.332", "foo", "/clear"), ["asked", "/clear"]);
  assertEquals(judged("2.1.332", "", " ", "/init"), ["paste", "/init", "/init"]);
  assertEquals(judged("2.1.332", "foo", "!", "/init x"), [
    ...["paste", "/init x", "/init"],
    ...["foo", "!"],
  ]);
  assertEquals(judged("2.1.332", "foo", "/nosuch x"), ["rendezvous", "foo\n/nosuch x", undefined]);
});

Deno.test("text before a command is refused where it would not be the same", () => {
  const blocks = ["foo", "/init"].map((text) => ({ type: "text", text }));
  const line = messageLine(blocks, { ticket: "t" });
  const refusals = [
    [
      ...[{}, { persistSession: false }, {}],
      "the session is not kept, which another Claude Code would resume",
    ],
    [
      ...[{}, { forkSession: true }, {}],
      "the session is a fork, which has no transcript before its first message",
    ],
    [{ watchesPrompts: true }, {}, {}, "a hook for UserPromptSubmit would not see that"],
    [{}, {}, { synthetic: true }, "the message is not the user's"],
  ] as const;
  for (const [facts, order, more, why] of refusals) {
    const judge = messageJudge({ ...PLAIN_ORDER, ...order }, {
      ...FACTS,
      version: "2.1.332",
      ...facts,
    });
    const { settled } = judge({ ...line, ...more }) as SettledMessage;
    assertEquals(
      settled.kind === "refused" && settled.message,
      `Cannot send the message: other text stands before the command /init, and ${why}`,
    );
  }
});

Deno.test("a message that is too long for the socket goes to another child's stdin if it is exact there", () => {
  const long = "x\n".repeat(500_000);
  assertEquals(ways("2.1.332", [long, "x".repeat(1_000_000)]), ["stdin", "rendezvous"]);
  const altered = [`\u200b${long.slice(2)} `, `!${long.slice(1)}`];
  assertEquals(
    ways("2.1.332", altered).map((way) => way.slice(0, 23)),
    ["Cannot send the message", "Cannot send the message"],
  );
  const judge = messageJudge({ ...PLAIN_ORDER, persistSession: false }, {
    ...FACTS,
    version: "2.1.332",
  });
  assertEquals(judge({ type: "user", text: long, content: long }).way, undefined);
});

Deno.test("an id is good for one message", () => {
  const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version: "2.1.332" });
  const repeated = ["a", "b", "a", undefined, undefined].map((uuid) =>
    judge({ type: "user", text: "x", content: "x", ...(uuid === undefined ? {} : { uuid }) })
      .repeated
  );
  assertEquals(repeated, [undefined, undefined, true, undefined, undefined]);
});

Deno.test("where the initialization is refused nothing is done without what it asked for", () => {
  const refusal = 'claude-print cannot honour "toolAliases": so it is';
  const judge = messageJudge(PLAIN_ORDER, { ...FACTS, version: "2.1.332", refusal });
  for (const text of ["hello", "/cost", " ", "/init"]) {
    const message = judge({ type: "user", text, content: text });
    assertEquals([message.way, message.way === undefined && message.settled], [undefined, {
      kind: "refused",
      message: `Cannot send the message: ${refusal}`,
      suggestion: "Leave it out of the options, or of the initialize request, and begin again",
    }], text);
  }
});

Deno.test("an id of the session's own is good for none, and an empty one is no id", () => {
  const facts = { ...FACTS, version: "2.1.332", before: ["a"] };
  // Another child of the same conversation has it from the one before.
  const before: ToldBefore = { results: 1, totalUsd: 0, apiDurationMs: 0 };
  for (const [more, isBefore] of [[{}, "before"], [{ before }, true]] as const) {
    const judge = messageJudge({ ...PLAIN_ORDER, ...more }, facts);
    const repeated = ["a", "b", "a", "", ""].map((uuid) =>
      judge({ type: "user", text: "x", content: "x", uuid }).repeated
    );
    assertEquals(repeated, [isBefore, undefined, isBefore, undefined, undefined]);
    // Whoever waits for a result has to get one.
    const waited = judge(messageLine("x", { uuid: "a", ticket: "t" }));
    assert(waited.way === undefined && waited.settled.kind === "refused");
    assertEquals(waited.repeated, undefined);
  }
});

Deno.test("an id that a fork has from its session is good for one message, whose line keeps its own", () => {
  const facts = { ...FACTS, version: "2.1.332", before: ["a"] };
  const judge = messageJudge({ ...PLAIN_ORDER, forkSession: true }, facts);
  const judged = ["a", "b", "a"].map((uuid) => {
    const { repeated, namesake } = judge({ type: "user", text: "x", content: "x", uuid });
    return [repeated, namesake];
  });
  assertEquals(judged, [[undefined, true], [undefined, undefined], [true, undefined]]);
});
