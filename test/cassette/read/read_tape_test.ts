import { assertEquals, assertThrows } from "@std/assert";
import { readTape } from "../../../src/cassette/read/read_tape.ts";
import { CliError } from "../../../src/cli_error.ts";

Deno.test("a tape is held as a whole, unless it is too large for that", () => {
  const path = Deno.makeTempFileSync();
  try {
    const line = '{"dir":"write","data":"hello"}\n';
    Deno.writeTextFileSync(path, line.repeat(3));
    assertEquals(readTape(path, { largest: 3 * line.length })?.length, 3);
    const error = assertThrows(() => readTape(path, { largest: 3 * line.length - 1 }), CliError);
    assertEquals(error.message, `Cannot read ${path}: it is larger than 0.000092 MB`);
    assertEquals(readTape(`${path}.gone`), undefined);
  } finally {
    Deno.removeSync(path);
  }
});
