import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { UnfitFileError } from "../ffi/files/regular_file.ts";
import { CliError, toCliError } from "../src/cli_error.ts";

function told(message: string): CliError {
  const error = toCliError(new Deno.errors.NotCapable(message));
  assertInstanceOf(error, CliError);
  return error;
}

Deno.test("toCliError() names the missing permission without flags of deno", () => {
  const folder = told(
    'Requires all access to "/dev/shm/a, b", specify the required permissions during compilation ' +
      "using `deno compile --allow-all`",
  );
  assertEquals(
    folder.message,
    'Cannot go on: this program was not given all access to "/dev/shm/a, b"',
  );
  assertStringIncludes(folder.suggestion ?? "", "outside of /dev");
  const sys = told('Requires sys access to "gid", run again with the --allow-sys flag');
  assertEquals(sys.message, 'Cannot go on: this program was not given sys access to "gid"');
  assertStringIncludes(sys.suggestion ?? "", "report this");
  assertEquals(told("?").message, "Cannot go on: this program was not given a permission");
});

Deno.test("toCliError() knows errors of ffi by their suggestions", () => {
  const cause = new UnfitFileError("/a", { reason: "it is not a regular file" });
  const error = toCliError(cause);
  assertInstanceOf(error, CliError);
  assertEquals(
    [error.message, error.suggestion, error.exitCode, error.cause],
    [cause.message, cause.suggestion, 2, cause],
  );
  assertEquals(toCliError(error), error);
});

Deno.test("toCliError() returns other errors unchanged", () => {
  const error = new Deno.errors.PermissionDenied("no");
  assertEquals(toCliError(error), error);
});

Deno.test("CliError has an exit code and suggests ulimit", () => {
  const suggestionOf = (message: string) =>
    new CliError(message, { suggestion: "Wait" }).suggestion;
  const allowMore = "Allow more of them in the shell that starts it: ulimit -n 4096";
  assertEquals(suggestionOf("Cannot start: Too many open files"), allowMore);
  assertEquals(suggestionOf("Cannot read it: Too many open files (os error 24)"), allowMore);
  assertEquals(suggestionOf("Cannot read 'Too many open files': it is a folder"), "Wait");
  assertEquals(new CliError("Cannot start").exitCode, 2);
  assertEquals(new CliError("Cannot start", { failedBeforeStart: true }).exitCode, 1);
});
