import { assert, assertEquals } from "@std/assert";
import { findFlag, type FlagValue } from "../../../src/cli/flags.ts";
import { forEachVersion } from "../for_each_version.ts";

/** A line of `claude --help` that begins an option, such as `  -r, --resume [value]   Resume …`. */
const OPTION = /^ {2}((?:-[a-z0-9]+, )?--[a-zA-Z0-9-]+(?:, --[a-zA-Z0-9-]+)*)( [<[][^>\]]+[>\]])?/u;

/** Flags of ours that Claude Code spells too, and that take something else there. */
const OURS: readonly string[] = ["--help", "--version"];

function valueOf(placeholder: string): FlagValue {
  if (placeholder === "") return "none";
  if (placeholder.startsWith("[")) return "optional";
  return placeholder.endsWith("...>") ? "variadic" : "required";
}

forEachVersion(
  "every flag of claude --help is in the table, and takes a value as there",
  async (real) => {
    const { code, stdout } = await new Deno.Command(real.binary, {
      args: ["--help"],
      clearEnv: true,
      env: { ...real.home.env },
    }).output();
    assertEquals(code, 0);
    const options = new TextDecoder().decode(stdout).split("\nCommands:")[0]?.split("\n") ?? [];
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
