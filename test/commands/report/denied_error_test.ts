import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { CliError } from "../../../src/cli/cli_error.ts";
import { deniedError } from "../../../src/commands/report/denied_error.ts";

function told(message: string): CliError {
  const error = deniedError(new Deno.errors.NotCapable(message));
  assertInstanceOf(error, CliError);
  return error;
}

Deno.test("deniedError() says what is lacking, without the compiler's flags", () => {
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

Deno.test("deniedError() leaves other errors alone", () => {
  const error = new Deno.errors.PermissionDenied("no");
  assertEquals(deniedError(error), error);
});
