import { assertEquals, assertStringIncludes } from "@std/assert";
import { forNewestVersion } from "../for_each_version.ts";

forNewestVersion(
  "--debug-to-stderr tells the debug log, and nothing of it is left",
  async (real) => {
    const log = `${real.home.project}/log`;
    const ours = await real.print(["--debug-file", log, "--debug-to-stderr", "--", "Hi"]);
    assertEquals([ours.code, ours.stdout], [0, "Hello from the scripted API\n"]);
    assertStringIncludes(ours.stderr, "/v1/messages");
    // What it writes while it ends is told too.
    const last = (await Deno.readTextFile(log)).trimEnd().split("\n").at(-1) ?? "";
    assertStringIncludes(last, "[DEBUG]");
    assertStringIncludes(ours.stderr, last);
    await Deno.remove(log);
  },
);
