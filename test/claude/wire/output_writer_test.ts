import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { isTooDeep, jsonLine } from "../../../src/claude/wire/json_text.ts";
import type { AssistantFrame, StreamEvent } from "../../../src/claude/wire/message_frames.ts";
import { createOutputWriter, type OutputFormat } from "../../../src/claude/wire/output_writer.ts";
import type { ResultFrame } from "../../../src/claude/wire/result_frame.ts";
import { anyCharacter } from "../../any_character.ts";

/** Separators that some readers take for the end of a line, each more than once. */
const SEPARATORS = "one\u2028two\u2029three\u2028four\u2029";
const FRAME: AssistantFrame = {
  type: "assistant",
  message: { id: "m", model: "opus", content: [{ type: "text", text: SEPARATORS }] },
  parent_tool_use_id: null,
  session_id: "s",
};
const RESULT: ResultFrame = {
  type: "result",
  subtype: "success",
  is_error: false,
  num_turns: 1,
  session_id: "s",
  result: "Done",
  claude_version: "2.1.332",
};
const result = (text: string): ResultFrame => ({ ...RESULT, result: text });

/** A result without a text. */
function failed(subtype: string, more: object = {}): Frame {
  const { result: _, ...rest } = RESULT;
  return { ...rest, subtype, is_error: true, ...more } as unknown as Frame;
}

/** What is written after each frame, and at the end. */
function written(
  format: OutputFormat,
  frames: readonly Frame[],
  { verbose = false, stream }: {
    readonly verbose?: boolean;
    readonly stream?: { readonly onRemark?: () => void };
  } = {},
): readonly string[] {
  const pieces: string[] = [];
  let text = "";
  const writer = createOutputWriter(format, {
    verbose,
    write: (more) => text += more,
    ...stream && { stream },
  });
  for (const step of [...frames.map((frame) => () => writer.frame(frame)), writer.end]) {
    text = "";
    step();
    pieces.push(text);
  }
  return pieces;
}

Deno.test("text prints each turn's answer as it ends", () => {
  assertEquals(written("text", [FRAME, RESULT]), ["", "Done\n", ""]);
  assertEquals(written("text", [result("Done\n")]), ["Done\n", ""]);
  assertEquals(written("text", [result("")]), ["\n", ""]);
  assertEquals(written("text", [result("Begun"), RESULT]), ["Begun\n", "\nDone\n", ""]);
});

Deno.test("text prints errors as claude -p does", () => {
  const reason = { terminal_reason: "aborted" };
  const rows: readonly (readonly [frame: Frame, printed: string])[] = [
    [{ ...result("API Error: 400"), is_error: true }, "API Error: 400\n"],
    [failed("internal_error", { result: "x" }), ""],
    [failed("error_during_execution", reason), "Execution error"],
    [failed("error_during_execution"), ""],
    [
      failed("error_max_turns", { errors: ["Reached the maximum (2)"] }),
      "Error: Reached max turns (2)",
    ],
    [failed("error_max_turns", { errors: ["?"] }), "Error: Reached max turns (undefined)"],
    [
      failed("error_max_budget_usd", { errors: ["Reached the budget ($0.5)"] }),
      "Error: Exceeded USD budget (0.5)",
    ],
    [failed("error_max_structured_output_retries", { errors: ["No, /n"] }), "Error: No, /n"],
  ];
  for (const [frame, printed] of rows) {
    assertEquals(written("text", [frame]), [printed, ""], frame.subtype as string);
  }
});

Deno.test("a cut turn keeps the turns before it", () => {
  for (const subtype of ["interrupted", "idle_timeout", "timeout"]) {
    assertEquals(written("text", [RESULT, failed(subtype)]), ["Done\n", "", ""]);
    const half = failed(subtype, { result: "Half" });
    assertEquals(written("text", [RESULT, half]), ["Done\n", "\nHalf\n", ""]);
  }
});

Deno.test("json prints the last result at the end", () => {
  const since = { ...RESULT, model_usage_since_last_result: {} } as Frame;
  const [first, second, third, json = ""] = written("json", [FRAME, result("Begun"), since]);
  assertEquals([first, second, third, json.indexOf("\n")], ["", "", "", json.length - 1]);
  assertEquals(JSON.parse(json), RESULT);
  assertEquals(written("json", [FRAME]), ["", ""]);
});

Deno.test("verbose json prints all lasting frames at the end", () => {
  const system = { type: "system", session_id: "s" } as const;
  const init = { ...system, subtype: "init" } as const;
  const informational = { ...system, subtype: "informational" } as const;
  const passing = [
    ...["task_started", "background_tasks_changed", "permission_denied", "hook_started"],
    "notification",
  ].map((subtype) => ({ ...system, subtype }) as unknown as Frame);
  const pieces = written("json", [init, ...passing, FRAME, informational, RESULT], {
    verbose: true,
  });
  const json = pieces.at(-1) ?? "";
  assertEquals(pieces.slice(0, -1).join(""), "");
  assertEquals(json.indexOf("\n"), json.length - 1);
  assertEquals(JSON.parse(json), [init, FRAME, informational, RESULT]);
});

Deno.test("stream-json prints each frame at once on one line", () => {
  const pieces = written("stream-json", [FRAME, RESULT], { verbose: true });
  assertEquals(pieces.slice(0, 2).map((text) => JSON.parse(text)), [FRAME, RESULT]);
  assertEquals(pieces.map((text) => text.split(/[\n\u2028\u2029]/u).length), [2, 2, 1]);
});

Deno.test("jsonLine() escapes every separator of lines", () => {
  assertEquals(jsonLine(SEPARATORS), String.raw`"one\u2028two\u2029three\u2028four\u2029"`);
  assertEquals(JSON.parse(jsonLine(SEPARATORS)), SEPARATORS);
});

Deno.test("isTooDeep() counts open objects and arrays", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  for (
    const [json, expected] of [
      [nested(500), false],
      [nested(501), true],
      [`{"a":${'{"a":'.repeat(500)}0${"}".repeat(500)}}`, true],
      [`[${"[],".repeat(600)}0]`, false],
      [`["${"[".repeat(600)}"]`, false],
      [`["\\"${"[".repeat(600)}"]`, false],
      [`["\\\\",${nested(600)}]`, true],
    ] as const
  ) assertEquals(isTooDeep(json), expected, json.slice(0, 20));
});

const event = (event: StreamEvent): Frame => ({
  type: "stream_event",
  event,
  session_id: "s",
  parent_tool_use_id: null,
});
const begins = (type: string) =>
  event({ type: "content_block_start", index: 0, content_block: { type } });
const delta = (text: string) =>
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
const TEXT = begins("text");
const TOOL = begins("tool_use");

/** The pieces that are streamed, and how often a remark is reported. */
function streamed(...frames: readonly Frame[]) {
  let remarks = 0;
  const pieces = written("text", frames, { stream: { onRemark: () => remarks++ } });
  return [pieces.filter((piece) => piece !== ""), remarks];
}

Deno.test("an answer is streamed from its second line on", () => {
  const deltas = ["One\n", "two", " and\nthree"].map(delta);
  assertEquals(streamed(TEXT, ...deltas, FRAME, result("One\ntwo and\nthree")), [
    ["One\ntwo", " and\nthree", "\n"],
    0,
  ]);
  // Blank lines before it do not count.
  assertEquals(streamed(TEXT, delta("\n\nOne"), result("\n\nOne")), [["\n\nOne\n"], 0]);
});

Deno.test("remarks longer than a line are streamed", () => {
  const done = [TEXT, delta("Done"), RESULT];
  const short = [TEXT, delta("I look\n"), TOOL];
  const long = [TEXT, delta("I look\nat it"), TOOL];
  const ended = [TEXT, delta("I look\nat it\n"), TOOL];
  assertEquals(streamed(...short, ...done), [["Done\n"], 0]);
  assertEquals(streamed(...long, ...done), [["I look\nat it", "\n\nDone\n"], 1]);
  assertEquals(streamed(...ended, ...done), [["I look\nat it\n", "\nDone\n"], 1]);
  // It is reported once, however many remarks and turns there are.
  assertEquals(streamed(...long, ...long, ...done, ...long, ...done), [
    ["I look\nat it", "\n\nI look\nat it", "\n\nDone\n", "\nI look\nat it", "\n\nDone\n"],
    1,
  ]);
});

Deno.test("the last text of a block is streamed once", () => {
  const texts = [TEXT, delta("Four\nand a half. "), delta("Five")];
  for (const last of ["Five", "a half. Five", "Five\n"]) {
    const end = last.endsWith("\n") ? [delta("\n")] : [];
    const [pieces, remarks] = streamed(...texts, ...end, result(last));
    assertEquals([(pieces as readonly string[]).join(""), remarks], [
      "Four\nand a half. Five\n",
      1,
    ]);
  }
  assertEquals(streamed(TEXT, delta("Four. "), delta("Five"), result("Five")), [["Five\n"], 0]);
  // Another answer than was streamed is printed after an empty line.
  assertEquals(streamed(TEXT, delta("Four\nlines"), result("Five")), [
    ["Four\nlines", "\n\nFive\n"],
    1,
  ]);
});

Deno.test("a turn that is cut short streams each text once", () => {
  const texts = [TEXT, delta("a\nb")];
  const cut = (result?: string) => failed("timeout", result === undefined ? {} : { result });
  const rows: readonly (readonly [frames: readonly Frame[], stdout: string])[] = [
    [[...texts, cut("a\nb")], "a\nb\n"],
    [[...texts, cut("a\nbc")], "a\nbc\n"],
    [[...texts, delta(" c"), cut("b c")], "a\nb c\n"],
    [[...texts, delta("\n"), cut()], "a\nb\n"],
    [[...texts, cut()], "a\nb\n"],
    [[...texts, TOOL, cut("a\nb")], "a\nb\n"],
    [[...texts, TOOL, cut("b")], "a\nb\n"],
    [[...texts, TOOL, TEXT, delta("c"), cut("c")], "a\nb\n\nc\n"],
    [[TEXT, delta("a"), cut("a")], "a\n"],
    [[TEXT, delta("a"), cut()], ""],
    // Cut short while it waited for background tasks.
    [[...texts, result("a\nb"), cut("a\nb")], "a\nb\n"],
  ];
  for (const [frames, stdout] of rows) {
    const [pieces] = streamed(...frames);
    assertEquals((pieces as readonly string[]).join(""), stdout);
  }
});

Deno.test("a streamed answer is the text that is printed", () => {
  const texts = fc.array(fc.string({ unit: anyCharacter }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 3 }), (turns) => {
      const frames = turns.flatMap((texts) => [TEXT, ...texts.map(delta), result(texts.join(""))]);
      const [pieces, remarks] = streamed(...frames);
      const printed = written("text", frames).join("");
      assertEquals([(pieces as readonly string[]).join(""), remarks], [printed, 0]);
    }),
    { numRuns: 50 },
  );
});
