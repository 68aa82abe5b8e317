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
  Deno.writeTextFileSync(file, '{"pid":7}');
  assertEquals(source.read(), undefined);
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("StatusSource leaves out an idle status from before the turn ended, and no other", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new StatusSource({ configDir, pid: 7 });
  Deno.mkdirSync(`${configDir}/sessions`);
  const write = (status: string, updatedAt: number) =>
    Deno.writeTextFileSync(
      `${configDir}/sessions/7.json`,
      JSON.stringify({ status, updatedAt }),
    );
  const idleSince = 1000;
  write("idle", 900);
  assertEquals(source.read({ idleSince }), undefined);
  write("busy", 950);
  assertEquals(source.read({ idleSince }), { status: "busy" });
  write("idle", 1030);
  assertEquals(source.read({ idleSince }), { status: "idle" });
  const later = { idleSince: 1020 };
  assertEquals(source.read(later), { status: "idle" }, "it was read before the hook was heard");
  assertEquals(source.read(later), undefined);
  write("idle", 900);
  assertEquals(source.read(), { status: "idle" }, "before any turn has ended");
  Deno.removeSync(configDir, { recursive: true });
});
