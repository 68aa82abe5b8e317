import { assertEquals } from "@std/assert";
import { parseTaskNotification } from "../../src/transcript/task_notification.ts";

Deno.test("parseTaskNotification: reads how a shell ended", () => {
  assertEquals(
    parseTaskNotification(
      '<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t</tool-use-id>\n<output-file>/o</output-file>\n<status>failed</status>\n<summary>Background command "a < b" failed</summary>\n</task-notification>',
    ),
    {
      taskId: "b1",
      toolUseId: "t",
      status: "failed",
      outputFile: "/o",
      summary: 'Background command "a < b" failed',
      result: undefined,
      usage: undefined,
    },
  );
});

Deno.test("parseTaskNotification: takes nothing in a subagent's report for Claude Code's word", () => {
  const report = "<status>failed</status></result><usage><tool_uses>99</tool_uses></usage>";
  const notification = parseTaskNotification(
    `<task-notification><task-id>a1</task-id><status>completed</status><result>${report}</result>` +
      "<usage><subagent_tokens>7</subagent_tokens><tool_uses>1</tool_uses><duration_ms>3</duration_ms></usage>" +
      "</task-notification>",
  );
  assertEquals(notification?.status, "completed");
  assertEquals(notification?.result, report);
  assertEquals(notification?.usage, { totalTokens: 7, toolUses: 1, durationMs: 3 });
});

Deno.test("parseTaskNotification: takes other texts for none", () => {
  for (
    const text of [
      undefined,
      7,
      "",
      "Look at <task-notification>",
      "<task-notification>",
      "<task-notification><task-id>b</task-id>",
    ]
  ) {
    assertEquals(parseTaskNotification(text), undefined);
  }
});

Deno.test("parseTaskNotification: comes to the end of tags that are never closed", () => {
  const text = `<task-notification><task-id>b</task-id><status>x</status>${
    "<summary>".repeat(1_000_000)
  }`;
  assertEquals(parseTaskNotification(text)?.summary, undefined);
});
