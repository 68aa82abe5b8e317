import { assert, assertEquals, assertThrows } from "@std/assert";
import { openRecorded } from "../../../src/cassette/read/open_recorded.ts";
import { recordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";
import { CliError } from "../../../src/cli_error.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/2.1.332/", import.meta.url).pathname;

/** A folder with some of the parts of a recording. */
async function folderWith(run: string, names: readonly string[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const name of names) await Deno.copyFile(`${RUNS}${run}/${name}`, `${folder}/${name}`);
  return folder;
}

Deno.test("openConversation() opens the casts of all Claude Codes, and a tape where there is no cast", async () => {
  const folder = await folderWith("conversation", ["child.cast", "meta.json"]);
  const second = await folderWith("resumed", ["child.cast", "tape.jsonl"]);
  const third = await folderWith("answer", ["tape.jsonl"]);
  const elsewhere = await folderWith("tools", ["child.cast"]);
  try {
    await Deno.rename(second, `${folder}/2`);
    await Deno.rename(third, `${folder}/3`);
    // A link leads out of the folder.
    await Deno.symlink(elsewhere, `${folder}/4`);
    const { meta, children } = openRecorded(folder);
    assertEquals(meta?.claude_code, "2.1.332");
    const found = children.map((child) =>
      "cast" in child ? recordedTurns(child.cast).turns.length : child.tape.length > 0
    );
    assertEquals(found, [4, 1, true]);
  } finally {
    for (const each of [folder, elsewhere]) await Deno.remove(each, { recursive: true });
  }
});

Deno.test("openConversation() opens a tape alone", () => {
  const [child, ...more] = openRecorded(`${RUNS}conversation/tape.jsonl`).children;
  assertEquals([child !== undefined && "tape" in child && child.tape.length > 0, more], [true, []]);
});

Deno.test("openConversation() refuses what is none, and says why", async () => {
  const folder = await folderWith("answer", ["child.cast"]);
  const refused = (what: string, message: string) => {
    const error = assertThrows(() => {
      for (const child of openRecorded(what).children) {
        if ("cast" in child) recordedTurns(child.cast);
      }
    }, CliError);
    assert(error.message.includes(message), error.message);
    assert(error.suggestion !== "");
  };
  try {
    refused(`${folder}/none`, "it has neither child.cast nor tape.jsonl");
    refused(`${folder}/child.cast`, "it is neither a frame nor a line of the caller");
    await Deno.writeTextFile(`${folder}/meta.json`, '{"format":99}');
    refused(folder, "says that it is of format 99");
    await Deno.writeTextFile(`${folder}/meta.json`, "[".repeat(100_000));
    refused(folder, "it does not say what the cassette is");
    await Deno.remove(`${folder}/meta.json`);
    const cast = await Deno.readTextFile(`${folder}/child.cast`);
    await Deno.writeTextFile(`${folder}/child.cast`, cast.slice(0, -10));
    refused(folder, "it was cut short");
    await Deno.writeTextFile(`${folder}/child.cast`, "");
    refused(folder, "the header is missing");
    await Deno.remove(`${folder}/child.cast`);
    await new Deno.Command("mkfifo", { args: [`${folder}/child.cast`] }).output();
    refused(folder, "Cannot read");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
