import { assertEquals } from "@std/assert";
import { startTelling } from "./telling.ts";

/** What is told of two tasks whose ends the child tells the model together, after a result that has been told. */
function joined() {
  const told = startTelling();
  const push = (line: object) => told.push({ version: "2.1.332", ...line });
  const end = (task: string) =>
    push({
      type: "user",
      uuid: `n-${task}`,
      message: {
        content:
          `<task-notification><task-id>${task}</task-id><status>completed</status></task-notification>`,
      },
    });
  push({ type: "user", uuid: "p", message: { content: "Hi" } });
  told.begin();
  push({
    type: "assistant",
    message: { id: "m", model: "m", content: [{ type: "text", text: "started" }] },
  });
  told.tell({ type: "hook", event: "Stop", payload: { background_tasks: [{ type: "shell" }] } });
  push({ type: "system", subtype: "turn_duration" });
  const { frames } = told;
  frames.length = 0;
  end("b1");
  end("b2");
  return frames.filter(({ subtype }) => subtype !== "task_notification");
}

Deno.test("the end of a task that is told together with the next one's has an empty result ahead of it, as in claude -p", () => {
  const frames = joined();
  assertEquals(frames.map(({ type, subtype }) => `${type} ${subtype}`), [
    "system init",
    "result success",
    "system init",
  ]);
  const [, result = {}] = frames as readonly Readonly<Record<string, unknown>>[];
  assertEquals(
    ["result", "num_turns", "stop_reason", "duration_api_ms", "result_index"]
      .map((field) => result[field]),
    ["", 0, null, 0, 1],
  );
  assertEquals(result["model_usage_since_last_result"], {});
  assertEquals(["api_error_status", "terminal_reason"].filter((field) => field in result), []);
});
