import { assertEquals } from "@std/assert";
import { Guard } from "../../src/driver/guard.ts";
import { processesOf } from "../leftovers.ts";
import { until } from "../standin/stand_in.ts";

Deno.test("Guard counts as a leftover while it is there, and ends nothing when it is disposed", async () => {
  const folder = Deno.makeTempDirSync();
  const configDir = `${folder}/config`;
  const tool = new Deno.Command("sleep", {
    args: ["1000"],
    env: { CLAUDE_CONFIG_DIR: configDir },
  }).spawn();
  try {
    const guard = new Guard(configDir, { path: Deno.env.get("PATH") });
    // A process that has just begun its program has no environment for a moment.
    await until(() => Promise.resolve(processesOf(folder).length === 2), "both are there");
    guard[Symbol.dispose]();
    guard[Symbol.dispose]();
    assertEquals(processesOf(folder).length, 1);
  } finally {
    tool.kill("SIGKILL");
    await tool.status;
    Deno.removeSync(folder);
  }
});
