import { assert, assertEquals } from "@std/assert";
import { lineText, messageLine, readCallerLine } from "../../src/wire/caller_line.ts";

const read = (value: unknown) => readCallerLine(JSON.stringify(value));
const user = (content: unknown, more = {}) =>
  read({ type: "user", message: { role: "user", content }, ...more });

Deno.test("readCallerLine() takes a message's text and blocks of text, and what else it says", () => {
  assertEquals(user("hi"), { type: "user", text: "hi", content: "hi" });
  const blocks = ["a ", "", "b", ""].map((text) => ({ type: "text", text }));
  assertEquals(user(blocks), { type: "user", text: "a \nb", content: blocks });
  assertEquals(user("x", { uuid: "u", priority: "later", session_id: "other" }), {
    type: "user",
    text: "x",
    content: "x",
    uuid: "u",
    priority: "later",
  });
  const written = { type: "user", text: "x", content: "x" } as const;
  assertEquals(user("x", { origin: { kind: "human" } }), { ...written, human: true });
  assertEquals(user("x", { origin: { kind: "channel", server: "s" } }), written);
  assertEquals(user("x", { isSynthetic: true }), { ...written, synthetic: true });
  assertEquals(user("x", { isSynthetic: false }), written);
  assertEquals(user("x", { client_composed: true }), { ...written, literal: true });
  assertEquals(user("x", { client_composed: false }), written);
  assertEquals(user("x", { uuid: 1, priority: "soon" }), { type: "user", text: "x", content: "x" });
});

Deno.test("readCallerLine() takes images beside the text, or alone", () => {
  const image = { type: "image", source: { type: "base64", data: "iVBORw0KGgo=" } };
  const both = [image, { type: "text", text: "What is this?" }];
  assertEquals(user(both), { type: "user", text: "What is this?", content: both, images: true });
  assertEquals(user([image]), { type: "user", text: "", content: [image], images: true });
});

Deno.test("readCallerLine() asks what Claude Code asks for nothing", () => {
  for (const nothing of [undefined, null, "", [{ type: "text", text: "" }]]) {
    const line = user(nothing);
    assertEquals(line?.type === "user" && [line.text, line.obstacle], ["(no content)", undefined]);
  }
});

Deno.test("readCallerLine() names what a message holds that cannot be sent", () => {
  const obstacle = (content: unknown, more = {}) => {
    const line = user(content, more);
    return line?.type === "user" ? line.obstacle : undefined;
  };
  const image = (source: object) =>
    obstacle([{ type: "text", text: "x" }, { type: "image", source }]);
  assertEquals(
    image({ type: "url", url: "x" }),
    'claude-print passes images on as base64 data, not as "url"',
  );
  assertEquals(image({}), "claude-print passes images on as base64 data, not as undefined");
  for (const data of [undefined, 5, "", "iVBORw0KGgo\n", "iVBORw0KGgo===", "../x"]) {
    assertEquals(image({ type: "base64", data }), "an image in it is no base64 data");
  }
  for (const data of ["aGVsbG8=", "JVBERi0="]) {
    assertEquals(image({ type: "base64", data }), "an image in it is no PNG, JPEG, GIF or WebP");
  }
  assertEquals(
    obstacle([{ type: "document", source: {} }]),
    'claude-print passes no "document" blocks on',
  );
  assertEquals(obstacle([{ type: "text" }]), "a text block in it has no text");
  assertEquals(
    obstacle([]),
    "no block is in it, and the interactive Claude Code needs a text",
  );
  assertEquals(obstacle([5]), "one of its blocks is no object");
  assertEquals(obstacle(5), "its content is neither text nor blocks");
  assertEquals(
    obstacle("x", { shouldQuery: false }),
    "one that asks nothing of the model has no place in the interactive Claude Code",
  );
  const isMalformed = (content: unknown) => {
    const line = user(content);
    return line?.type === "user" && line.malformed === true;
  };
  for (const content of [5, {}, [5], [{ type: "text" }], [{ type: "text", text: 5 }]]) {
    assert(isMalformed(content), JSON.stringify(content));
  }
  assert(!isMalformed([{ type: "document", source: {} }]));
});

Deno.test("readCallerLine() says that nobody can put words into the assistant's mouth", () => {
  const content = [{ type: "text", text: "I said so" }];
  assertEquals(read({ type: "assistant", message: { role: "assistant", content }, uuid: "u" }), {
    type: "user",
    text: "",
    content,
    obstacle: "the interactive Claude Code takes no words for those of the assistant",
  });
  assertEquals(read({ type: "assistant" })?.type, "user");
});

Deno.test("readCallerLine() skips what says nothing, and ends at what cannot be trusted", () => {
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

Deno.test("readCallerLine() takes a request with what it asks for", () => {
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

Deno.test("a request keeps an id that is no text, and lacks one that it lacks", () => {
  const request = { subtype: "interrupt" };
  for (const request_id of [7, 1.5, true, null, { a: 1 }, [1, "x"], undefined]) {
    const line = JSON.stringify({ type: "control_request", request_id, request });
    const read = readCallerLine(line);
    assertEquals(read?.type === "control" && lineText(read), line);
  }
});

Deno.test("readCallerLine() takes an answer, or the error in its place", () => {
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

Deno.test("readCallerLine() does not follow a line into any depth", () => {
  const deep = `{"type":"control_request","request_id":"r","request":${"[".repeat(1e6)}`;
  const line = readCallerLine(deep + "]".repeat(1e6) + "}");
  assertEquals(
    line?.type === "unreadable" && line.reason,
    "Cannot read a line of stdin: it is nested too deeply",
  );
});

Deno.test("readCallerLine() takes a line of 20 MB for what it is", () => {
  const text = "x".repeat(20_000_000);
  const line = user(text);
  assertEquals(line?.type === "user" && line.text.length, text.length);
});

Deno.test("lineText() is the line that says on stdin what a program says", () => {
  const blocks = [{ type: "text", text: "é\u2028" }];
  for (const content of ["hello", blocks]) {
    const said = messageLine(content, { uuid: "u", ticket: "t", priority: "now" });
    const { ticket: _, ...told } = said;
    assertEquals(readCallerLine(lineText(said)), told);
    const more = { literal: true, synthetic: true } as const;
    assertEquals(readCallerLine(lineText({ ...said, ...more })), { ...told, ...more });
  }
  const request = { id: "r", subtype: "interrupt", body: { more: 1 } };
  assertEquals(readCallerLine(lineText({ type: "control", request })), {
    type: "control",
    request,
  });
});
