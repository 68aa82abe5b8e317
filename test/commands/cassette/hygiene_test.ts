import { assertEquals, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";

/** What `cassette` says in a folder, in which it is somebody's. */
async function cassette(cwd: string, ...args: readonly string[]): Promise<ProgramOutput> {
  const env = {
    PATH: "/usr/bin:/bin",
    DENO_DIR: await denoDir(),
    HOME: "/elsewhere/alice",
    USER: "alice",
    SERVICE_TOKEN: "open-sesame-1",
  };
  return await startProgram([...CLAUDE_PRINT, "cassette", ...args], { env, cwd }).ended;
}

Deno.test("tapes are checked by as many names as a shell makes of a pattern, and scrubbed of whose they are", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    const line = (text: string) => `${JSON.stringify({ type: "assistant", text })}\n`;
    Deno.writeTextFileSync(`${folder}/a.jsonl`, line("alice at /elsewhere/alice/x of Acme"));
    Deno.writeTextFileSync(`${folder}/b.jsonl`, line("it is open-sesame-1"));
    assertEquals(await cassette(folder, "lint", "a.jsonl", "b.jsonl"), {
      code: 1,
      stdout: [
        "ok    a.jsonl replays as the program",
        "wrong b.jsonl replays as the program",
        "      A secret is left in line 1 of b.jsonl",
        "2 checked, 1 wrong",
        "",
      ].join("\n"),
      stderr: "",
    });
    assertEquals(await cassette(folder, "scrub", ".", "--name", "Acme"), {
      code: 0,
      stdout: "./a.jsonl: changed 1 line of a.jsonl\n./b.jsonl: changed 1 line of b.jsonl\n",
      stderr: "",
    });
    assertEquals(
      ["a", "b"].map((name) => Deno.readTextFileSync(`${folder}/${name}.jsonl`)),
      [line("xxxxx at /xxxxxxxxx/xxxxx/x of xxxx"), line("it is [redacted]")],
    );
    assertEquals((await cassette(folder, "lint", ".")).code, 0);
    Deno.mkdirSync(`${folder}/hostile`);
    Deno.writeTextFileSync(`${folder}/hostile/\u001b[2J.jsonl`, line("x"));
    assertEquals(
      (await cassette(folder, "scrub", "hostile")).stdout,
      "hostile/<U+001B>[2J.jsonl: nothing to take out\n",
    );
    Deno.mkdirSync(`${folder}/empty`);
    const { code, stderr } = await cassette(folder, "lint", "empty");
    assertEquals(code, 1);
    assertStringIncludes(stderr, "Cannot check empty: there is no cassette, and no tape\n  Name ");
    Deno.mkdirSync(`${folder}/nested/one`, { recursive: true });
    Deno.writeTextFileSync(`${folder}/nested/one/input.jsonl`, line("x"));
    const mistyped = await cassette(folder, "scrub", "nested", "--input-name", "inptu.jsonl");
    assertEquals(mistyped.code, 2);
    assertStringIncludes(mistyped.stderr, "nor a folder with inptu.jsonl");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
