import { assertEquals } from "@std/assert";
import { placesFor } from "../../src/sandbox/places_for.ts";

const ALL = ["/work/tmp", "/tmp", "/var/tmp"] as const;
const placesFrom = (...folders: readonly string[]) =>
  placesFor(ALL, { folders, writable: folders });

Deno.test("placesFor() takes the first place, unless tools may write there", () => {
  for (const writable of ["/home", "/work/tmp2", "/work/tm", "/work/tmp/claude", "/tmp", "/var"]) {
    assertEquals(placesFrom(writable)[0], "/work/tmp", writable);
  }
});

Deno.test("placesFor() takes the places that tools cannot write to, and the first if there is none", () => {
  assertEquals(placesFrom("/work"), ["/tmp", "/var/tmp", "/work/tmp"]);
  assertEquals(placesFrom("/work/tmp", "/tmp"), ["/var/tmp", "/work/tmp"]);
  const runs = `/work/tmp/claude-print-${Deno.uid()}`;
  assertEquals(placesFrom(runs, "/var"), ["/tmp", "/work/tmp"]);
  assertEquals(placesFrom("/"), ["/work/tmp"]);
});

Deno.test("placesFor() is not brought back into the working directory by settings that open every place", () => {
  const folders = ["/work"];
  const writable = ["/work", "/"];
  assertEquals(placesFor(ALL, { folders, writable }), ["/tmp", "/var/tmp", "/work/tmp"]);
  assertEquals(placesFor(ALL, { folders, writable: ["/work", "/tmp"] })[0], "/var/tmp");
});
