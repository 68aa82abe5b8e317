import { assertEquals } from "@std/assert";
import { SubagentSource } from "../../src/driver/sources/subagent_source.ts";

const NOTE = { toolUseId: "t", agentType: "Explore", description: "Look" };

/** A line, by a word, and what is told of it. */
const said = (word: string) => `${JSON.stringify({ word })}\n`;
const told = (
  word: string,
  { agentId, ...more }: { agentId: string; toolUseId?: string; background?: true },
) => ({
  type: "subagent" as const,
  line: {
    subagent: {
      agentId,
      ...more,
      type: "Explore",
      description: "Look",
    },
    entry: { type: "other" as const, line: { word } },
  },
});

/** A source, and what writes files of subagents. */
function sourceIn(configDir: string, { mirrored }: { readonly mirrored: boolean }) {
  const dir = `${configDir}/projects/-w/s1/subagents`;
  const transcript = `${configDir}/projects/-w/s1.jsonl`;
  const source = new SubagentSource({
    configDir,
    resumed: new Map([["-w/s1/subagents/agent-old.jsonl", said("old").length]]),
    mirrored,
  });
  assertEquals(source.read(transcript), []);
  Deno.mkdirSync(dir, { recursive: true });
  return {
    read: () => source.read(transcript),
    readMoved: () => source.read(`${configDir}/projects/-w-worktree/s1.jsonl`),
    write: (agentId: string, text: string) =>
      Deno.writeTextFileSync(`${dir}/agent-${agentId}.jsonl`, text, { append: true }),
    note: (agentId: string, text: string | object) =>
      Deno.writeTextFileSync(
        `${dir}/agent-${agentId}.meta.json`,
        typeof text === "string" ? text : JSON.stringify(text),
      ),
  };
}

Deno.test("SubagentSource follows what a session's subagents write, once it knows whose they are", () => {
  const configDir = Deno.makeTempDirSync();
  const { read, readMoved, write, note } = sourceIn(configDir, { mirrored: false });
  write("a1", said("one") + said("two").slice(0, 5));
  assertEquals(read(), [], "there is no note about it yet");
  note("a1", '{"toolUseId":');
  assertEquals(read(), []);
  note("a1", NOTE);
  const subagent = { agentId: "a1", toolUseId: "t" };
  assertEquals(read(), [told("one", subagent)]);
  write("a1", said("two").slice(5));
  assertEquals(read(), [told("two", subagent)]);

  note("old", NOTE);
  write("old", said("old") + said("new"));
  assertEquals(read(), [told("new", { agentId: "old", toolUseId: "t" })]);
  const { toolUseId: _, ...uncalled } = NOTE;
  note("skill", uncalled);
  write("skill", said("skill"));
  assertEquals(read(), [told("skill", { agentId: "skill" })]);
  note("apart", { ...uncalled, requestShape: "background" });
  write("apart", said("skill"));
  assertEquals(read(), [told("skill", { agentId: "apart", background: true })]);

  Deno.renameSync(`${configDir}/projects/-w`, `${configDir}/projects/-w-worktree`);
  const moved = `${configDir}/projects/-w-worktree/s1/subagents/agent-a1.jsonl`;
  Deno.writeTextFileSync(moved, said("three"), { append: true });
  assertEquals(readMoved(), [told("three", subagent)]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("SubagentSource tells what is noted of them where they are mirrored, whenever that has changed", () => {
  const configDir = Deno.makeTempDirSync();
  const { read, write, note } = sourceIn(configDir, { mirrored: true });
  const { toolUseId: _, ...uncalled } = NOTE;
  note("skill", uncalled);
  write("skill", said("one"));
  const noted = (agentId: string, note: object) => ({ type: "subagent-note", agentId, note });
  assertEquals<unknown>(read(), [noted("skill", uncalled), told("one", { agentId: "skill" })]);
  assertEquals(read(), []);
  note("skill", '{"agentType":');
  assertEquals(read(), []);
  note("skill", uncalled);
  assertEquals(read(), []);
  const finished = { ...uncalled, finished: true };
  note("skill", finished);
  assertEquals<unknown>(read(), [noted("skill", finished)]);

  note("old", NOTE);
  write("old", said("old"));
  assertEquals(read(), [], "an earlier run has told of it");
  write("old", said("new"));
  const old = { agentId: "old", toolUseId: "t" };
  assertEquals<unknown>(read(), [noted("old", NOTE), told("new", old)]);
  write("old", said("newer"));
  assertEquals<unknown>(read(), [told("newer", old)]);
  for (const each of [{ ...NOTE, finished: true }, NOTE]) {
    note("old", each);
    assertEquals<unknown>(read(), [noted("old", each)]);
  }
  Deno.removeSync(configDir, { recursive: true });
});
