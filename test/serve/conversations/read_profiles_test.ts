import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { readProfiles } from "../../../src/serve/conversations/read_profiles.ts";

Deno.test("readProfiles() names the line that is none, and what of it", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/profiles`;
  const refused = (lines: string) => {
    Deno.writeTextFileSync(path, lines);
    return assertThrows(() => readProfiles(path), CliError).message.replace(
      "Cannot have Claude Codes wait for ",
      "",
    );
  };
  try {
    for (
      const [lines, why] of [
        ["{", `line 1 of ${path}: it is no object with a profile`],
        ["{}\n\n[]", `line 3 of ${path}: it is no object with a profile`],
        ['{"args": [1]}', `line 1 of ${path}: args.0 is none of one`],
        ['{"arg": []}', `line 1 of ${path}: it is no object with a profile`],
        ['{"text": 1}', `line 1 of ${path}: text is none of one`],
      ] as const
    ) assertEquals(refused(lines), why);
    await Deno.remove(path);
    const gone = assertThrows(() => readProfiles(path), CliError);
    assertEquals(gone.message, `Cannot have Claude Codes wait for ${path}: it does not exist`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
