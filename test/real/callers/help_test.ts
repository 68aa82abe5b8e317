import { assert, assertEquals } from "@std/assert";
import { isSubcommand } from "../../../src/commands/exec_subcommand.ts";
import { findFlag, type FlagValue } from "../../../src/cli/flags.ts";
import { forEachVersion } from "../for_each_version.ts";

/** A line of `claude --help` that begins an option, such as `  -r, --resume [value]   Resume …`. */
const OPTION = /^ {2}((?:-[a-z0-9]+, )?--[a-zA-Z0-9-]+(?:, --[a-zA-Z0-9-]+)*)( [<[][^>\]]+[>\]])?/u;

/** A line of it that begins a subcommand, such as `  plugin|plugins   Manage …`. */
const SUBCOMMAND = /^ {2}([a-z][a-z|-]*)/u;

/** Flags of ours that Claude Code spells too, and that take something else there. */
const OURS: readonly string[] = ["--help", "--version"];

function valueOf(placeholder: string): FlagValue {
  if (placeholder === "") return "none";
  if (placeholder.startsWith("[")) return "optional";
  return placeholder.endsWith("...>") ? "variadic" : "required";
}

forEachVersion(
  "all flags and subcommands of claude --help are known",
  async (real) => {
    const { code, stdout } = await new Deno.Command(real.binary, {
      args: ["--help"],
      clearEnv: true,
      env: { ...real.home.env },
    }).output();
    assertEquals(code, 0);
    const help = new TextDecoder().decode(stdout).split("\nCommands:");
    const [options = [], commands = []] = help.map((part) => part.split("\n"));
    const words = commands.flatMap((line) => SUBCOMMAND.exec(line)?.[1]?.split("|") ?? []);
    assert(words.includes("mcp"));
    assertEquals(words.filter((word) => !isSubcommand([word], real.version)), []);
    const found = options.map((line) => OPTION.exec(line)).filter((match) => match !== null);
    assert(found.length > 50, `found ${found.length} flags`);
    const problems = found.flatMap(([, spellings = "", value = ""]) => {
      const all = spellings.split(", ");
      const flags = all.map((one) => findFlag(one));
      const [flag] = flags;
      if (flag === undefined || flags.some((one) => one !== flag)) {
        return [`${spellings} is not in the table, or not with all its spellings`];
      }
      const expected = valueOf(value.trim());
      const isSame = flag.value === expected || OURS.includes(flag.name);
      return isSame ? [] : [`${spellings} takes ${expected}, and ${flag.value} in the table`];
    });
    assertEquals(problems, []);
  },
);
