import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../any_character.ts";
import { createOutputWriter } from "../../src/wire/output_writer.ts";
import type { Frame } from "../../src/wire/frame.ts";
import type { ResultFrame } from "../../src/wire/result_frame.ts";
import type { StreamEvent } from "../../src/wire/message_frames.ts";

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
const result = (result: string, claude_version = "2.1.332"): ResultFrame => ({
  type: "result",
  subtype: "success",
  is_error: false,
  num_turns: 1,
  session_id: "s",
  result,
  claude_version,
});

/** What is written, piece by piece, and how often somebody is told of remarks. */
function written(frames: readonly Frame[]) {
  const pieces: string[] = [];
  let remarks = 0;
  const writer = createOutputWriter("text", {
    verbose: false,
    write: (text) => pieces.push(text),
    stream: { onRemark: () => remarks++ },
  });
  for (const frame of frames) writer.frame(frame);
  writer.end();
  return { pieces, remarks };
}

Deno.test("an answer appears from its second line on, as it is written", () => {
  const { pieces, remarks } = written([
    begins("text"),
    delta("One\n"),
    delta("two"),
    delta(" and\nthree"),
    result("One\ntwo and\nthree"),
  ]);
  assertEquals(pieces, ["One\ntwo", " and\nthree", "\n"]);
  assertEquals(remarks, 0);
});

Deno.test("a remark of one line before a tool call never appears", () => {
  const frames = [
    ...[begins("text"), delta("I look\n"), begins("tool_use")],
    ...[begins("text"), delta("Done"), result("Done")],
  ];
  assertEquals(written(frames), { pieces: ["Done\n"], remarks: 0 });
});

Deno.test("a longer remark has appeared, which is told once, and an empty line follows it", () => {
  const remark = [begins("text"), delta("I look\nat it"), begins("tool_use")];
  assertEquals(written([...remark, ...remark, begins("text"), delta("Done"), result("Done")]), {
    pieces: ["I look\nat it", "\n\nI look\nat it", "\n\nDone\n"],
    remarks: 1,
  });
});

Deno.test("the last of two texts in one block appears once", () => {
  const texts = [begins("text"), delta("Four\nand a half. "), delta("Five")];
  for (const last of ["Five", "a half. Five", "Five\n"]) {
    const streamed = [...texts, ...last.endsWith("\n") ? [delta("\n")] : [], result(last)];
    const { pieces, remarks } = written(streamed);
    assertEquals(pieces.join(""), "Four\nand a half. Five\n", JSON.stringify(last));
    assertEquals(remarks, 1);
  }
  const short = [begins("text"), delta("Four. "), delta("Five"), result("Five")];
  assertEquals(written(short), { pieces: ["Five\n"], remarks: 0 });
});

Deno.test("the answers of several turns appear as the text format prints them", () => {
  const turn = (text: string) => [
    begins("text"),
    ...text.split(/(?<=\n)/u).map(delta),
    result(text),
  ];
  assertEquals(written([...turn("a\nb"), ...turn("c\nd")]).pieces.join(""), "a\nb\n\nc\nd\n");
});

Deno.test("a turn that is cut short prints each text so far once", () => {
  const texts = [begins("text"), delta("a\nb")];
  const remark = [...texts, begins("tool_use")];
  const cut = (text?: string): Frame => {
    const { result: _, ...frame } = result("");
    return { ...frame, ...(text && { result: text }), subtype: "timeout", is_error: true };
  };
  const rows: readonly (readonly [frames: readonly Frame[], stdout: string])[] = [
    [[...texts, cut("a\nb")], "a\nb\n"],
    [[...texts, cut("a\nbc")], "a\nbc\n"],
    [[...texts, delta(" c"), cut("b c")], "a\nb c\n"],
    [[...texts, cut()], "a\nb\n"],
    [[...remark, cut("a\nb")], "a\nb\n"],
    [[...remark, begins("text"), delta("c"), cut("c")], "a\nb\n\nc\n"],
    [[begins("text"), delta("a"), cut("a")], "a\n"],
    [[begins("text"), delta("a"), cut()], ""],
  ];
  for (const [frames, stdout] of rows) assertEquals(written(frames).pieces.join(""), stdout);
});

Deno.test("however an answer is cut, what appears is what the text format prints", () => {
  const texts = fc.array(fc.string({ unit: anyCharacter }), { maxLength: 6 });
  fc.assert(fc.property(texts, (texts) => {
    const answer = texts.join("");
    const streamed = written([begins("text"), ...texts.map(delta), result(answer)]);
    const pieces: string[] = [];
    const writer = createOutputWriter("text", {
      verbose: false,
      write: (text) => pieces.push(text),
    });
    writer.frame(result(answer));
    writer.end();
    assertEquals(streamed.pieces.join(""), pieces.join(""));
    assertEquals(streamed.remarks, 0);
  }));
});
