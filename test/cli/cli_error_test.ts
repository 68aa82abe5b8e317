import { assertEquals, assertInstanceOf } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";

Deno.test("CliError exits with 2 and has neither suggestion nor cause unless given", () => {
  const error = new CliError("Cannot start");
  assertInstanceOf(error, Error);
  assertEquals(
    [error.name, error.message, error.exitCode, error.suggestion, error.cause],
    ["CliError", "Cannot start", 2, undefined, undefined],
  );
});

Deno.test("CliError keeps its exit code, suggestion and cause", () => {
  const cause = new Error("below");
  const error = new CliError("Cannot start", { exitCode: 124, suggestion: "Wait", cause });
  assertEquals([error.exitCode, error.suggestion, error.cause], [124, "Wait", cause]);
});

Deno.test("CliError says how more files can be open, whatever could not be opened", () => {
  const suggestionOf = (message: string) =>
    new CliError(message, { suggestion: "Wait" }).suggestion;
  const allowMore = "Allow more of them in the shell that starts it: ulimit -n 4096";
  assertEquals(suggestionOf("Cannot start: Too many open files"), allowMore);
  assertEquals(suggestionOf("Cannot read it: Too many open files (os error 24)"), allowMore);
  assertEquals(suggestionOf("Cannot read 'Too many open files': it is a folder"), "Wait");
});
