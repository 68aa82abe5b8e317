import { assertEquals, assertStringIncludes } from "@std/assert";
import { forNewestVersion } from "../for_each_version.ts";

forNewestVersion(
  "--debug-to-stderr tells the debug log, and nothing of it is left",
  async (real) => {
    const ours = await real.print(["--debug-to-stderr", "--", "Hi"]);
    assertEquals([ours.code, ours.stdout], [0, "Hello from the scripted API\n"]);
    assertStringIncludes(ours.stderr, "[DEBUG]");
    assertStringIncludes(ours.stderr, "/v1/messages");
  },
);
