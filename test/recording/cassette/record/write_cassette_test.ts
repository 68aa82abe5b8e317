import { assertEquals, assertThrows } from "@std/assert";
import {
  CassetteWriter,
  claimFolder,
} from "../../../../src/recording/cassette/record/write_cassette.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { tempFolder } from "../../../temp_folder.ts";
import { readCassette } from "../recorded_runs.ts";
import { recordSession } from "../record_session.ts";

const modeOf = (path: string) => (Deno.statSync(path).mode ?? 0) & 0o777;

Deno.test("a recording's folder is private", () => {
  using folder = tempFolder();
  claimFolder(`${folder.path}/run/`).cast.close();
  assertEquals(modeOf(`${folder.path}/run`), 0o700);
});

Deno.test("releasing a folder removes only what the recorder made", () => {
  using folder = tempFolder();
  claimFolder(`${folder.path}/new`).release();
  claimFolder(folder.path).release();
  assertEquals(folder.names(), []);
  const begun = claimFolder(`${folder.path}/begun`);
  Deno.writeTextFileSync(`${folder.path}/begun/child.cast`, "theirs");
  begun.release();
  assertEquals(Deno.readTextFileSync(`${folder.path}/begun/child.cast`), "theirs");
});

Deno.test("one of two concurrent runs gets the folder", () => {
  using folder = tempFolder({ "there/": "" });
  for (const name of ["made", "there"]) {
    const path = `${folder.path}/${name}`;
    const first = claimFolder(path);
    const { message } = assertThrows(() => claimFolder(path), CliError);
    assertEquals(message, `Cannot record in ${path}: another run has just begun to record there`);
    first.release();
    claimFolder(path).release();
  }
});

Deno.test("used folders, files and missing parents are refused", () => {
  using folder = tempFolder({ file: "" });
  const other = "Give --record a folder that does not exist yet, or an empty one";
  const rows = [
    ["", "there is something in it", other],
    ["/file", "it is not a folder", other],
    ["/none/run", "the folder above it does not exist", "Make it first: mkdir -p /none/"],
  ] as const;
  for (const [name, why, suggestion] of rows) {
    const error = assertThrows(() => claimFolder(`${folder.path}${name}`), CliError);
    assertEquals(error.message.replace(folder.path, ""), `Cannot record in ${name}: ${why}`);
    assertEquals(error.suggestion?.replace(folder.path, ""), suggestion);
  }
  assertEquals(folder.names(), ["file"]);
});

Deno.test("the folder of a killed recorder is reused", () => {
  using folder = tempFolder();
  const path = `${folder.path}/left`;
  claimFolder(path).cast.close();
  Deno.mkdirSync(`${path}/api`);
  const next = claimFolder(path);
  assertThrows(() => claimFolder(path), CliError, "another run has just begun");
  next.cast.writeSync(new TextEncoder().encode("recorded"));
  next.cast.close();
  assertThrows(() => claimFolder(path), CliError, "there is something in it");
});

Deno.test("a folder with anything else in it is refused", () => {
  const folders = [
    { "child.cast": "", notes: "" },
    { "child.cast": "", "api/one.json": "{}" },
    { "api/": "" },
  ] as readonly Readonly<Record<string, string>>[];
  for (const files of folders) {
    using folder = tempFolder(files);
    const before = folder.names();
    assertThrows(() => claimFolder(folder.path), CliError, "there is something in it");
    assertEquals(folder.names(), before);
  }
  using folder = tempFolder({ "linked/": "", empty: "" });
  Deno.symlinkSync(`${folder.path}/empty`, `${folder.path}/linked/child.cast`);
  assertThrows(() => claimFolder(`${folder.path}/linked`), CliError, "there is something in it");
});

const { cast } = recordSession([{ at: 0.5, type: "spawned" }]);
const program = { version: "1.2.3", platform: "linux-x86_64" };

Deno.test("everything is written at once, in private files", () => {
  using folder = tempFolder();
  const writer = new CassetteWriter(claimFolder(folder.path), program);
  assertEquals(writer.isBegun, false);
  writer.begin(cast.header);
  for (const event of cast.events) writer.event(event);
  writer.version("2.1.330");
  const tape = [
    { at: 1, dir: "write", data: "a [redacted] and a [redacted]\n" },
    { at: 2, dir: "read", frame: { type: "result" } },
  ] as const;
  for (const entry of tape) writer.entry(entry);
  for (const secrets of [0, 2, 1]) writer.addSecrets("api", secrets);
  assertEquals(readCassette(folder.path), {
    meta: {
      format: 1,
      claude_print: "1.2.3",
      claude_code: "2.1.330",
      platform: "linux-x86_64",
      size: { cols: 220, rows: 50 },
      when: "2023-11-14T22:13:20.000Z",
      scrubbed: { "child.cast": 0, "tape.jsonl": 2, api: 3 },
    },
    cast,
    tape: [...tape],
  });
  assertEquals(folder.names(), ["child.cast", "meta.json", "tape.jsonl"]);
  for (const name of folder.names()) assertEquals(modeOf(`${folder.path}/${name}`), 0o600, name);
  writer.close();
});

Deno.test("nothing is written through planted links", () => {
  using theirs = tempFolder({ file: "" });
  using folder = tempFolder();
  const writer = new CassetteWriter(claimFolder(folder.path), program);
  const plant = () =>
    Deno.symlinkSync(`${theirs.path}/file`, `${folder.path}/meta.json.unfinished`);
  plant();
  writer.begin(cast.header);
  plant();
  writer.version("2.1.330");
  writer.close();
  assertEquals(Deno.readTextFileSync(`${theirs.path}/file`), "");
  assertEquals(readCassette(folder.path).meta?.claude_code, "2.1.330");
  assertEquals(Deno.lstatSync(`${folder.path}/meta.json`).isFile, true);
});

Deno.test("a failed write is reported at the end", () => {
  using folder = tempFolder();
  const claimed = claimFolder(`${folder.path}/gone`);
  Deno.removeSync(claimed.path, { recursive: true });
  const writer = new CassetteWriter(claimed, program);
  writer.begin(cast.header);
  writer.entry({ at: 1, dir: "write", data: "" });
  const why = "Cannot write the recording: ";
  const { suggestion } = assertThrows(() => writer.close(), CliError, why);
  assertEquals(suggestion, "Give --record a folder on a disk with room");
});
