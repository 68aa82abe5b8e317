import { assertEquals, assertStringIncludes } from "@std/assert";
import { fifoCheck } from "../../src/doctor/fifo_check.ts";
import { MISSING, NOWHERE } from "../nowhere.ts";

Deno.test("fifoCheck() takes a folder in which a run can work, and leaves it empty", async () => {
  const tmp = await Deno.makeTempDir();
  try {
    const { ok, detail, data } = await fifoCheck(tmp);
    assertEquals(ok, true, detail);
    assertStringIncludes(detail, `works in ${tmp}, `);
    assertEquals(typeof data["free_bytes"], "number");
    assertEquals([...Deno.readDirSync(tmp)], []);
  } finally {
    await Deno.remove(tmp);
  }
});

Deno.test("fifoCheck() does not take a folder that cannot be written to", async () => {
  for (const tmp of [NOWHERE, MISSING, "/dev/null", "/sys"]) {
    const { ok, suggestion } = await fifoCheck(tmp);
    assertEquals(ok, false, tmp);
    assertStringIncludes(suggestion ?? "", "Set TMPDIR");
  }
});
