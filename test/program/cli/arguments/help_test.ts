import { assertEquals } from "@std/assert";
import { manPage } from "../../../../src/cli/help/man_page.ts";
import { missingTool } from "../../../missing_tool.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";

for (const command of ["mandoc -Tlint -Wall", "groff -ww -man -Tutf8"]) {
  const [program = "", ...args] = command.split(" ");
  Deno.test(skipIfLacking(missingTool(program), {
    name: `the manual is clean under ${command}`,
    fn: async () => {
      const child = new Deno.Command(program, {
        args,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const written = new Blob([manPage()]).stream().pipeTo(child.stdin);
      const { code, stdout, stderr } = await child.output();
      await written;
      const text = new TextDecoder();
      assertEquals([code, text.decode(stderr)], [0, ""]);
      if (program === "mandoc") assertEquals(text.decode(stdout), "");
    },
  }));
}
