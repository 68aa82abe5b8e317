import { assertEquals } from "@std/assert";
import { placesFor } from "../../../src/sandbox/places/places.ts";

const ALL = ["/srv/tmp", "/tmp", "/var/tmp"] as const;
const placesFrom = (...folders: readonly string[]) =>
  placesFor(ALL, { folders, writable: folders });

Deno.test("placesFor() takes the first place, unless tools may write there", () => {
  for (const writable of ["/home", "/srv/tmp2", "/srv/tm", "/srv/tmp/claude", "/tmp", "/var"]) {
    assertEquals(placesFrom(writable)[0], "/srv/tmp", writable);
  }
});

Deno.test("placesFor() takes the places that tools cannot write to, and the first if there is none", () => {
  assertEquals(placesFrom("/srv"), ["/tmp", "/var/tmp", "/srv/tmp"]);
  assertEquals(placesFrom("/srv/tmp", "/tmp"), ["/var/tmp", "/srv/tmp"]);
  const runs = `/srv/tmp/claude-print-${Deno.uid()}`;
  assertEquals(placesFrom(runs, "/var"), ["/tmp", "/srv/tmp"]);
  assertEquals(placesFrom("/"), ["/srv/tmp"]);
});

Deno.test("placesFor() is not brought back into the working directory by settings that open every place", () => {
  const folders = ["/srv"];
  const writable = ["/srv", "/"];
  assertEquals(placesFor(ALL, { folders, writable }), ["/tmp", "/var/tmp", "/srv/tmp"]);
  assertEquals(placesFor(ALL, { folders, writable: ["/srv", "/tmp"] })[0], "/var/tmp");
});
