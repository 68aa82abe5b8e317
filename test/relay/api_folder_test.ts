import { assertEquals } from "@std/assert";
import { apiFolder } from "../../src/relay/api_folder.ts";

Deno.test("the exchanges of a further Claude Code are with those of the first one, unless it has its own", () => {
  const home = Deno.realPathSync(Deno.makeTempDirSync());
  const made = (path: string) => {
    Deno.mkdirSync(`${home}/${path}`, { recursive: true });
    return `${home}/${path}`;
  };
  made("one/api");
  made("two/api");
  assertEquals(apiFolder(made("two/2")), `${home}/two/2/api`);
  Deno.writeTextFileSync(`${home}/one/child.cast`, "");
  assertEquals(apiFolder(`${home}/one`), `${home}/one/api`);
  assertEquals(apiFolder(made("one/2")), `${home}/one/api`);
  assertEquals(apiFolder(`${made("one/13")}/`), `${home}/one/api`);
  for (const name of ["one/1", "one/02", "one/2/3", "one/two", "alone/2"]) {
    assertEquals(apiFolder(made(name)), `${home}/${name}/api`, name);
  }
  const own = made("one/4/api");
  assertEquals(apiFolder(`${home}/one/4`), own);
  assertEquals(apiFolder(`${home}/none`), `${home}/none/api`);
  Deno.symlinkSync(`${home}/one/2`, `${home}/link`);
  assertEquals(apiFolder(`${home}/link`), `${home}/one/api`);
  Deno.removeSync(home, { recursive: true });
});
