import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { parseFaults } from "../../src/relay/faults.ts";

Deno.test("parseFaults() reads what happens to which request", () => {
  assertEquals([...parseFaults("529@2,reset@3,stall=5s@4,stall=20ms@5,stall=1m@1")], [
    [2, { kind: "status", status: 529 }],
    [3, { kind: "reset" }],
    [4, { kind: "stall", ms: 5000 }],
    [5, { kind: "stall", ms: 20 }],
    [1, { kind: "stall", ms: 60_000 }],
  ]);
  for (
    const text of ["", "529", "529@0", "200@1", "529@-1", "stall@1", "stall=5@1", "529@2,", "a@1"]
  ) {
    assertThrows(() => parseFaults(text), CliError, "--inject does not take", text);
  }
  assertThrows(
    () => parseFaults("reset@1,529@01"),
    CliError,
    "says twice what happens to request 1",
  );
});
