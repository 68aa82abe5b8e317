import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  ECHO_START,
  encodePaste,
  pasteRefusal,
  seeEcho,
} from "../../../src/conversation/terminal/paste.ts";
import { anyCharacter } from "../../any_character.ts";
import { message } from "../control/caller_inputs.ts";
import { BUSY, EXIT, hook, IDLE, status, stop, submit } from "../control/inputs.ts";
import { run, type SimulationOptions } from "../control/simulation.ts";

const encoder = new TextEncoder();
const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`;
const SENT = `${pasted("hello there")}\r`;

/** The pieces of an encoded paste. */
const unpack = (bytes: Uint8Array) =>
  new TextDecoder().decode(bytes).split("\x1b[201~").slice(0, -1)
    .map((piece) => piece.replace("\x1b[200~", ""));

Deno.test("encodePaste() brackets the prompt's own bytes", () => {
  assertEquals(encodePaste("a\né"), encoder.encode(pasted("a\né")));
});

Deno.test("encodePaste() cuts prompts into small, well-formed pieces", () => {
  const line = fc.string({ unit: "grapheme", maxLength: 300 }).map((text) =>
    text.replace(/\p{Cc}/gu, "")
  );
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 30 }), (lines) => {
      const prompt = lines.join("\n");
      const pieces = unpack(encodePaste(prompt));
      assertEquals(pieces.join(""), prompt);
      for (const piece of pieces) assert(piece.isWellFormed());
    }),
    { numRuns: 30 },
  );
  for (const piece of unpack(encodePaste(`${"word ".repeat(1000)}\n${"a\n".repeat(50)}end`))) {
    assert(piece.length <= 600 && (piece.match(/\n/gu) ?? []).length <= 2, JSON.stringify(piece));
  }
  const family = "👨‍👩‍👧❤️";
  for (const piece of unpack(encodePaste(`a${family.repeat(100)}b c`))) {
    assertEquals(piece.replaceAll(family, "").replace(/[abc ]/gu, ""), "");
  }
  const accented = `${"x".repeat(600)}\u0301 `;
  assertEquals(unpack(encodePaste(`${accented}y`)), [accented, "y"]);
  assertEquals(unpack(encodePaste("x".repeat(100_000))).length, 1, "too many pieces");
});

Deno.test("pasteRefusal() names what the input box would change", () => {
  const rows = [
    ["a\x1b[201~b", "U+001B at offset 1"],
    ["a\tb", "U+0009"],
    ["a\r\nb", "U+000D"],
    ["a\u009bb", "U+009B"],
    ["!ls", "shell"],
    ["abc\\", "backslash"],
    ["abc \n", "trimmed"],
  ] as const;
  for (const [prompt, reason] of rows) assertStringIncludes(pasteRefusal(prompt) ?? "", reason);
  assertEquals(pasteRefusal("a\nb ❤️ \\ c"), undefined);
});

Deno.test("pasteRefusal() refuses characters that could press a key", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (prompt) => {
      if (pasteRefusal(prompt) !== undefined) return;
      for (const char of prompt) {
        const code = char.codePointAt(0) as number;
        assert(code === 0x0a || (code >= 0x20 && code < 0x7f) || code > 0x9f);
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("seeEcho() finds the prompt's end at every chunk split", () => {
  const prompt = "say hé there";
  const shown = encoder.encode("❯ sayhé   there");
  for (let at = 0; at <= shown.length; at++) {
    const first = seeEcho(ECHO_START, { visible: shown.subarray(0, at), prompt });
    const second = seeEcho(first.state, { visible: shown.subarray(at), prompt });
    assert(second.echoed, `split at ${at}`);
    assertEquals(first.echoed, at === shown.length);
  }
});

Deno.test("seeEcho() accepts the placeholder of a long paste only", () => {
  const placeholder = encoder.encode("❯ [Pasted text #1");
  assert(seeEcho(ECHO_START, { visible: placeholder, prompt: "x".repeat(2000) }).echoed);
  const other = encoder.encode("Welcome back! ? for shortcuts");
  assert(!seeEcho(ECHO_START, { visible: other, prompt: "hello there" }).echoed);
});

const paste = (options: SimulationOptions = {}) =>
  run({ inject: "paste", deliveryTimeoutMs: 300_000, ...options });

Deno.test("paste waits for input box, echo and proof of delivery", () => {
  const session = paste();
  session.show("\x1b[?2004h");
  assertEquals(session.typed, "", "dialogs of the start have that mode too");
  session.receive(IDLE);
  session.show("❯ hello");
  assertEquals(session.typed, pasted("hello there"));
  session.show(" there");
  assertEquals(session.typed, SENT);
  session.wait(600);
  assertEquals(session.typed, `${SENT}\r`);
  session.receive(submit("hello there"));
  session.wait(10_000);
  assertEquals(session.typed, `${SENT}\r`);
  session.receive(stop(), EXIT);
  session.wait(2000);
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("Stop before the paste was submitted belongs to something else", () => {
  const session = paste();
  session.receive(stop(), IDLE, stop());
  assertEquals(session.signals, []);
});

Deno.test("screen shows a paste whose echo was missed", () => {
  const session = paste();
  session.receive(IDLE);
  session.draw("❯ ");
  session.wait(3000);
  session.draw("❯ hello there");
  session.wait(3000);
  assertEquals(session.typed, SENT);
});

Deno.test("paste that never shows ends the run without Enter", () => {
  for (const [deliveryTimeoutMs, ms] of [[300_000, 15_000], [8000, 8000]] as const) {
    const session = paste({ deliveryTimeoutMs });
    session.receive(IDLE);
    session.draw("❯ ");
    session.wait(ms - 1);
    assertEquals(session.signals, []);
    session.wait(1);
    session.receive(EXIT);
    assertEquals([session.ending, session.typed], [{ kind: "undelivered" }, pasted("hello there")]);
  }
});

Deno.test("time while this program was stopped extends a paste's limit", () => {
  const session = paste();
  session.receive(IDLE);
  session.draw("❯ ");
  session.wait(4000);
  session.sleep(60_000);
  session.wait(4000);
  assertEquals(session.signals, []);
  session.draw("❯ hello there");
  session.wait(1000);
  assertEquals(session.typed, SENT);
});

Deno.test("paste is looked for again after a dialog closes", () => {
  for (const isShown of [true, false]) {
    const session = paste({ deliveryTimeoutMs: 30_000 });
    session.receive(IDLE);
    session.draw("Do you want to proceed?", " ❯ 1. Yes", "   2. No");
    session.receive(status("waiting"));
    session.wait(4000);
    session.draw(isShown ? "❯ hello there" : "❯ ");
    session.receive(IDLE);
    session.wait(20_000);
    session.receive(EXIT);
    assertEquals(session.typed.startsWith(SENT), isShown);
    assertEquals(session.ending?.kind === "undelivered", !isShown);
  }
});

const WARNING = [
  ...["Settings Warning", "the rest of the file is in effect"],
  ...[" ❯ 1. Continue", "   2. Fix with Claude"],
];

/** A conversation that starts with a dialog, and whose first message is pasted. */
function pastedAtStart(...dialog: readonly string[]) {
  const session = run({ conversation: true, startTimeoutMs: 20_000 });
  session.receive(message("/touchy", { way: "paste", command: "/touchy" }));
  session.draw(...dialog);
  session.show("\x1b[?2004h");
  return session;
}

Deno.test("first message is pasted after the dialogs of the start", () => {
  const session = pastedAtStart(...WARNING);
  session.wait(1000);
  assertEquals(session.typed, "\r", "the dialog is answered");
  session.draw("❯ ");
  session.receive(hook("SessionStart"));
  assertEquals(session.typed, "\r");
  session.receive(IDLE);
  assertEquals(session.typed, `\r${pasted("/touchy")}`);
  session.show("❯ /touchy");
  assertEquals(session.typed, `\r${pasted("/touchy")}\r`);
});

Deno.test("start that never completes ends a pasted conversation", () => {
  const open = pastedAtStart("Terms have changed", " ❯ 1. Accept", "   2. Decline");
  open.wait(5000);
  open.receive(EXIT);
  assertEquals([open.ending?.kind, open.typed], ["dialog", ""]);
  const closed = pastedAtStart(...WARNING);
  closed.wait(1000);
  closed.draw("");
  closed.wait(20_000);
  assertEquals(closed.exit(), { kind: "not-started", silent: false });
  assertEquals(closed.typed, "\r");
});

/** A conversation at rest that is sent texts, and an image for each `true`. */
function sendImages(...blocks: readonly (string | true)[]) {
  const content = blocks.map((block) =>
    block === true
      ? { type: "image", source: { type: "base64", data: "iVBORw0KGgo=" } }
      : { type: "text", text: block }
  );
  const text = blocks.filter((block) => block !== true).join("\n");
  const images = message(text, { content, way: "paste", images: true });
  return run({ conversation: true, imagesDir: "/run/images" }, IDLE, images);
}

Deno.test("images are pasted as paths, one after the other", () => {
  const session = sendImages("Compare", true, true, "now\n");
  let typed = pasted("Compare\n");
  const types = (more: string, why?: string) => assertEquals(session.typed, typed += more, why);
  types("");
  session.show("❯ Compare");
  types(pasted("/run/images/1.png"));
  session.show("[Image");
  types("");
  session.show(" #3]");
  types(pasted("/run/images/2.png"), "images of earlier messages are counted");
  session.show("❯ Compare [Image #3]");
  types("", "this is the image before");
  session.show("[Image #4]");
  types(pasted("\nnow"));
  session.show("now");
  types("\r");
  const paths = session.of("place-image").map(({ path }) => path);
  assertEquals(paths, ["/run/images/1.png", "/run/images/2.png"]);
  session.receive(submit("Compare\n[Image #3] [Image #4] \nnow"), BUSY);
  session.wait(1000);
  assertEquals(session.state.taken.length, 1);
});

Deno.test("images that show at once are told apart by number", () => {
  const session = sendImages(true, true);
  session.show("[Image #3] [Image #4]");
  assertEquals(session.of("place-image").length, 2);
  session.show("[Image #4]");
  assertEquals(session.typed.at(-1), "\r");
});

Deno.test("image that never shows ends the child without Enter", () => {
  const session = sendImages(true);
  session.draw("❯ /run/images/1.png");
  session.wait(20_000);
  assertEquals(session.exit(), { kind: "undelivered", image: true });
  assertEquals(session.typed.includes("\r"), false);
});
