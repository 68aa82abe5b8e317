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
      const { message } = assertThrows(() => claimFolder(folder), CliError);
      assertEquals(
        message,
        `Cannot record in ${folder}: another run has just begun to record there`,
      );
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

Deno.test("claimFolder() takes what a recorder has left that was killed before its run", () =>
  inTempFolder((path) => {
    const folder = `${path}/left`;
    claimFolder(folder).cast.close();
    Deno.mkdirSync(`${folder}/api`);
    const next = claimFolder(folder);
    assertThrows(() => claimFolder(folder), CliError, "another run has just begun");
    next.cast.writeSync(new TextEncoder().encode("recorded"));
    next.cast.close();
    assertThrows(() => claimFolder(folder), CliError, "there is something in it");
  }));

Deno.test("claimFolder() takes no folder in which there is more than that", () =>
  inTempFolder((path) => {
    const refused = (name: string, fill: (folder: string) => void) => {
      const folder = `${path}/${name}`;
      Deno.mkdirSync(folder);
      fill(folder);
      const before = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
      assertThrows(() => claimFolder(folder), CliError, "there is something in it");
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), before);
    };
    Deno.writeTextFileSync(`${path}/empty`, "");
    const cast = (folder: string) => Deno.writeTextFileSync(`${folder}/child.cast`, "");
    refused("link", (folder) => Deno.symlinkSync(`${path}/empty`, `${folder}/child.cast`));
    refused("beside", (folder) => {
      cast(folder);
      Deno.writeTextFileSync(`${folder}/notes`, "");
    });
    refused("exchange", (folder) => {
      cast(folder);
      Deno.mkdirSync(`${folder}/api`);
      Deno.writeTextFileSync(`${folder}/api/one.json`, "{}");
    });
    refused("api", (folder) => Deno.mkdirSync(`${folder}/api`));
  }));
