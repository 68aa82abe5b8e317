import { assertEquals } from "@std/assert";
import { type HookNews, WrittenSource } from "../../src/driver/sources/written_source.ts";

Deno.test("what a hook told comes ahead of what the child did once the hook had returned", () => {
  const configDir = Deno.makeTempDirSync();
  const folder = `${configDir}/projects/-w`;
  Deno.mkdirSync(`${folder}/s1/subagents`, { recursive: true });
  Deno.mkdirSync(`${configDir}/sessions`);
  // The child runs at the worst of all moments: whenever its files have been read.
  let turn = 0;
  const happen = (): readonly HookNews[] => {
    turn += 1;
    if (turn > 3) return [];
    const append = { append: true };
    const line = `${JSON.stringify({ turn })}\n`;
    Deno.writeTextFileSync(`${folder}/s1.jsonl`, line, append);
    Deno.writeTextFileSync(`${folder}/s1/subagents/agent-a.jsonl`, line, append);
    Deno.writeTextFileSync(`${folder}/s1/subagents/agent-a.meta.json`, '{"agentType":"x"}');
    Deno.writeTextFileSync(`${configDir}/sessions/7.json`, `{"status":"idle","updatedAt":${turn}}`);
    return [{ type: "hook", event: "Stop", payload: { turn } }];
  };
  using source = new WrittenSource({
    configDir,
    resumed: new Map(),
    sessionId: "s1",
    pid: 7,
    frames: true,
    mirrored: false,
    retries: undefined,
    hooks: happen,
    now: () => 0,
  });
  const heard = [1, 2, 3, 4].map(() => [...source.read()].map(({ type }) => type));
  const done = ["status", "transcript", "subagent", "read"];
  assertEquals(heard, [["hook"], ["hook", ...done], ["hook", ...done], done]);
  Deno.removeSync(configDir, { recursive: true });
});
