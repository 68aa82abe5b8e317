import { assertEquals } from "@std/assert";
import { projectSettings } from "../../src/sandbox/project_settings.ts";

Deno.test("projectSettings() reads a folder's settings and those above it", () => {
  const root = Deno.makeTempDirSync();
  Deno.mkdirSync(`${root}/.claude`);
  Deno.mkdirSync(`${root}/a/b/.claude`, { recursive: true });
  Deno.writeTextFileSync(`${root}/.claude/settings.json`, '{"n":1}');
  Deno.writeTextFileSync(`${root}/a/b/.claude/settings.local.json`, '{"n":2}');
  Deno.writeTextFileSync(`${root}/a/b/.claude/settings.json`, "broken");
  const numbers = projectSettings(`${root}/a/b`).map(({ n }) => n).filter((n) => n !== undefined);
  assertEquals(numbers, [2, 1]);
  Deno.removeSync(root, { recursive: true });
});
