import { assertEquals } from "@std/assert";
import { SubagentSource } from "../../src/driver/subagent_source.ts";

const NOTE = { toolUseId: "t", agentType: "Explore", description: "Look" };

Deno.test("SubagentSource follows what a session's subagents write, once it knows whose they are", () => {
  const configDir = Deno.makeTempDirSync();
  const transcript = `${configDir}/projects/-w/s1.jsonl`;
  const dir = `${configDir}/projects/-w/s1/subagents`;
  const source = new SubagentSource({
    configDir,
    resumed: new Map([["-w/s1/subagents/agent-old.jsonl", 4]]),
  });
  assertEquals(source.read(transcript), []);
  Deno.mkdirSync(dir, { recursive: true });
  Deno.writeTextFileSync(`${dir}/agent-a1.jsonl`, "one\ntw");
  assertEquals(source.read(transcript), [], "there is no note about it yet");
  Deno.writeTextFileSync(`${dir}/agent-a1.meta.json`, '{"toolUseId":');
  assertEquals(source.read(transcript), []);
  Deno.writeTextFileSync(`${dir}/agent-a1.meta.json`, JSON.stringify(NOTE));
  const subagent = { agentId: "a1", toolUseId: "t", type: "Explore", description: "Look" };
  assertEquals(source.read(transcript), [{ subagent, line: "one" }]);
  Deno.writeTextFileSync(`${dir}/agent-a1.jsonl`, "o\n", { append: true });
  assertEquals(source.read(transcript), [{ subagent, line: "two" }]);

  Deno.writeTextFileSync(`${dir}/agent-old.meta.json`, JSON.stringify(NOTE));
  Deno.writeTextFileSync(`${dir}/agent-old.jsonl`, "old\nnew\n");
  assertEquals(source.read(transcript).map(({ line }) => line), ["new"]);

  Deno.renameSync(`${configDir}/projects/-w`, `${configDir}/projects/-w-worktree`);
  const moved = `${configDir}/projects/-w-worktree/s1`;
  Deno.writeTextFileSync(`${moved}/subagents/agent-a1.jsonl`, "three\n", { append: true });
  assertEquals(source.read(`${moved}.jsonl`), [{ subagent, line: "three" }]);
  Deno.removeSync(configDir, { recursive: true });
});
