import { assertEquals } from "@std/assert";
import { hasScheduledTasks } from "../../../src/sandbox/child/scheduled_tasks.ts";
import { NOWHERE } from "../../nowhere.ts";

Deno.test("hasScheduledTasks() looks into the .claude of each folder", () => {
  const root = Deno.makeTempDirSync();
  Deno.mkdirSync(`${root}/sub/.claude`, { recursive: true });
  assertEquals(hasScheduledTasks([`${root}/sub`, root]), false);
  Deno.mkdirSync(`${root}/.claude`);
  Deno.symlinkSync(NOWHERE, `${root}/.claude/scheduled_tasks.json`);
  assertEquals(hasScheduledTasks([`${root}/sub`, root]), true);
  Deno.removeSync(root, { recursive: true });
});
