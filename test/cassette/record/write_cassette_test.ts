import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { readCassette } from "../read_cassette.ts";
import { claimFolder } from "../../../src/cassette/record/claim_folder.ts";
import { writeCassette } from "../../../src/cassette/record/write_cassette.ts";
import { recordSession } from "../record_session.ts";

const recorded = recordSession([{ at: 0.5, type: "spawned" }]);
const program = { version: "1.2.3", platform: "linux-x86_64" };

Deno.test("writeCassette() has everything in files of the user's alone before it returns", () => {
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

Deno.test("writeCassette() writes through no link that somebody else has put into its folder", () => {
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

Deno.test("writeCassette() tells at the end what could not be written, and takes the rest all the same", () => {
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
