import { assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { TranscriptSource } from "../../src/driver/sources/transcript_source.ts";

const append = (path: string, text: string) => Deno.writeTextFileSync(path, text, { append: true });
/** A line, by a word. */
const said = (word: string) => `${JSON.stringify({ word })}\n`;
const words = (source: TranscriptSource) => {
  source.find();
  return source.read().map((entry) => entry.type === "other" ? entry.line.word : entry);
};

Deno.test("TranscriptSource finds the session's transcript and gives whole lines", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  assertEquals(words(source), []);
  assertEquals(source.path, undefined);
  Deno.mkdirSync(`${configDir}/projects/-w/s1/subagents`, { recursive: true });
  append(`${configDir}/projects/-w/s1/subagents/a.jsonl`, "not this\n");
  const file = `${configDir}/projects/-w/s1.jsonl`;
  append(file, said("one") + said("two").slice(0, 5));
  assertEquals(words(source), ["one"]);
  append(file, said("two").slice(5) + said("thrée"));
  assertEquals(words(source), ["two", "thrée"]);
  assertEquals(source.path, file);
  Deno.removeSync(configDir, { recursive: true });
  assertEquals(words(source), []);
});

Deno.test("TranscriptSource gives only what follows a resumed transcript", () => {
  const configDir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  const file = `${configDir}/projects/-w/s1.jsonl`;
  append(file, said("old"));
  const source = new TranscriptSource({
    configDir,
    sessionId: "s1",
    resumed: new Map([["-w/s1.jsonl", said("old").length]]),
  });
  assertEquals(words(source), []);
  append(file, said("new"));
  assertEquals(words(source), ["new"]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource follows the new file of a forked session", () => {
  const configDir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  append(`${configDir}/projects/-w/s1.jsonl`, said("old"));
  const source = new TranscriptSource({
    configDir,
    sessionId: "s2",
    resumed: new Map([["-w/s1.jsonl", said("old").length]]),
  });
  append(`${configDir}/projects/-w/s2.jsonl`, said("old") + said("new"));
  assertEquals(words(source), ["old", "new"]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource leaves what else lies beside the transcript alone, whatever it is", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  const dir = `${configDir}/projects/-w`;
  Deno.mkdirSync(`${dir}/folder.jsonl`, { recursive: true });
  Deno.symlinkSync("/none", `${dir}/link.jsonl`);
  Deno.symlinkSync("/none", `${configDir}/projects/link`);
  makeFifo(`${dir}/fifo.jsonl`);
  append(`${dir}/s2.jsonl`, said("a hook's"));
  assertEquals([words(source), source.path], [[], undefined]);
  append(`${dir}/s1.jsonl`, said("ours"));
  assertEquals([words(source), source.path], [["ours"], `${dir}/s1.jsonl`]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource goes on where the transcript was moved to, and reads nothing twice", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  const [before, after] = ["-w", "-w-worktree"].map((slug) => `${configDir}/projects/${slug}`);
  Deno.mkdirSync(before ?? "", { recursive: true });
  append(`${before}/s1.jsonl`, said("one") + said("two").slice(0, 5));
  assertEquals(words(source), ["one"]);
  Deno.renameSync(before ?? "", after ?? "");
  append(`${after}/s1.jsonl`, said("two").slice(5) + said("three"));
  assertEquals([words(source), source.path], [["two", "three"], `${after}/s1.jsonl`]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource reads nothing from what is put in the transcript's place", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  const file = `${configDir}/projects/-w/s1.jsonl`;
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  append(file, said("one"));
  assertEquals(words(source), ["one"]);
  const instead = [
    () => Deno.mkdirSync(file),
    () => makeFifo(file),
    () => Deno.symlinkSync("/none", file),
    () => Deno.symlinkSync("/dev/zero", file),
    () => Deno.writeTextFileSync(file, ""),
  ];
  for (const put of instead) {
    Deno.removeSync(file);
    put();
    assertEquals(words(source), []);
  }
  Deno.removeSync(file);
  append(file, said("one") + said("two"));
  assertEquals(words(source), ["two"]);
  Deno.removeSync(configDir, { recursive: true });
});
