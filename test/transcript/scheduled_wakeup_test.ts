import { assertEquals } from "@std/assert";
import { scheduledWakeup } from "../../src/transcript/scheduled_wakeup.ts";
import { answer, line, PROMPT } from "./lines.ts";

const of = (fields: Readonly<Record<string, unknown>>) =>
  scheduledWakeup(line({ type: "user", message: { content: "x" }, ...fields }).entry);
const outcome = (toolUseResult: unknown, fields: object = {}) => of({ toolUseResult, ...fields });
const SCHEDULED = { scheduledFor: 1_795_731_780_000, clampedDelaySeconds: 60, wasClamped: false };

Deno.test("the time at which the model is woken is known by what its call has come to", () => {
  assertEquals(outcome(SCHEDULED), 1_795_731_780_000);
  assertEquals(outcome(SCHEDULED, { isSidechain: true }), undefined);
  assertEquals(outcome({ ...SCHEDULED, scheduledFor: 0, stopped: true }), "never");
  assertEquals(outcome({ ...SCHEDULED, scheduledFor: 0 }), "never", "the loop has lasted too long");
  assertEquals(outcome("Error: `prompt` is required"), undefined);
  assertEquals(outcome({ id: "a1b2c3d4", recurring: false }), undefined, "CronCreate");
});

Deno.test("once it is woken, and by nothing else that is asked, the model is not woken any more", () => {
  assertEquals(of({ isMeta: true, wakeupSource: "loop_wakeup" }), "never");
  assertEquals(of({ isMeta: true, wakeupSource: "schedule_wakeup" }), undefined);
  for (const { entry } of [PROMPT, answer("x")]) assertEquals(scheduledWakeup(entry), undefined);
});
