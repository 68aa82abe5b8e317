import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { escapeWorkflowCommands } from "../../../../src/cli/report/print.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { startProgram } from "../../../start_program.ts";

Deno.test("no line of a text is a command of GitHub's", () => {
  assertEquals(
    escapeWorkflowCommands(
      "::error::a\n \t::set-env name=b::c\na::b\n:::\nd ##[error]e ###[\n:\n: :",
    ),
    ": :error::a\n \t: :set-env name=b::c\na::b\n: ::\nd # #[error]e ## #[\n:\n: :",
  );
});

Deno.test("under GITHUB_ACTIONS nothing that a recording holds is a command", async () => {
  const folder = await Deno.makeTempDir();
  const hostile = "\n::error::x##[error]y";
  const tape = `${folder}/##[error]t.jsonl`;
  const prompt = { type: "user", message: { role: "user", content: hostile } };
  const result = { type: "result", subtype: "success", is_error: false, result: "" };
  await Deno.writeTextFile(
    tape,
    [
      { dir: "write", data: `${JSON.stringify(prompt)}\n` },
      { dir: "read", frame: { ...result, num_turns: 1, session_id: "s" } },
    ].map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
  const other = `${folder}/other.jsonl`;
  await Deno.writeTextFile(other, "");
  const cassette = async (...args: readonly string[]) =>
    await startProgram([...CLAUDE_PRINT, "cassette", ...args], {
      env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir(), GITHUB_ACTIONS: "true" },
      cwd: folder,
    }).ended;
  const told = await Promise.all([
    cassette("lint", tape),
    cassette("diff", tape, other),
    cassette("replay", tape, "--", "-p", "something else"),
  ]);
  const [lint, diff, replay] = told;
  assertEquals(told.map(({ code }) => code), [0, 1, 1]);
  for (const { stdout, stderr } of told) assert(!/##\[|^\s*::/mu.test(`${stdout}\n${stderr}`));
  assertStringIncludes(lint.stdout, "# #[error]t.jsonl replays as the program");
  assertStringIncludes(diff.stdout, "::error::x# #[error]y");
  assertStringIncludes(replay.stderr, "# #[error]t.jsonl");
  await Deno.remove(folder, { recursive: true });
});
