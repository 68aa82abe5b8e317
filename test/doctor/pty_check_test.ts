import { assertEquals, assertMatch } from "@std/assert";
import { ptyCheck } from "../../src/doctor/pty_check.ts";

Deno.test("ptyCheck() runs a shell in a pseudo-terminal", async () => {
  const { ok, detail } = await ptyCheck();
  assertEquals(ok, true, detail);
  assertMatch(detail, /^a shell ran in \/dev\/pts\/\d+, \d+ ms$/);
});
