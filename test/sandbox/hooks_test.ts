import { assertEquals } from "@std/assert";
import { hookSettings } from "../../src/sandbox/hooks.ts";

Deno.test("hooks of a compaction are for one that comes by itself: a typed one is told anyway", () => {
  const settings = hookSettings("/x", { events: ["Stop", "PreCompact"], held: false });
  const hooks = [{ type: "command", command: "exec /bin/sh '/x'", timeout: 60 }];
  assertEquals(settings, { Stop: [{ hooks }], PreCompact: [{ matcher: "auto", hooks }] });
});
