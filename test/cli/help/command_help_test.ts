import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES } from "../../../src/cli/command_shapes.ts";
import { commandHelp } from "../../../src/cli/help/command_help.ts";
import { parseArguments } from "../../../src/cli/parse_arguments.ts";

for (const command of COMMAND_NAMES) {
  Deno.test(`${command} --help is for ${command}`, async () => {
    for (const flag of ["--help", "-h"]) {
      assertEquals(await parseArguments([command, flag]), { kind: "help", command });
    }
    assertStringIncludes(commandHelp(command), `Usage: claude-print ${command}`);
  });

  Deno.test(`${command} takes every flag that its help names`, async () => {
    const flags = [...commandHelp(command).matchAll(/^ {2}(--[\w-]+)( <\w+>)?/gm)];
    for (const [, flag = "", value] of flags) {
      const { kind } = await parseArguments([command, flag, ...(value === undefined ? [] : ["x"])]);
      assertEquals(kind, command, flag);
    }
  });

  Deno.test(`the help of ${command} is at most 80 columns wide`, () => {
    for (const line of commandHelp(command).split("\n")) assert(line.length <= 80, line);
  });
}
