import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join, resolve } from "node:path";
import { testUnderShells } from "./test_under_shells.ts";

const ROOT = join(import.meta.dirname ?? ".", "../..");
const EXECUTABLE = resolve(ROOT, Deno.env.get("CLAUDE_PRINT") || "dist/claude-print");

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

testUnderShells("the executable itself is installed, runs and is removed", async (user) => {
  const asset = `${user.path}/release/claude-print-x86_64-linux`;
  await Deno.symlink(EXECUTABLE, asset);
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(EXECUTABLE));
  await Deno.writeTextFile(`${asset}.sha256`, `${new Uint8Array(digest).toHex()}  claude-print\n`);
  const before = await user.tree();
  const { code, stdout } = await user.install(["--from", asset]);
  assertEquals(code, 0);
  assertMatch(stdout, /^Installed claude-print \d+\.\d+\.\d+.*: /m);
  const data = `${user.home}/.local/share`;
  const prints = async (...args: string[]) => {
    const { stdout } = await new Deno.Command(user.target, {
      args,
      clearEnv: true,
      env: { HOME: user.home, PATH: user.tools },
    }).output();
    return new TextDecoder().decode(stdout);
  };
  assertEquals(await Deno.readTextFile(`${data}/man/man1/claude-print.1`), await prints("man"));
  const completions = await prints("completion", "bash");
  assertStringIncludes(completions, "\ncomplete -F _claude_print claude-print\n");
  assertEquals(
    await Deno.readTextFile(`${data}/bash-completion/completions/claude-print`),
    completions,
  );
  assertEquals((await user.install(["--uninstall"])).code, 0);
  assertEquals(await user.tree(), before);
}, {
  newcomer: { folders: [".local/share/man", ".local/share/bash-completion"] },
  once: true,
  lack: isThere(EXECUTABLE) ? undefined : "dist/claude-print, which deno task compile makes",
});
