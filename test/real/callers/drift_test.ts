import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../start_program.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { RealClaude } from "../real_claude.ts";

Deno.test("drift --against says the prompts of cassettes again, offline, and compares", async () => {
  await using real = await RealClaude.set(REAL_VERSIONS.at(-1) ?? "");
  const folder = `${real.home.path}/cassette`;
  const recorded = await real.print([
    ...["--record", folder, "--api-cassette", folder, "--on-miss", "record"],
    ...["--output-format", "stream-json", "--verbose", "--allowedTools", "Bash", "--"],
    "Work. [[bash echo one]] [[say done]]",
  ]);
  assertEquals(recorded.code, 0, recorded.stderr);
  const tape = await Deno.readTextFile(`${folder}/tape.jsonl`);
  await Deno.writeTextFile(
    `${folder}/tape.jsonl`,
    tape.replace('"result":"done"', '"result":"gone"'),
  );
  const asked = real.api.requests.length;
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
  assertEquals(refused.against.again, 0);
  assertEquals(refused.against.skipped, [
    { path: folder, why: "it calls Bash, which --allowedTools does not name" },
  ]);
  assertEquals(refused.findings, []);
  const { against, findings, versions } = await drift("--allowedTools", "Bash");
  assertEquals(against, { version: real.version, again: 1, skipped: [] });
  assertEquals(versions, { [real.version]: 2 });
  assertEquals(findings.map(({ check, what }: Record<string, string>) => `${check}: ${what}`), [
    "answered otherwise: result: done instead of gone",
  ]);
  assertStringIncludes(findings[0].first.path, folder);
  assertEquals(real.api.requests.length, asked);
  // Nothing of the runs is left, in the folder of temporary files as well.
  assertEquals([...Deno.readDirSync(real.home.tmp)].map(({ name }) => name), []);
});
