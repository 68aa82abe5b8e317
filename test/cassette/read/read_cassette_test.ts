import { assertEquals, assertThrows } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { openToReplay, rereadCassette } from "../../../src/cassette/read/open_cassette.ts";
import { readCassette } from "../read_cassette.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { CliError } from "../../../src/cli_error.ts";
import { readExchanges } from "../../../src/relay/exchanges/exchange_folder.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";

Deno.test("readCassette() says what is no recording, and waits for none", () => {
  const folder = Deno.makeTempDirSync();
  const read = () => readCassette(folder);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it does not exist`);
  makeFifo(`${folder}/child.cast`);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it is no regular file`);
  Deno.removeSync(folder, { recursive: true });
});

/** A folder with some of the parts of a recorded run. */
function someOf(...parts: readonly string[]) {
  const folder = Deno.makeTempDirSync();
  const run = RECORDED_RUNS.find(({ name }) => name === "2.1.332/tools");
  for (const part of parts) Deno.copyFileSync(`${run?.folder}/${part}`, `${folder}/${part}`);
  return { folder, [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
}

Deno.test("without its tape a recording replays as far as there is something to compare", () => {
  using there = someOf("child.cast");
  const { tape, ...rest } = openToReplay(there.folder);
  assertEquals(tape, undefined);
  const { frames, differences } = replayCassette(rest);
  assertEquals([frames.at(-1)?.frame.type, differences], ["result", []]);
  assertThrows(() => readCassette(there.folder), CliError, "tape.jsonl: it does not exist");
});

Deno.test("rereadCassette() gives all that readCassette() does, again and again", () => {
  using there = someOf("child.cast", "tape.jsonl", "meta.json");
  const { cast, tape } = rereadCassette(there.folder);
  const whole = readCassette(there.folder);
  for (let time = 0; time < 2; time++) {
    assertEquals([...cast.events], whole.cast.events);
    assertEquals([...tape], whole.tape);
  }
  Deno.removeSync(`${there.folder}/tape.jsonl`);
  assertThrows(() => rereadCassette(there.folder), CliError, "tape.jsonl: it does not exist");
});

Deno.test("without its cast it is said how a recording replays", () => {
  const suggested = (folder: string) =>
    assertThrows(() => openToReplay(folder), CliError, "child.cast: it does not exist").suggestion;
  using taped = someOf("tape.jsonl");
  assertEquals(
    suggested(taped.folder),
    'It replays in the place of claude: write "--" behind it, and what a caller gives claude',
  );
  using api = someOf();
  Deno.mkdirSync(`${api.folder}/api`);
  assertEquals(
    suggested(api.folder),
    "It replays as the API: give it to claude-print relay --cache",
  );
});

Deno.test("a part that is a link out of the cassette is not read, one inside is", () => {
  using other = someOf("tape.jsonl");
  using there = someOf("child.cast");
  const tape = `${there.folder}/tape.jsonl`;
  Deno.symlinkSync(`${other.folder}/tape.jsonl`, tape);
  const why = "the link leads out of the cassette";
  assertThrows(() => readCassette(there.folder), CliError, `Cannot read ${tape}: ${why}`);
  Deno.removeSync(tape);
  Deno.renameSync(`${other.folder}/tape.jsonl`, `${there.folder}/other.jsonl`);
  Deno.symlinkSync("other.jsonl", tape);
  assertEquals(replayCassette(readCassette(there.folder)).differences, []);

  const api = `${there.folder}/api`;
  Deno.symlinkSync(other.folder, api);
  assertThrows(() => [...readExchanges(api)], CliError, `Cannot read ${api}: ${why}`);
  Deno.removeSync(api);
  Deno.mkdirSync(api);
  Deno.symlinkSync("/etc/passwd", `${api}/0123456789abcdef-0.json`);
  assertThrows(() => [...readExchanges(api)], CliError, `-0.json: ${why}`);
  Deno.removeSync(`${api}/0123456789abcdef-0.json`);
  Deno.symlinkSync("/nowhere", `${api}/0123456789abcdef-0.json`);
  const read = () => [...readExchanges(api)];
  assertThrows(read, CliError, "-0.json: there is nothing behind it");
  Deno.removeSync(`${api}/0123456789abcdef-0.json`);
  makeFifo(`${api}/0123456789abcdef-0.json`);
  assertThrows(read, CliError, "-0.json: it is no regular file");
});
