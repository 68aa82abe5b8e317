import { assertEquals } from "@std/assert";
import { SubagentSource } from "../../src/driver/sources/subagent_source.ts";

const NOTE = { toolUseId: "t", agentType: "Explore", description: "Look" };

/** A line, by a word. */
const said = (word: string) => `${JSON.stringify({ word })}\n`;
const entry = (word: string) => ({ type: "other", line: { word } } as const);

Deno.test("SubagentSource follows what a session's subagents write, once it knows whose they are", () => {
  const configDir = Deno.makeTempDirSync();
  const transcript = `${configDir}/projects/-w/s1.jsonl`;
  const dir = `${configDir}/projects/-w/s1/subagents`;
  const source = new SubagentSource({
    configDir,
    resumed: new Map([["-w/s1/subagents/agent-old.jsonl", said("old").length]]),
  });
  assertEquals(source.read(transcript), []);
  Deno.mkdirSync(dir, { recursive: true });
  Deno.writeTextFileSync(`${dir}/agent-a1.jsonl`, said("one") + said("two").slice(0, 5));
  assertEquals(source.read(transcript), [], "there is no note about it yet");
  Deno.writeTextFileSync(`${dir}/agent-a1.meta.json`, '{"toolUseId":');
  assertEquals(source.read(transcript), []);
  Deno.writeTextFileSync(`${dir}/agent-a1.meta.json`, JSON.stringify(NOTE));
  const subagent = { agentId: "a1", toolUseId: "t", type: "Explore", description: "Look" };
  assertEquals(source.read(transcript), [{ subagent, entry: entry("one") }]);
  Deno.writeTextFileSync(`${dir}/agent-a1.jsonl`, said("two").slice(5), { append: true });
  assertEquals(source.read(transcript), [{ subagent, entry: entry("two") }]);

  Deno.writeTextFileSync(`${dir}/agent-old.meta.json`, JSON.stringify(NOTE));
  Deno.writeTextFileSync(`${dir}/agent-old.jsonl`, said("old") + said("new"));
  assertEquals(source.read(transcript).map(({ entry }) => entry), [entry("new")]);

  Deno.renameSync(`${configDir}/projects/-w`, `${configDir}/projects/-w-worktree`);
  const moved = `${configDir}/projects/-w-worktree/s1`;
  Deno.writeTextFileSync(`${moved}/subagents/agent-a1.jsonl`, said("three"), { append: true });
  assertEquals(source.read(`${moved}.jsonl`), [{ subagent, entry: entry("three") }]);
  Deno.removeSync(configDir, { recursive: true });
});
