import { assertEquals, assertMatch } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

/** Installs the shim before the real Claude Code on PATH, and says how to call it. */
async function shimmed(real: RealClaude) {
  const { path, project, env: given } = real.home;
  await Deno.mkdir(`${path}/real`);
  await Deno.symlink(real.binary, `${path}/real/claude`);
  const env = { ...given, PATH: `${path}/shim:${path}/real:${given["PATH"]}` };
  const install = [...CLAUDE_PRINT, "shim", "install", `${path}/shim`];
  assertEquals((await startProgram(install, { env, cwd: project }).ended).code, 0);
  return (
    args: readonly string[],
    options: { readonly stdin?: string } = {},
  ) =>
    startProgram(["/usr/bin/env", "claude", ...args], {
      stdin: options.stdin,
      env,
      cwd: project,
    }).ended;
}

forNewestVersion(
  "what the Agent SDKs ask for through the shim is a run of claude-print",
  async (real) => {
    const claude = await shimmed(real);
    const ask = { type: "user", message: { role: "user", content: "[[say hi]]" } };
    const { code, stdout, stderr } = await claude(
      ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"],
      { stdin: `${JSON.stringify({ ...ask, parent_tool_use_id: null, session_id: "" })}\n` },
    );
    assertEquals([code, stderr], [0, ""]);
    const { result, claude_version } = parseFrames(stdout).at(-1) ?? {};
    assertEquals([result, claude_version], ["hi", real.version]);
    assertMatch(real.api.turns.at(-1)?.text ?? "", /cc_entrypoint=cli;/u);
  },
);
