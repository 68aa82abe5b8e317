import { assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/fifo.ts";
import { TranscriptSource } from "../../src/driver/transcript_source.ts";

const append = (path: string, text: string) => Deno.writeTextFileSync(path, text, { append: true });

Deno.test("TranscriptSource finds the session's transcript and gives whole lines", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  assertEquals(source.read(), []);
  assertEquals(source.path, undefined);
  Deno.mkdirSync(`${configDir}/projects/-w/s1/subagents`, { recursive: true });
  append(`${configDir}/projects/-w/s1/subagents/a.jsonl`, "not this\n");
  const file = `${configDir}/projects/-w/s1.jsonl`;
  append(file, "one\ntw");
  assertEquals(source.read(), ["one"]);
  append(file, "o\nthrée\n");
  assertEquals(source.read(), ["two", "thrée"]);
  assertEquals(source.path, file);
  Deno.removeSync(configDir, { recursive: true });
  assertEquals(source.read(), []);
});

Deno.test("TranscriptSource gives only what follows a resumed transcript", () => {
  const configDir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  const file = `${configDir}/projects/-w/s1.jsonl`;
  append(file, "old\n");
  const source = new TranscriptSource({
    configDir,
    sessionId: "s1",
    resumed: new Map([["-w/s1.jsonl", 4]]),
  });
  assertEquals(source.read(), []);
  append(file, "new\n");
  assertEquals(source.read(), ["new"]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource follows the new file of a forked session", () => {
  const configDir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  append(`${configDir}/projects/-w/s1.jsonl`, "old\n");
  const source = new TranscriptSource({
    configDir,
    sessionId: "s2",
    resumed: new Map([["-w/s1.jsonl", 4]]),
  });
  append(`${configDir}/projects/-w/s2.jsonl`, "old\nnew\n");
  assertEquals(source.read(), ["old", "new"]);
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
  append(`${dir}/s2.jsonl`, "a hook's\n");
  assertEquals([source.read(), source.path], [[], undefined]);
  append(`${dir}/s1.jsonl`, "ours\n");
  assertEquals([source.read(), source.path], [["ours"], `${dir}/s1.jsonl`]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource goes on where the transcript was moved to, and reads nothing twice", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  const [before, after] = ["-w", "-w-worktree"].map((slug) => `${configDir}/projects/${slug}`);
  Deno.mkdirSync(before ?? "", { recursive: true });
  append(`${before}/s1.jsonl`, "one\ntw");
  assertEquals(source.read(), ["one"]);
  Deno.renameSync(before ?? "", after ?? "");
  append(`${after}/s1.jsonl`, "o\nthree\n");
  assertEquals([source.read(), source.path], [["two", "three"], `${after}/s1.jsonl`]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource reads nothing from what is put in the transcript's place", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, sessionId: "s1", resumed: new Map() });
  const file = `${configDir}/projects/-w/s1.jsonl`;
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  append(file, "one\n");
  assertEquals(source.read(), ["one"]);
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
    assertEquals(source.read(), []);
  }
  Deno.removeSync(file);
  append(file, "one\ntwo\n");
  assertEquals(source.read(), ["two"]);
  Deno.removeSync(configDir, { recursive: true });
});
