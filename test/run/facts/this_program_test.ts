import { assertEquals } from "@std/assert";
import { thisProgram } from "../../../src/run/facts/this_program.ts";

Deno.test("a command that runs the sources keeps Deno from its update check", async () => {
  const [program = "", ...words] = thisProgram();
  const args = words.slice(0, words.indexOf(Deno.execPath()));
  const { stdout } = await new Deno.Command(program, { args, clearEnv: true }).output();
  assertEquals(new TextDecoder().decode(stdout), "DENO_NO_UPDATE_CHECK=1\n");
});
