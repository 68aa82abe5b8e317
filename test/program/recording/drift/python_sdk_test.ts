import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../../src/cli_error.ts";
import { pythonVerdict } from "../../../../src/recording/drift/python_sdk.ts";
import { writeScript } from "../../../write_script.ts";
import { tempFolder } from "../../../temp_folder.ts";

/** Runs a test with a shell script in the place of an interpreter. */
async function withPython(script: string, use: (python: string) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  const python = `${folder}/python3`;
  await writeScript(python, `#!/bin/sh\n${script}\n`);
  await use(python);
}

Deno.test("an interpreter that does not answer is ended", async () => {
  await withPython("sleep 1000 & wait", async (python) => {
    const { message, suggestion } = await assertRejects(
      () => pythonVerdict(python, { tapes: [], limitMs: 1 }),
      CliError,
    );
    assertEquals(
      message,
      `Cannot ask the Agent SDK of ${python}: it has not answered within 0.001 s`,
    );
    assertEquals(suggestion?.includes("--no-sdk"), true);
    const stop = new AbortController();
    const asked = pythonVerdict(python, { tapes: [], signal: stop.signal });
    stop.abort(new Error("enough"));
    await assertRejects(() => asked, Error, "enough");
  });
});

Deno.test("an interpreter without an answer is reported by exit code", async () => {
  await withPython("echo nonsense >&2; exit 3", async (python) => {
    await assertRejects(
      () => pythonVerdict(python, { tapes: [] }),
      CliError,
      `Cannot ask the Agent SDK of ${python}: it ended with exit code 3: nonsense`,
    );
  });
});
