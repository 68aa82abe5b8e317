import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { findFlag, type FlagValue } from "../../../../src/cli/arguments/flags.ts";
import { isSubcommand } from "../../../../src/cli/commands/real_claude.ts";
import { startProgram } from "../../../start_program.ts";
import { forEachVersion } from "../../../real/for_each_version.ts";
import { tempFolder } from "../../../temp_folder.ts";

Deno.test("the demo answers and leaves nothing", async () => {
  const demo = new URL("../../../../fixtures/demo.ts", import.meta.url).pathname;
  using temp = tempFolder();
  const { code, stdout, stderr } = await startProgram(
    [Deno.execPath(), "run", "-A", "--quiet", "--frozen", demo],
    { env: { ...Deno.env.toObject(), TMPDIR: temp.path }, cwd: temp.path },
  ).ended;
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "The folder is empty.");
  assertStringIncludes(stdout, "entrypoint cli\n");
  assertEquals(temp.names(), []);
});

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

forEachVersion("all flags and subcommands of claude --help are known", async (real) => {
  const { env, project: cwd } = real.home;
  const { code, stdout } = await startProgram([real.binary, "--help"], { env, cwd }).ended;
  assertEquals(code, 0);
  const help = stdout.split("\nCommands:");
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
});
