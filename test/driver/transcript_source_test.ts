import { assertEquals } from "@std/assert";
import { TranscriptSource } from "../../src/driver/transcript_source.ts";

const append = (path: string, text: string) => Deno.writeTextFileSync(path, text, { append: true });

Deno.test("TranscriptSource finds the one transcript and gives whole lines", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new TranscriptSource({ configDir, resumed: new Map() });
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
  const source = new TranscriptSource({ configDir, resumed: new Map([["-w/s1.jsonl", 4]]) });
  assertEquals(source.read(), []);
  append(file, "new\n");
  assertEquals(source.read(), ["new"]);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("TranscriptSource follows the new file of a forked session", () => {
  const configDir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${configDir}/projects/-w`, { recursive: true });
  append(`${configDir}/projects/-w/s1.jsonl`, "old\n");
  const source = new TranscriptSource({ configDir, resumed: new Map([["-w/s1.jsonl", 4]]) });
  append(`${configDir}/projects/-w/s2.jsonl`, "old\nnew\n");
  assertEquals(source.read(), ["old", "new"]);
  Deno.removeSync(configDir, { recursive: true });
});
