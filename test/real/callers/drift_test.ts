import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../start_program.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { RealClaude } from "../real_claude.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/", import.meta.url).pathname;

Deno.test("drift --against says the prompts of cassettes again, offline, and compares", async () => {
  await using real = await RealClaude.set(REAL_VERSIONS.at(-1) ?? "");
  const [newest = ""] = [...Deno.readDirSync(RUNS)].map(({ name }) => name).toSorted().reverse();
  const folder = `${real.home.path}/cassette`;
  await Deno.mkdir(`${folder}/api`, { recursive: true });
  const from = `${RUNS}${newest}/offline`;
  for (const name of ["child.cast", "meta.json", ...files(`${from}/api`)]) {
    await Deno.copyFile(`${from}/${name}`, `${folder}/${name}`);
  }
  const tape = await Deno.readTextFile(`${from}/tape.jsonl`);
  const otherwise = tape.replace('"result":"done"', '"result":"gone"');
  await Deno.writeTextFile(`${folder}/tape.jsonl`, otherwise);
  const drift = async (...args: readonly string[]) => {
    const { ended } = startProgram(
      [...CLAUDE_PRINT, "drift", folder, "--against", real.binary, "--no-sdk", "--json", ...args],
      { env: real.home.env, cwd: real.home.project },
    );
    const { code, stdout, stderr } = await ended;
    assertEquals([code, stderr], [1, ""]);
    return JSON.parse(stdout);
  };
  const refused = await drift();
  assertEquals(refused.against, {
    version: real.version,
    again: 0,
    skipped: [{ path: folder, why: "it calls Bash, which --allowedTools does not name" }],
  });
  assertEquals(refused.findings, []);
  const { against, findings } = await drift("--allowedTools", "Bash");
  assertEquals(against, { version: real.version, again: 1, skipped: [] });
  assertEquals(findings.map(({ check, what }: Record<string, string>) => `${check}: ${what}`), [
    "answered otherwise: result: done instead of gone",
  ]);
  assertStringIncludes(findings[0].first.path, folder);
  assertEquals(real.api.requests.length, 0);
  // Nothing of the runs is left, in the folder of temporary files as well.
  assertEquals([...Deno.readDirSync(real.home.tmp)].map(({ name }) => name), []);
});

function files(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => `api/${name}`);
}
