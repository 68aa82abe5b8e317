import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { claimFolder } from "../../../src/cassette/record/claim_folder.ts";

async function inTempFolder(test: (path: string) => void | Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir();
  try {
    await test(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("claimFolder() makes a folder that is the user's alone", () =>
  inTempFolder((path) => {
    const folder = `${path}/run/`;
    claimFolder(folder).cast.close();
    assertEquals((Deno.statSync(folder).mode ?? 0) & 0o777, 0o700);
  }));

Deno.test("claimFolder() takes an empty folder, and gives up only what it has made", () =>
  inTempFolder((path) => {
    claimFolder(`${path}/new`).giveUp();
    claimFolder(path).giveUp();
    assertEquals([...Deno.readDirSync(path)], []);
    const begun = claimFolder(`${path}/begun`);
    Deno.writeTextFileSync(`${path}/begun/child.cast`, "theirs");
    begun.giveUp();
    assertEquals(Deno.readTextFileSync(`${path}/begun/child.cast`), "theirs");
  }));

Deno.test("claimFolder() gives a folder to one of those that come at once", () =>
  inTempFolder((path) => {
    const [one, other] = [`${path}/made`, `${path}/there`] as const;
    Deno.mkdirSync(other);
    for (const folder of [one, other]) {
      const first = claimFolder(folder);
      // As the second one finds it, who has seen an empty folder.
      const { message } = assertThrows(() => claimFolder(folder), CliError);
      assertEquals(message, `Cannot record in ${folder}: there is something in it`);
      first.giveUp();
      claimFolder(folder).giveUp();
    }
  }));

Deno.test("claimFolder() refuses a folder with something in it, a file, and a place that is not there", () =>
  inTempFolder((path) => {
    Deno.writeTextFileSync(`${path}/file`, "");
    const refused = (folder: string) => {
      const { message, suggestion } = assertThrows(() => claimFolder(folder), CliError);
      return [message.replaceAll(path, ""), suggestion?.replaceAll(path, "")];
    };
    const suggestion = "Give --record a folder that does not exist yet, or an empty one";
    assertEquals(refused(path), ["Cannot record in : there is something in it", suggestion]);
    assertEquals(refused(`${path}/file`), [
      "Cannot record in /file: it is not a folder",
      suggestion,
    ]);
    assertEquals(refused(`${path}/none/run`), [
      "Cannot record in /none/run: the folder above it does not exist",
      "Make it first: mkdir -p /none/",
    ]);
    assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), ["file"]);
  }));
