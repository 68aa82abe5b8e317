import { assertEquals } from "@std/assert";
import {
  formatCallerLine,
  messageLine,
  readCallerLine,
} from "../../../src/claude/wire/caller_line.ts";

const read = (value: unknown) => readCallerLine(JSON.stringify(value));
const user = (content: unknown, more = {}) =>
  read({ type: "user", message: { role: "user", content }, ...more });

Deno.test("readCallerLine() reads a message's text and fields", () => {
  assertEquals(user("hi"), { type: "user", text: "hi", content: "hi" });
  const blocks = ["a ", "", "b", ""].map((text) => ({ type: "text", text }));
  assertEquals(user(blocks), { type: "user", text: "a \nb", content: blocks });
  const written = { type: "user", text: "x", content: "x" } as const;
  for (
    const [fields, read] of [
      [{ uuid: "u", priority: "later", session_id: "other" }, { uuid: "u", priority: "later" }],
      [{ uuid: 1, priority: "soon" }, {}],
      [{ origin: { kind: "human" } }, { human: true }],
      [{ origin: { kind: "channel", server: "s" } }, {}],
      [{ isSynthetic: true }, { synthetic: true }],
      [{ isSynthetic: false }, {}],
      [{ client_composed: true }, { literal: true }],
      [{ client_composed: false }, {}],
    ] as const
  ) assertEquals<unknown>(user("x", fields), { ...written, ...read });
});

Deno.test("readCallerLine() reads images with or without a text", () => {
  for (const data of ["iVBORw0KGgo=", "/9j/AAAA", "R0lGODAA", "UklGRgAA"]) {
    const image = { type: "image", source: { type: "base64", data } };
    const both = [image, { type: "text", text: "What is this?" }];
    assertEquals(user(both), { type: "user", text: "What is this?", content: both, images: true });
    assertEquals(user([image]), { type: "user", text: "", content: [image], images: true });
  }
});

Deno.test("readCallerLine() reads an empty message as Claude Code does", () => {
  for (const nothing of [undefined, null, "", [{ type: "text", text: "" }]]) {
    const line = user(nothing);
    assertEquals(line?.type === "user" && [line.text, line.obstacle], ["(no content)", undefined]);
  }
});

Deno.test("readCallerLine() names content that cannot be sent", () => {
  const image = (source: object) => [{ type: "text", text: "x" }, { type: "image", source }];
  const bytes = (data: unknown) => image({ type: "base64", data });
  const notAs = "claude-print passes images on as base64 data, not as";
  const rows: readonly (readonly [obstacle: string, ...contents: readonly unknown[]])[] = [
    [`${notAs} "url"`, image({ type: "url", url: "x" })],
    [`${notAs} undefined`, image({})],
    ["an image in it is no PNG, JPEG, GIF or WebP", ...["aGVsbG8=", "JVBERi0="].map(bytes)],
    ['claude-print passes no "document" blocks on', [{ type: "document", source: {} }]],
    ["it has no content blocks, and the interactive Claude Code needs a text", []],
  ];
  const malformed: typeof rows = [
    [
      "an image in it is no base64 data",
      ...[undefined, 5, "", "iVBORw0KGgo\n", "iVBORw0KGgo===", "../x"].map(bytes),
    ],
    ["a text block in it has no text", [{ type: "text" }], [{ type: "text", text: 5 }]],
    ["one of its blocks is no object", [5]],
    ["its content is neither text nor blocks", 5, {}],
  ];
  for (const [isMalformed, all] of [[undefined, rows], [true, malformed]] as const) {
    for (const [obstacle, ...contents] of all) {
      for (const content of contents) {
        const line = user(content);
        assertEquals(line?.type === "user" && [line.obstacle, line.malformed], [
          obstacle,
          isMalformed,
        ]);
      }
    }
  }
  const line = user("x", { shouldQuery: false });
  assertEquals(
    line?.type === "user" && line.obstacle,
    "the interactive Claude Code does not accept a message with shouldQuery false",
  );
});

Deno.test("readCallerLine() refuses messages of the assistant", () => {
  const content = [{ type: "text", text: "I said so" }];
  assertEquals(read({ type: "assistant", message: { role: "assistant", content }, uuid: "u" }), {
    type: "user",
    text: "",
    content,
    obstacle: "the interactive Claude Code does not accept messages of the assistant",
  });
  assertEquals(read({ type: "assistant" })?.type, "user");
});

Deno.test("readCallerLine() skips unknown lines and reports unreadable lines", () => {
  const nothing = [
    "",
    "  ",
    "\uFEFF",
    "[1]",
    "5",
    '"x"',
    '{"type":"frob"}',
    '{"type":"keep_alive"}',
    "{}",
  ];
  for (const line of nothing) assertEquals(readCallerLine(line), undefined, line);
  assertEquals(readCallerLine('\uFEFF{"type":"user","message":{"role":"user"}}')?.type, "user");
  const reasons = ["no json", '{"type":"user","mess', "null", '{"type":"user"}'].map((line) => {
    const read = readCallerLine(line);
    return read?.type === "unreadable" ? read.reason.replace(/\(.*/u, "") : read;
  });
  assertEquals(reasons, [
    "Cannot read a line of stdin: it is no JSON ",
    "Cannot read a line of stdin: it is no JSON ",
    "Cannot read a line of stdin: it is null",
    'Cannot read a line of stdin: the role of its message is undefined, not "user"',
  ]);
});

Deno.test("readCallerLine() reads a request and its body", () => {
  const control = (request: unknown) => read({ type: "control_request", request_id: "r", request });
  assertEquals(control({ subtype: "interrupt" }), {
    type: "control",
    request: { id: "r", subtype: "interrupt", body: {} },
  });
  const hooks = { Stop: [{ hookCallbackIds: ["h"] }] };
  assertEquals(control({ subtype: "initialize", hooks }), {
    type: "control",
    request: { id: "r", subtype: "initialize", body: { hooks } },
  });
  assertEquals(control({ subtype: 7 }), {
    type: "control",
    request: { id: "r", subtype: "7", body: {} },
  });
  for (const request of [7, "x", []]) {
    assertEquals(control(request), {
      type: "control",
      request: { id: "r", subtype: "undefined", body: {} },
    });
  }
  for (const request of [undefined, null, "", 0, false]) {
    const nothing = control(request);
    assertEquals(
      nothing?.type === "unreadable" && nothing.reason,
      "Cannot read a line of stdin: a control_request has no request",
    );
  }
});

Deno.test("formatCallerLine() keeps a request's id of any type", () => {
  const request = { subtype: "interrupt" };
  for (const request_id of [7, 1.5, true, null, { a: 1 }, [1, "x"], undefined]) {
    const line = JSON.stringify({ type: "control_request", request_id, request });
    const read = readCallerLine(line);
    assertEquals(read?.type === "control" && formatCallerLine(read), line);
  }
});

Deno.test("readCallerLine() reads an answer or its error", () => {
  const answer = (response: unknown) => read({ type: "control_response", response });
  assertEquals(answer({ subtype: "success", request_id: "q", response: { behavior: "deny" } }), {
    type: "answer",
    answer: { id: "q", response: { behavior: "deny" } },
  });
  assertEquals(answer({ subtype: "error", request_id: "q", error: "gone" }), {
    type: "answer",
    answer: { id: "q", error: "gone" },
  });
  assertEquals(answer({ subtype: "error", request_id: "q", error: 7 }), {
    type: "answer",
    answer: { id: "q", error: "it does not say why" },
  });
  for (const foreign of [undefined, null, "q", {}, { subtype: "success", request_id: 7 }]) {
    assertEquals(answer(foreign), undefined);
  }
});

Deno.test("readCallerLine() reports lines that are nested too deeply", () => {
  const deep = `{"type":"control_request","request_id":"r","request":${"[".repeat(1e5)}`;
  const line = readCallerLine(deep + "]".repeat(1e5) + "}");
  assertEquals(
    line?.type === "unreadable" && line.reason,
    "Cannot read a line of stdin: it is nested too deeply",
  );
});

Deno.test("readCallerLine() reads a line of 5 MB", () => {
  const text = "x".repeat(5_000_000);
  const line = user(text);
  assertEquals(line?.type === "user" && line.text.length, text.length);
});

Deno.test("formatCallerLine() is read back by readCallerLine()", () => {
  const blocks = [{ type: "text", text: "é\u2028" }];
  for (const content of ["hello", blocks]) {
    const said = messageLine(content, { uuid: "u", ticket: "t", priority: "now" });
    const { ticket: _, ...told } = said;
    assertEquals(readCallerLine(formatCallerLine(said)), told);
    const more = { literal: true, synthetic: true } as const;
    assertEquals(readCallerLine(formatCallerLine({ ...said, ...more })), { ...told, ...more });
  }
  const request = { id: "r", subtype: "interrupt", body: { more: 1 } };
  assertEquals(readCallerLine(formatCallerLine({ type: "control", request })), {
    type: "control",
    request,
  });
  for (
    const [answer, subtype] of [
      [{ id: "q", response: { behavior: "deny" } }, "success"],
      [{ id: "q", error: "gone" }, "error"],
    ] as const
  ) {
    const text = formatCallerLine({ type: "answer", answer });
    assertEquals(readCallerLine(text), { type: "answer", answer });
    assertEquals(JSON.parse(text).response.subtype, subtype);
  }
});
