import { assertEquals } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { isSubcommand } from "../../../../src/cli/commands/real_claude.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { writeScript } from "../../../write_script.ts";
import { startProgram } from "../../../start_program.ts";

Deno.test("a word is a subcommand as in the installed version", () => {
  const rows: readonly (readonly [string, string | undefined, boolean])[] = [
    ["mcp list", "2.1.330", true],
    ["mcp list", "2.1.100", true],
    ["purge", "2.1.332", true],
    ["purge", undefined, true],
    ["hello", "2.1.330", false],
    // Claude Code takes the word for a prompt then.
    ["mcp list -p", "2.1.330", false],
    ["mcp --print list", "2.1.330", false],
    ["mcp add x -- npx -p y", "2.1.330", true],
  ];
  for (const [line, version, expected] of rows) {
    assertEquals(isSubcommand(line.split(" "), version), expected, `${line}, ${version}`);
  }
});

Deno.test("the real claude gets a subcommand as it was typed", async () => {
  const folder = await Deno.makeTempDir();
  await using undo = new AsyncDisposableStack();
  undo.defer(() => Deno.remove(folder, { recursive: true }));
  const claude = `${folder}/claude`;
  await writeScript(
    claude,
    '#!/bin/sh\n[ "$*" != --version ] || { echo "2.1.330 (Claude Code)"; exit; }\n' +
      'printf "%s\\0" "$@"; cat; echo why >&2; exit 7\n',
  );
  const args = ["mcp", "add", "x y", "--json", "-v", "--", "npx", "-p", "$HOME"];
  for (const named of [[], ["--claude-binary", claude]]) {
    const { ended } = startProgram([...CLAUDE_PRINT, ...named, ...args], {
      env: { PATH: named.length === 0 ? `${folder}:/bin` : "/bin", DENO_DIR: await denoDir() },
      cwd: folder,
      stdin: "typed",
    });
    assertEquals(await ended, { code: 7, stdout: `${args.join("\0")}\0typed`, stderr: "why\n" });
  }
});
