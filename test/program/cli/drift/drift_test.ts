import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { startProgram } from "../../../start_program.ts";
import { tempFolder } from "../../../temp_folder.ts";

const RUN =
  new URL("../../../../fixtures/recordings/runs/2.1.332/answer", import.meta.url).pathname;

async function drift(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return await startProgram([...CLAUDE_PRINT, "drift", ...args], {
    env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir(), ...env },
    cwd: "/",
  }).ended;
}

/** A folder with an empty one, and a tape of something unknown. */
async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  await Deno.mkdir(`${folder}/empty`);
  await Deno.writeTextFile(`${folder}/new.jsonl`, '{"type":"news##[error]"}\n');
  await use(folder);
}

Deno.test("known recordings pass, an empty folder fails", async () => {
  await inFolder(async (folder) => {
    const [well, empty, allowed, missing] = await Promise.all([
      drift([RUN]),
      drift([`${folder}/empty`]),
      drift([`${folder}/empty`, "--allow-empty"]),
      drift([`${folder}/none`]),
    ]);
    assertEquals([well.code, empty.code, allowed.code, missing.code], [0, 1, 0, 2]);
    assertStringIncludes(well.stdout, "Checked 1 recording (1 of 2.1.332)");
    assertStringIncludes(empty.stdout, "Nothing was found to check");
    assertStringIncludes(missing.stderr, "it does not exist");
  });
});

Deno.test("under GITHUB_ACTIONS differences are annotations and a summary", async () => {
  await inFolder(async (folder) => {
    const env = { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: `${folder}/summary.md` };
    await Deno.writeTextFile(env.GITHUB_STEP_SUMMARY, "Before\n");
    const table = await drift([`${folder}/new.jsonl`], env);
    assertEquals(table.code, 1);
    assert(table.stderr.startsWith("::error file="));
    assert(!`${table.stdout}${table.stderr}`.includes("##["));
    const summary = await Deno.readTextFile(env.GITHUB_STEP_SUMMARY);
    assert(summary.startsWith("Before\n"));
    assertStringIncludes(summary, "| <code>claude&#45;print</code> | <code>type unknown</code> |");
    const { stdout, stderr } = await drift([`${folder}/new.jsonl`, "--json"], {
      ...env,
      GITHUB_STEP_SUMMARY: `${folder}/none/summary.md`,
    });
    assertStringIncludes(stderr, "Cannot write the summary");
    const { ok, findings: [finding] } = JSON.parse(stdout);
    assertEquals([ok, finding.what], [false, "news##[error]"]);
    assert(!stdout.includes("##["));
  });
});
