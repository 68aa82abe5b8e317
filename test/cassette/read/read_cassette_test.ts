import { assertThrows } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { readCassette } from "../../../src/cassette/read/read_cassette.ts";
import { CliError } from "../../../src/cli_error.ts";

Deno.test("readCassette() says what is no recording, and waits for none", () => {
  const folder = Deno.makeTempDirSync();
  const read = () => readCassette(folder);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it does not exist`);
  makeFifo(`${folder}/child.cast`);
  assertThrows(read, CliError, `Cannot read ${folder}/child.cast: it is no regular file`);
  Deno.removeSync(folder, { recursive: true });
});
