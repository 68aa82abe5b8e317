import { assertEquals } from "@std/assert";
import { StatusSource } from "../../src/driver/sources/status_source.ts";

Deno.test("StatusSource tells each status once, and nothing while the file is not whole", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new StatusSource({ configDir, pid: 7 });
  assertEquals(source.read(), undefined);
  Deno.mkdirSync(`${configDir}/sessions`);
  const file = `${configDir}/sessions/7.json`;
  Deno.writeTextFileSync(file, "");
  assertEquals(source.read(), undefined);
  Deno.writeTextFileSync(file, '{"status":"waiting","waitingFor":"dialog open"}');
  assertEquals(source.read(), { status: "waiting", waitingFor: "dialog open" });
  assertEquals(source.read(), undefined);
  Deno.writeTextFileSync(file, '{"status":"busy"');
  assertEquals(source.read(), undefined);
  Deno.writeTextFileSync(file, '{"status":"busy"}');
  assertEquals(source.read(), { status: "busy" });
  Deno.writeTextFileSync(file, '{"status":"idle","updatedAt":900,"version":"2.1.330"}');
  assertEquals(source.read(), { status: "idle", updatedAt: 900, version: "2.1.330" });
  Deno.writeTextFileSync(file, '{"pid":7}');
  assertEquals(source.read(), undefined);
  Deno.removeSync(configDir, { recursive: true });
});
