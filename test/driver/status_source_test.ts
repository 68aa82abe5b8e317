import { assertEquals } from "@std/assert";
import { StatusSource } from "../../src/driver/sources/status_source.ts";

Deno.test("StatusSource tells each status once, and nothing while the file is not whole", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new StatusSource({ configDir, pid: 7, sessionId: "s" });
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

Deno.test("StatusSource reads a file no more that nobody has written to for long, as for most of a turn", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new StatusSource({ configDir, pid: 7, sessionId: "s" });
  Deno.mkdirSync(`${configDir}/sessions`);
  const file = `${configDir}/sessions/7.json`;
  const write = (status: string, secondsAgo: number) => {
    Deno.writeTextFileSync(file, JSON.stringify({ status }));
    const time = Date.now() / 1000 - secondsAgo;
    Deno.utimeSync(file, time, time);
    return () => Deno.utimeSync(file, time, time);
  };
  const asBefore = write("busy", 100);
  assertEquals([source.read()?.status, source.read()], ["busy", undefined]);
  // Nothing tells of this but the file's content.
  Deno.writeTextFileSync(file, '{"status":"idle"}');
  asBefore();
  assertEquals(source.read(), undefined);
  write("idle", 50);
  assertEquals([source.read()?.status, source.read()], ["idle", undefined]);
  // What a read saw so soon may be written once more within the same tick of the disk's clock.
  const now = Date.now() / 1000 + 100;
  Deno.utimeSync(file, now, now);
  assertEquals(source.read()?.status, "idle");
  Deno.writeTextFileSync(file, '{"status":"busy"}');
  Deno.utimeSync(file, now, now);
  assertEquals(source.read()?.status, "busy");
  Deno.removeSync(configDir, { recursive: true });
});

Deno.test("StatusSource takes the session's file where the child has another pid for itself", () => {
  const configDir = Deno.makeTempDirSync();
  const source = new StatusSource({ configDir, pid: 7, sessionId: "s" });
  Deno.mkdirSync(`${configDir}/sessions`);
  const write = (pid: number, record: object) =>
    Deno.writeTextFileSync(`${configDir}/sessions/${pid}.json`, JSON.stringify(record));
  write(3, { sessionId: "another", status: "busy" });
  assertEquals(source.read(), undefined);
  write(2, { sessionId: "s", status: "idle" });
  assertEquals(source.read(), { status: "idle" });
  write(2, { sessionId: "s", status: "busy", waitingFor: "dialog open" });
  assertEquals(source.read(), { status: "busy", waitingFor: "dialog open" });
  Deno.removeSync(configDir, { recursive: true });
});
