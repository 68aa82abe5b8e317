import { assertEquals } from "@std/assert";
import type { AssistantFrame, ResultFrame } from "../../src/wire/frame.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../src/wire/output_writer.ts";

const FRAME: AssistantFrame = {
  type: "assistant",
  message: { content: "line\u2028separator" },
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
  claude_version: "2.1.330",
};

function output(
  format: OutputFormat,
  run: (writer: OutputWriter) => void,
  options: { readonly verbose?: boolean } = {},
): readonly string[] {
  const written: string[] = [];
  run(createOutputWriter(format, {
    verbose: options.verbose ?? false,
    write: (text) => written.push(text),
  }));
  return written;
}

function both(writer: OutputWriter): void {
  writer.frame(FRAME);
  writer.result(RESULT);
}

Deno.test("createOutputWriter: text prints the answer alone, with one newline at its end", () => {
  assertEquals(output("text", both), ["Done\n"]);
  assertEquals(output("text", (writer) => writer.result({ ...RESULT, result: "Done\n" })), [
    "Done\n",
  ]);
  assertEquals(output("text", (writer) => writer.result({ ...RESULT, result: "" })), ["\n"]);
});

Deno.test("createOutputWriter: text prints an API error but no failure of this program", () => {
  const error = { ...RESULT, is_error: true, result: "API Error: 400" };
  assertEquals(output("text", (writer) => writer.result(error)), ["API Error: 400\n"]);
  const failure = { ...RESULT, subtype: "timeout", is_error: true, result: "Half" } as const;
  assertEquals(output("text", (writer) => writer.result(failure)), []);
});

Deno.test("createOutputWriter: text prints all turns since 2.1.330, before the last", () => {
  for (
    const [claude_version, text] of [["2.1.197", "Done\n"], ["2.1.330", "Begun\n\nDone\n"]] as const
  ) {
    const written = output("text", (writer) => {
      writer.result({ ...RESULT, claude_version, result: "Begun" }, { more: true });
      writer.result({ ...RESULT, claude_version });
    });
    assertEquals(written.join(""), text);
  }
});

Deno.test("createOutputWriter: json prints the last result on one line", () => {
  const written = output("json", (writer) => {
    writer.frame(FRAME);
    writer.result({ ...RESULT, result: "Begun" }, { more: true });
    writer.result(RESULT);
  });
  assertEquals(written.length, 1);
  assertEquals(written[0]?.endsWith("}\n"), true);
  assertEquals(JSON.parse(written[0] ?? ""), RESULT);
});

Deno.test("createOutputWriter: json prints all frames on one line with verbose", () => {
  const written = output("json", both, { verbose: true });
  assertEquals(written.map((text) => JSON.parse(text)), [[FRAME, RESULT]]);
  assertEquals(written[0]?.indexOf("\n"), (written[0]?.length ?? 0) - 1);
});

Deno.test("createOutputWriter: stream-json prints each frame at once on a line of its own", () => {
  const written: string[] = [];
  const writer = createOutputWriter("stream-json", {
    verbose: true,
    write: (text) => written.push(text),
  });
  writer.frame(FRAME);
  assertEquals(written.map((text) => JSON.parse(text)), [FRAME]);
  writer.result(RESULT);
  assertEquals(written.map((text) => JSON.parse(text)), [FRAME, RESULT]);
  // Some readers take U+2028 for the end of a line.
  assertEquals(written.join("").split(/[\n\u2028\u2029]/).length, 3);
});
