import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join, resolve } from "node:path";
import { findTool, missingTool } from "../../missing_tool.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { INSTALLER, makeNewcomer } from "./newcomer.ts";
import { SHELLS } from "../../shells.ts";
import { testUnderShells } from "./test_under_shells.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";
import { startProgram } from "../../start_program.ts";

const SCRIPT = await Deno.readTextFile(INSTALLER);

for (const dialect of ["sh", "dash"]) {
  const shellcheck = findTool("shellcheck");
  Deno.test(skipIfLacking(missingTool("shellcheck"), {
    name: `install.sh passes shellcheck as ${dialect}`,
    fn: async () => {
      const { stdout } = await new Deno.Command(shellcheck ?? "", {
        args: ["-s", dialect, INSTALLER],
      }).output();
      assertEquals(new TextDecoder().decode(stdout), "");
    },
  }));
}

Deno.test("a truncated install.sh does nothing", async () => {
  // Cuts at every byte of the last line, and in every fourth of the other lines.
  const lines = [...SCRIPT.matchAll(/\n/g)]
    .flatMap(({ index }, line) => line % 4 === 0 ? [index + 1 + (line % 8) * 3] : []);
  const end = SCRIPT.lastIndexOf("\n", SCRIPT.length - 2);
  const last = Array.from({ length: SCRIPT.length - 2 - end }, (_, index) => end + index);
  const cuts = [...new Set([...lines.filter((cut) => cut < end), ...last])];
  const [shell] = SHELLS;
  await using user = await makeNewcomer(shell ?? { name: "", command: [], bringsTools: false });
  // One shell tries them all: each cut-off script is run by a shell of its own with --uninstall,
  // which would complain, if it did anything, that there is nothing to remove.
  const script = `for cut in ${cuts.join(" ")}; do
    /usr/bin/head -c "$cut" "$1" | "$2" -s -- --uninstall 2>&1 |
      while read -r line; do case $line in *Cannot*) echo "$cut: $line" ;; esac; done
  done`;
  const { stdout } = await startProgram(
    ["/bin/sh", "-c", script, "sh", INSTALLER, ...shell?.command ?? []],
    { env: { HOME: user.home, PATH: user.tools }, cwd: user.path },
  ).ended;
  assertEquals(stdout, "");
  assertEquals(await user.tree(), {});
});

testUnderShells("--help has all flags, in 80 columns", async (user) => {
  for (const flag of ["--help", "-h"]) {
    const { code, stdout, stderr } = await user.install([flag], { piped: true });
    assertEquals([code, stderr], [0, ""]);
    const [, parsed = ""] = /parse_arguments\(\) \{(.*?)\n\}/s.exec(SCRIPT) ?? [];
    for (const [name] of parsed.matchAll(/--[a-z]+/g)) assertStringIncludes(stdout, `  ${name}`);
    for (const line of stdout.split("\n")) assertEquals(line.slice(80), "");
  }
});

const ROOT = join(import.meta.dirname ?? ".", "../../..");
const EXECUTABLE = resolve(ROOT, Deno.env.get("CLAUDE_PRINT") || "dist/claude-print");

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

testUnderShells("the executable is installed, runs and is removed", async (user) => {
  const asset = `${user.path}/release/claude-print-x86_64-linux`;
  await Deno.symlink(EXECUTABLE, asset);
  const digest = await sha256(await Deno.readFile(EXECUTABLE));
  await Deno.writeTextFile(`${asset}.sha256`, `${digest}  claude-print\n`);
  const before = await user.tree();
  const { code, stdout } = await user.install(["--from", asset]);
  assertEquals(code, 0);
  assertMatch(stdout, /^Installed claude-print \d+\.\d+\.\d+.*: /m);
  const data = `${user.home}/.local/share`;
  const prints = async (...args: string[]) => {
    const options = { env: { HOME: user.home, PATH: user.tools }, cwd: user.path };
    return (await startProgram([user.target, ...args], options).ended).stdout;
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
