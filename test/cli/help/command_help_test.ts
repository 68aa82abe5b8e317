import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES, COMMAND_SHAPES } from "../../../src/cli/command_shapes.ts";
import { commandHelp } from "../../../src/cli/help/command_help.ts";
import { parseArguments } from "../../../src/cli/parse_arguments.ts";

/** Values of flags that do not take any. */
const VALUES: Readonly<Record<string, string>> = {
  "--on-miss": "record",
  "--upstream": "https://api.example.com",
  "--match": "normalized",
  "--ignore": "/metadata/user_id",
  "--speed": "1",
  "--port": "0",
  "--split": "1",
  "--mode": "verify",
  "--patience": "1",
  "--at": "1",
  "--warm": "1",
  "--max": "1",
  "--idle": "1",
  "--conversations": "1",
  "--good": "2.1.280",
  "--bad": "2.1.332",
};

/** What a command, one of its first words, or a flag cannot do without. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  relay: ["--cache", "recorded"],
  fork: ["--at", "1"],
  drift: ["--against", "x"],
  bisect: ["--good", "2.1.280", "recorded"],
  "bisect --run": ["--good", "2.1.280"],
  "--bind": ["--port", "0"],
};

for (const command of COMMAND_NAMES) {
  Deno.test(`${command} --help is for ${command}`, async () => {
    for (const flag of ["--help", "-h"]) {
      assertEquals(await parseArguments([command, flag]), { kind: "help", command });
    }
    assertStringIncludes(commandHelp(command), `Usage: claude-print ${command}`);
  });

  Deno.test(`${command} takes every flag that its help names`, async () => {
    const { flags: shapes, first, operands = {} } = COMMAND_SHAPES[command];
    const flags = [...commandHelp(command).matchAll(/^ {2}(--[\w-]+)( <\w+>)?/gm)];
    for (const [, flag = "", value] of flags) {
      const word = shapes.find(({ name }) => name === flag)?.goesWith?.[0] ??
        first?.choices.at(-1) ?? "";
      const { kind } = await parseArguments([
        command,
        ...word === "" ? [] : [word],
        ...Array(operands[word]?.least ?? 0).fill("x"),
        ...BESIDE[`${command} ${flag}`] ?? BESIDE[command] ?? BESIDE[word] ?? BESIDE[flag] ?? [],
        flag,
        ...value === undefined ? [] : [VALUES[flag] ?? "x"],
      ]);
      assertEquals(kind, command, flag);
    }
  });

  Deno.test(`the help of ${command} is at most 80 columns wide`, () => {
    for (const line of commandHelp(command).split("\n")) assert(line.length <= 80, line);
  });
}
