import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import { askVersion } from "../../src/claude/ask_version.ts";
import { OTHER_USER_LACK } from "../security/other_user.ts";
import { unlessLacking } from "../unless_lacking.ts";

const SCRIPT = join(import.meta.dirname ?? ".", "say_version.ts");
const CONFIG = join(import.meta.dirname ?? ".", "../../deno.json");

/** Exit codes above it are those of a program that a signal has ended. */
const SIGNALLED = 128;

Deno.test("what is no Claude Code has no version", async () => {
  assertEquals(await askVersion("/bin/true", {}), undefined);
  assertEquals(await askVersion("/nonexistent", {}), undefined);
});

Deno.test(unlessLacking(OTHER_USER_LACK, {
  name: "as many processes as there may be are no unknown version",
  fn: async () => {
    // Somebody who has no other processes, and may do what root may in the folders of this program.
    const user = `${55_000 + Deno.pid % 5000}`;
    const rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
    const script = [Deno.execPath(), "run", "-A", "--quiet", "--no-check", "--config", CONFIG];
    for (let most = 6;; most++) {
      const limit = ["--reuid", user, "--clear-groups", ...rights, "prlimit", `--nproc=${most}`];
      const { code, stdout } = await new Deno.Command("setpriv", {
        args: [...limit, ...script, "--frozen", SCRIPT],
        env: { DENO_DIR: await denoDir() },
        stdin: "null",
        stderr: "null",
      }).output();
      // Deno itself aborts as long as it cannot have its threads.
      if (code > SIGNALLED && most < 20) continue;
      const said = new TextDecoder().decode(stdout);
      assertEquals(said, "Cannot start claude: there are as many processes as there may be\n");
      break;
    }
  },
}));
