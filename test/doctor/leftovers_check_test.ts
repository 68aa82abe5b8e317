import { assertEquals } from "@std/assert";
import { leftoversCheck } from "../../src/doctor/leftovers_check.ts";
import type { SweepVerdict, SweptFolder } from "../../src/sandbox/folder/sweep.ts";

const found = (path: string, verdict: SweepVerdict): SweptFolder => ({
  path,
  verdict,
  reason: "a reason",
  rescued: 0,
});

const check = (...swept: readonly SweptFolder[]) =>
  leftoversCheck({ swept, places: ["/tmp", "/var/tmp"] });

Deno.test("leftoversCheck() takes folders of living runs and of others", () => {
  const { ok, detail, data } = check(found("/tmp/a", "live"), found("/tmp/b", "foreign"));
  assertEquals([ok, detail], [true, "none in /tmp, /var/tmp"]);
  assertEquals([data["live"], data["foreign"]], [["/tmp/a"], ["/tmp/b"]]);
});

Deno.test("leftoversCheck() names what runs left, and how to remove it", () => {
  const one = check(found("/tmp/a", "abandoned"), found("/tmp/b", "live"));
  assertEquals([one.ok, one.detail], [false, "A run left /tmp/a"]);
  assertEquals(
    one.suggestion,
    "Bring transcripts home and remove what is left: claude-print sweep",
  );
  const three = check(...["/tmp/a", "/tmp/b", "/tmp/c"].map((path) => found(path, "abandoned")));
  assertEquals(three.detail, "A run left /tmp/a and 2 more");
  assertEquals(three.data["abandoned"], ["/tmp/a", "/tmp/b", "/tmp/c"]);
});

Deno.test("leftoversCheck() says what a sweep would not remove", () => {
  const { ok, detail } = check(found("/tmp/a", "kept"));
  assertEquals([ok, detail], [false, "Cannot sweep /tmp/a: a reason"]);
});
