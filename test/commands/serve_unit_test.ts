import { assert, assertEquals, assertMatch } from "@std/assert";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import { isOurUnit } from "../../src/serve/unit/unit_files.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { startProgram } from "../start_program.ts";

Deno.test("serve --install writes units with its flags, leaves what is changed, and --uninstall removes them", async () => {
  const home = await Deno.makeTempDir();
  const serve = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    await startProgram([...CLAUDE_PRINT, "serve", ...args], {
      env: {
        HOME: home,
        PATH: "/usr/bin:/bin",
        DENO_DIR: await denoDir(),
        ANTHROPIC_API_KEY: "sk-ant-secret",
        ...env,
      },
      cwd: "/",
    }).ended;
  try {
    const nowhere = await serve(["--install"]);
    assertEquals([nowhere.code, nowhere.stdout], [2, ""]);
    assertMatch(nowhere.stderr, /XDG_RUNTIME_DIR is not set/u);
    const installed = await serve(["--install"], { XDG_RUNTIME_DIR: home });
    assertEquals([installed.code, installed.stderr], [0, ""]);
    assertMatch(installed.stdout, /systemctl --user enable --now claude-print\.socket/u);
    const path = `${home}/.config/systemd/user/claude-print.service`;
    const text = await Deno.readTextFile(path);
    assert(isOurUnit(text), text);
    assertMatch(text, /^ExecStart=".+" "serve"$/mu);
    assertMatch(text, /^Environment="PATH=\/usr\/bin:\/bin"$/mu);
    assert(!text.includes("sk-ant-secret"));
    await Deno.writeTextFile(path, "# mine\n", { append: true });
    const refused = await serve(["--uninstall"]);
    assertEquals([refused.code, refused.stdout], [2, ""]);
    assertMatch(refused.stderr, /claude-print\.service" was written or changed by somebody else/u);
    await Deno.writeTextFile(path, text);
    assertEquals((await serve(["--uninstall"])).code, 0);
    assertEquals([...Deno.readDirSync(`${home}/.config/systemd/user`)], []);
    assertMatch((await serve(["--uninstall"])).stdout, /^There is nothing to remove in /u);
    const both = await serve(["--uninstall", "--install"]);
    assertMatch(both.stderr, /--install and --uninstall were both given/u);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});
