import { assertEquals } from "@std/assert";
import { Deadlines } from "../../src/driver/deadlines.ts";

Deno.test("Deadlines are taken once they are due, and that of the run is never put off", () => {
  const deadlines = new Deadlines();
  assertEquals(deadlines.next, Infinity);
  deadlines.set("timeout", 100);
  deadlines.set("idle", 50);
  deadlines.set("look", 20);
  deadlines.set("look", undefined);
  assertEquals(deadlines.next, 50);
  deadlines.postpone(10);
  assertEquals([deadlines.next, [...deadlines.take(() => 59)]], [60, []]);
  deadlines.postpone(50);
  assertEquals([...deadlines.take(() => 110)], ["timeout", "idle"]);
  assertEquals([...deadlines.take(() => 110)], []);
});

Deno.test("Deadlines that are set or taken back meanwhile are not taken", () => {
  const deadlines = new Deadlines();
  for (const name of ["idle", "look", "drain"] as const) deadlines.set(name, 1);
  const taken: string[] = [];
  for (const name of deadlines.take(() => 1)) {
    taken.push(name);
    deadlines.set("look", undefined);
    deadlines.set("drain", 2);
  }
  assertEquals([taken, deadlines.next], [["idle"], 2]);
});
