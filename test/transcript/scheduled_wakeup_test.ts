import { assertEquals } from "@std/assert";
import { parseEntry } from "../../src/transcript/entry.ts";
import { keptEntry } from "../../src/transcript/kept_entry.ts";
import { scheduledWakeup } from "../../src/transcript/scheduled_wakeup.ts";

function after(lines: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  return scheduledWakeup(lines.flatMap((line) => {
    const entry = parseEntry(JSON.stringify({ ...line, message: { ...line["message"] ?? {} } }));
    return entry === undefined ? [] : keptEntry(entry) ?? [];
  }));
}

const call = (name: string, id = "t1") => ({
  type: "assistant",
  message: {
    id: "m",
    model: "opus",
    content: [{ type: "tool_use", id, name, input: { delaySeconds: 60 } }],
  },
});
const result = (content: string, id = "t1") => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
});
const prompt = (content: string) => ({ type: "user", message: { role: "user", content } });
const SAID =
  "Next wakeup scheduled for 21:32:00 (in 111s). If you owe the user a status update, write it";

Deno.test("a wake-up that is to come is known by what the tool says of it", () => {
  const scheduled = [prompt("Go"), call("ScheduleWakeup"), result(SAID)];
  assertEquals(after(scheduled), "21:32:00");
  assertEquals(after([...scheduled, prompt("Wake")]), undefined);
  assertEquals(after([prompt("Go"), call("ScheduleWakeup")]), undefined);
  assertEquals(after([prompt("Go"), call("ScheduleWakeup"), result("It is off")]), undefined);
  assertEquals(after([prompt("Go"), call("CronCreate"), result(SAID)]), undefined);
  assertEquals(
    after([...scheduled, call("ScheduleWakeup", "t2"), result("Nothing is to come", "t2")]),
    undefined,
  );
});
