import { assertEquals } from "@std/assert";
import { flagsIn } from "../../src/learn/command_line.ts";
import { commandNames } from "../../src/learn/commands.ts";
import { textOfProgram } from "../../src/learn/program_text.ts";
import { settingNames } from "../../src/learn/settings.ts";
import { hookEventsIn } from "../../src/learn/texts.ts";
import { toolNames } from "../../src/learn/tools.ts";

Deno.test("flags are those before the first subcommand", () => {
  const program = textOfProgram(
    'o("--other");p.name("claude").option("-d, --debug [filter]","Debug").addOption(new O("--bare","")' +
      '.hideHelp()).addOption(new O("--allowedTools, --allowed-tools <tools...>",""));' +
      'p.command("mcp").option("--scope <scope>","")',
  );
  assertEquals(flagsIn(program), [
    "--allowed-tools=",
    "--allowedTools=",
    "--bare",
    "--debug=",
    "-d=",
  ]);
});

Deno.test("command names are found behind constants and among aliases", () => {
  const program = textOfProgram(
    'var Xy="low-priority";var a={type:"local",name:"usage",aliases:["cost","stats"],description:"x"},' +
      'b={type:"local",name:Xy,description:"y"};k({name:"batch",menuDescription:"z"})',
  );
  assertEquals(commandNames(program), ["batch", "cost", "low-priority", "stats", "usage"]);
});

Deno.test("the longest list of hook events is that of all", () => {
  const program = textOfProgram(
    '["PreToolUse","PostToolUse","Stop"];["PreToolUse","PostToolUse","Stop","Setup"]',
  );
  assertEquals(hookEventsIn(program), "PreToolUse PostToolUse Stop Setup");
});

Deno.test("words that may be tools and settings are found", () => {
  const program = textOfProgram('x={name:"Bash",verbose:()=>M().optional(),hooks:h().optional()}');
  assertEquals(toolNames(program), ["Bash"]);
  assertEquals(settingNames(program), ["verbose"]);
});
