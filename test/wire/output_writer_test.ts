import { assertEquals } from "@std/assert";
import type { AssistantFrame } from "../../src/wire/message_frames.ts";
import type { ResultFrame } from "../../src/wire/result_frame.ts";
import {
  createOutputWriter,
  type OutputFormat,
  type OutputWriter,
} from "../../src/wire/output_writer.ts";

const FRAME: AssistantFrame = {
  type: "assistant",
  message: { id: "m", model: "opus", content: [{ type: "text", text: "line\u2028separator" }] },
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

function output(
  format: OutputFormat,
  run: (writer: OutputWriter) => void,
  options: { readonly verbose?: boolean } = {},
): readonly string[] {
  const written: string[] = [];
  const writer = createOutputWriter(format, {
    verbose: options.verbose ?? false,
    write: (text) => written.push(text),
  });
  run(writer);
  writer.end();
  return written;
}

function both(writer: OutputWriter): void {
  writer.frame(FRAME);
  writer.frame(RESULT);
}

Deno.test("createOutputWriter: text prints the answer alone, with one newline at its end", () => {
  assertEquals(output("text", both), ["Done\n"]);
  assertEquals(output("text", (writer) => writer.frame({ ...RESULT, result: "Done\n" })), [
    "Done\n",
  ]);
  assertEquals(output("text", (writer) => writer.frame({ ...RESULT, result: "" })), ["\n"]);
});

Deno.test("createOutputWriter: text prints an API error but no failure of this program", () => {
  const error = { ...RESULT, is_error: true, result: "API Error: 400" };
  assertEquals(output("text", (writer) => writer.frame(error)), ["API Error: 400\n"]);
  const failure = { ...RESULT, subtype: "internal_error", is_error: true, result: "x" } as const;
  assertEquals(output("text", (writer) => writer.frame(failure)), []);
});

Deno.test("createOutputWriter: text prints all turns", () => {
  const written = output("text", (writer) => {
    writer.frame({ ...RESULT, result: "Begun" });
    writer.frame(RESULT);
  });
  assertEquals(written.join(""), "Begun\n\nDone\n");
});

Deno.test("createOutputWriter: text prints each turn when it ends", () => {
  const written: string[] = [];
  const writer = createOutputWriter("text", {
    verbose: false,
    write: (text) => written.push(text),
  });
  writer.frame(RESULT);
  assertEquals(written, ["Done\n"]);
});

Deno.test("createOutputWriter: a failure takes back no turn before it", () => {
  for (const subtype of ["interrupted", "idle_timeout", "timeout"] as const) {
    const { result: _, ...failure } = { ...RESULT, subtype };
    const stdout = (frame: ResultFrame) =>
      output("text", (writer) => {
        writer.frame(RESULT);
        writer.frame(frame);
      }).join("");
    assertEquals(stdout(failure), "Done\n");
    assertEquals(stdout({ ...failure, result: "Half" }), "Done\n\nHalf\n");
  }
});

Deno.test("createOutputWriter: json prints the last result on one line", () => {
  const written = output("json", (writer) => {
    writer.frame(FRAME);
    writer.frame({ ...RESULT, result: "Begun" });
    writer.frame(RESULT);
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

Deno.test("createOutputWriter: json leaves frames about tasks, denials and hooks out of the array", () => {
  const system = { type: "system", session_id: "s" } as const;
  const init = { ...system, subtype: "init" } as const;
  const informational = { ...system, subtype: "informational" } as const;
  const call = { tool_name: "Bash", tool_use_id: "t" };
  const task = { task_id: "1", task_type: "local_bash", description: "sleep" };
  const hook = { hook_id: "1", hook_name: "Stop", hook_event: "Stop" };
  const written = output("json", (writer) => {
    writer.frame(init);
    writer.frame({ ...system, subtype: "task_started", ...task });
    writer.frame({ ...system, subtype: "background_tasks_changed", tasks: [task] });
    writer.frame({ ...system, subtype: "permission_denied", ...call });
    writer.frame({ ...system, subtype: "hook_started", ...hook });
    writer.frame({ ...system, subtype: "notification", key: "stop-hook-error", text: "odd" });
    writer.frame(informational);
  }, { verbose: true });
  assertEquals(JSON.parse(written.join("")), [init, informational]);
});

Deno.test("createOutputWriter: stream-json prints each frame at once on a line of its own", () => {
  const written: string[] = [];
  const writer = createOutputWriter("stream-json", {
    verbose: true,
    write: (text) => written.push(text),
  });
  writer.frame(FRAME);
  assertEquals(written.map((text) => JSON.parse(text)), [FRAME]);
  writer.frame(RESULT);
  assertEquals(written.map((text) => JSON.parse(text)), [FRAME, RESULT]);
  // Some readers take U+2028 for the end of a line.
  assertEquals(written.join("").split(/[\n\u2028\u2029]/).length, 3);
});

Deno.test("createOutputWriter: text prints why there is no structured answer", () => {
  const { result: _, ...rest } = RESULT;
  const failed = { ...rest, subtype: "error_max_structured_output_retries", errors: ["No, /n"] };
  assertEquals(output("text", (writer) => writer.frame(failed as ResultFrame)), ["Error: No, /n"]);
});
