import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { findClaude } from "../../src/claude/find_claude.ts";
import { NOWHERE } from "../nowhere.ts";

/** A folder with an executable and a plain file. */
function ground(): { readonly dir: string; readonly remove: () => void } {
  const dir = Deno.makeTempDirSync();
  Deno.mkdirSync(`${dir}/bin`);
  Deno.mkdirSync(`${dir}/plain`);
  Deno.writeTextFileSync(`${dir}/bin/claude`, "#!/bin/sh\n", { mode: 0o755 });
  Deno.writeTextFileSync(`${dir}/plain/claude`, "text", { mode: 0o644 });
  return { dir, remove: () => Deno.removeSync(dir, { recursive: true }) };
}

Deno.test("findClaude() takes the first executable on PATH", () => {
  const { dir, remove } = ground();
  const env = { PATH: `${NOWHERE}:${dir}/plain:${dir}/bin` };
  assertEquals(findClaude({ named: undefined, env, cwd: "/" }), `${dir}/bin/claude`);
  remove();
});

Deno.test("findClaude() resolves names and relative paths as a shell does", () => {
  const { dir, remove } = ground();
  assertEquals(findClaude({ named: "bin/claude", env: {}, cwd: dir }), `${dir}/bin/claude`);
  assertEquals(
    findClaude({ named: "claude", env: { PATH: "bin" }, cwd: dir }),
    `${dir}/bin/claude`,
  );
  assertEquals(
    findClaude({ named: undefined, env: { PATH: "" }, cwd: `${dir}/bin` }),
    `${dir}/bin/claude`,
  );
  remove();
});

Deno.test("findClaude() says why there is none", () => {
  const { dir, remove } = ground();
  const find = (named: string | undefined, path: string) => () =>
    findClaude({ named, env: { PATH: path }, cwd: dir });
  assertThrows(find(undefined, NOWHERE), CliError, '"claude" is not on PATH');
  assertThrows(find(undefined, `${dir}/plain`), CliError, "is not an executable file");
  assertThrows(find("./missing", ""), CliError, '"./missing" does not exist');
  assertThrows(find("plain/claude", ""), CliError, "is not an executable file");
  assertThrows(find(`${dir}/bin`, ""), CliError, "is not an executable file");
  remove();
});
