import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { claimFolder } from "../../../src/cassette/record/claim_folder.ts";
import { readCassette } from "../read_cassette.ts";
import { writeCassette } from "../../../src/cassette/record/write_cassette.ts";
import { recordSession } from "../record_session.ts";

async function inTempFolder(test: (path: string) => void | Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir();
  try {
    await test(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("a recording's folder is private", () =>
  inTempFolder((path) => {
    const folder = `${path}/run/`;
    claimFolder(folder).cast.close();
    assertEquals((Deno.statSync(folder).mode ?? 0) & 0o777, 0o700);
  }));

Deno.test("giving up removes only what was made", () =>
  inTempFolder((path) => {
    claimFolder(`${path}/new`).giveUp();
    claimFolder(path).giveUp();
    assertEquals([...Deno.readDirSync(path)], []);
    const begun = claimFolder(`${path}/begun`);
    Deno.writeTextFileSync(`${path}/begun/child.cast`, "theirs");
    begun.giveUp();
    assertEquals(Deno.readTextFileSync(`${path}/begun/child.cast`), "theirs");
  }));

Deno.test("one of two concurrent runs gets the folder", () =>
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

Deno.test("used folders, files and missing parents are refused", () =>
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

Deno.test("the folder of a killed recorder is reused", () =>
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

Deno.test("a folder with anything else in it is refused", () =>
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

const recorded = recordSession([{ at: 0.5, type: "spawned" }]);
const program = { version: "1.2.3", platform: "linux-x86_64" };

Deno.test("everything is written at once, in private files", () => {
  const folder = Deno.makeTempDirSync();
  const writer = writeCassette(claimFolder(folder), program);
  assertEquals(writer.isBegun, false);
  writer.begin(recorded.cast.header);
  for (const event of recorded.cast.events) writer.event(event);
  writer.version("2.1.330");
  writer.entry({ at: 1, dir: "write", data: "a [redacted] and a [redacted]\n" });
  writer.entry({ at: 2, dir: "read", frame: { type: "result" } });
  for (const secrets of [0, 2, 1]) writer.taken("api", secrets);
  assertEquals(readCassette(folder), {
    meta: {
      format: 1,
      claude_print: "1.2.3",
      claude_code: "2.1.330",
      platform: "linux-x86_64",
      size: { cols: 220, rows: 50 },
      when: "2023-11-14T22:13:20.000Z",
      scrubbed: { "child.cast": 0, "tape.jsonl": 2, api: 3 },
    },
    cast: recorded.cast,
    tape: [
      { at: 1, dir: "write", data: "a [redacted] and a [redacted]\n" },
      { at: 2, dir: "read", frame: { type: "result" } },
    ],
  });
  assertEquals(
    [...Deno.readDirSync(folder)].map(({ name }) =>
      `${name} ${((Deno.statSync(`${folder}/${name}`).mode ?? 0) & 0o777).toString(8)}`
    ).sort(),
    ["child.cast 600", "meta.json 600", "tape.jsonl 600"],
  );
  writer.close();
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("nothing is written through planted links", () => {
  const folder = Deno.makeTempDirSync();
  const theirs = Deno.makeTempFileSync();
  const writer = writeCassette(claimFolder(folder), program);
  const plant = () => Deno.symlinkSync(theirs, `${folder}/meta.json.unfinished`);
  plant();
  writer.begin(recorded.cast.header);
  plant();
  writer.version("2.1.330");
  writer.close();
  assertEquals(Deno.readTextFileSync(theirs), "");
  assertEquals(readCassette(folder).meta?.claude_code, "2.1.330");
  assertEquals(Deno.lstatSync(`${folder}/meta.json`).isFile, true);
  Deno.removeSync(folder, { recursive: true });
  Deno.removeSync(theirs);
});

Deno.test("a failed write is reported at the end", () => {
  const folder = Deno.makeTempDirSync();
  const claimed = claimFolder(`${folder}/gone`);
  Deno.removeSync(claimed.path, { recursive: true });
  const writer = writeCassette(claimed, program);
  writer.begin(recorded.cast.header);
  writer.entry({ at: 1, dir: "write", data: "" });
  const { suggestion } = assertThrows(
    () => writer.close(),
    CliError,
    "Cannot write the recording: ",
  );
  assertEquals(suggestion, "Give --record a folder on a disk with room");
  Deno.removeSync(folder, { recursive: true });
});
