import { assertEquals } from "@std/assert";
import { HeldFolder } from "../../../ffi/files/held_folder.ts";

Deno.test("HeldFolder finds a folder below another one, and follows no link to it", () => {
  const base = Deno.makeTempDirSync();
  Deno.mkdirSync(`${base}/a/b`, { recursive: true });
  Deno.symlinkSync("a", `${base}/link`);
  Deno.symlinkSync("b", `${base}/a/link`);
  Deno.writeTextFileSync(`${base}/a/file`, "");
  using found = HeldFolder.find(base, ["a", "b"]);
  assertEquals(found !== undefined, true);
  const others = [["link", "b"], ["a", "link"], ["a", "file"], ["a", "none"], ["a", "none", "b"]];
  for (const names of others) assertEquals(HeldFolder.find(base, names), undefined);
  assertEquals(HeldFolder.find(`${base}/none`, []), undefined);
  Deno.removeSync(base, { recursive: true });
});

Deno.test("HeldFolder stays the folder that it found, whatever takes its place", () => {
  const base = Deno.makeTempDirSync();
  Deno.mkdirSync(`${base}/a`);
  Deno.writeTextFileSync(`${base}/a/one`, "");
  using found = HeldFolder.find(base, ["a"]);
  Deno.renameSync(`${base}/a`, `${base}/moved`);
  Deno.symlinkSync("/etc", `${base}/a`);
  assertEquals(found?.names({ most: 10 }), ["one"]);
  Deno.removeSync(base, { recursive: true });
  assertEquals(found?.names({ most: 10 }), []);
});

Deno.test("HeldFolder lists no more names than it is asked for, but for some", () => {
  const base = Deno.makeTempDirSync();
  const long = "x".repeat(200);
  for (let number = 0; number < 400; number++) Deno.mkdirSync(`${base}/${long}${number}`);
  using found = HeldFolder.find(base, []);
  assertEquals((found?.names({ most: 1 }).length ?? 0) < 400, true);
  assertEquals(found?.names({ most: Infinity }).length, 400);
  Deno.removeSync(base, { recursive: true });
});
