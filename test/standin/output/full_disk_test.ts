import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { projectSlug } from "../../../src/transcript/files/project_slug.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { startProgram } from "../../start_program.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { StandIn } from "../stand_in.ts";

const ID = "123e4567-e89b-42d3-a456-426614174000";

/** Puts the user's transcripts on a disk of 64 KB, and shows what is on it after the run. */
const ON_A_SMALL_DISK = `
  cp -r "$HOME/.claude/projects" "$HOME/before"
  mount -t tmpfs -o size=64k none "$HOME/.claude/projects"
  cp -r "$HOME/before/." "$HOME/.claude/projects"
  "$@"
  code=$?
  cp -r "$HOME/.claude/projects" "$HOME/after"
  exit $code
`;

function onSmallDisk(command: readonly string[]): readonly string[] {
  return ["unshare", "-rm", "/bin/sh", "-c", ON_A_SMALL_DISK, "sh", ...command];
}

/** Runs with a prompt whose transcript does not fit, and compares the disk before and after. */
async function assertWarned(claude: StandIn, args: readonly string[]): Promise<void> {
  const { path } = claude.home;
  const stdin = "0123456789 abcdef\n".repeat(5000);
  const run = await claude.print(args, { stdin, wrap: onSmallDisk, warns: true, keeps: true });
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  assertMatch(run.stderr, keptFor("No space left on device"));
  const { stdout } = await new Deno.Command("diff", {
    args: ["-r", `${path}/before`, `${path}/after`],
  }).output();
  assertEquals(new TextDecoder().decode(stdout), `Only in ${path}/after: ${slug(claude)}\n`);
}

/** The one warning that a transcript could not be brought home. */
function keptFor(reason: string): RegExp {
  return new RegExp(
    `^claude-print: Warning: Cannot copy the transcript to \\S+: ${reason}; ` +
      "it is kept in \\S+/claude-print-\\d+/0-0-[0-9a-f]{8}, " +
      "and the next run or claude-print sweep tries again\n$",
    "u",
  );
}

/** Runs `claude-print sweep`, which brings home what there is: outside of a run's mounts the disk has room. */
async function sweep(claude: StandIn): Promise<void> {
  const { env, project: cwd } = claude.home;
  const swept = await startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd }).ended;
  assertEquals([swept.code, swept.stderr, await leftovers(claude.home)], [0, "", []]);
}

function slug(claude: StandIn): string {
  return projectSlug(claude.home.project);
}

Deno.test(unlessLacking(MOUNT_LACK, {
  name: "a full disk is one warning, and leaves no part of the transcript",
  fn: async () => {
    await using claude = await StandIn.set();
    await Deno.mkdir(`${claude.home.config}/projects/other`, { recursive: true });
    await Deno.writeTextFile(`${claude.home.config}/projects/other/${ID}.jsonl`, "{}\n");
    await assertWarned(claude, []);
    const left = [...Deno.readDirSync(`${claude.home.path}/after/${slug(claude)}`)];
    assertEquals(left, []);
    await sweep(claude);
    assertEquals(claude.transcripts().size, 2);
  },
}));

Deno.test(unlessLacking(MOUNT_LACK, {
  name: "a full disk leaves a resumed transcript as it was",
  fn: async () => {
    await using claude = await StandIn.set();
    assertEquals((await claude.printHere(["--session-id", ID, "hello"])).code, 0);
    const stdin = "0123456789 abcdef\n".repeat(5000);
    const args = ["--resume", ID];
    const run = await claude.print(args, { stdin, wrap: onSmallDisk, warns: true, keeps: true });
    assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
    assertMatch(run.stderr, keptFor("No space left on device"));
    const name = `${slug(claude)}/${ID}.jsonl`;
    const { path } = claude.home;
    assertEquals(
      await Deno.readTextFile(`${path}/after/${name}`),
      await Deno.readTextFile(`${path}/before/${name}`),
    );
    await sweep(claude);
    const [[, text = ""] = [], ...more] = claude.transcripts();
    assertEquals([more, text.split('"content":"hello"').length], [[], 2]);
    assertStringIncludes(text, "0123456789 abcdef");
  },
}));

Deno.test("a transcript that cannot be brought home is kept, told to the quietest, and brought home by the next run", async () => {
  await using claude = await StandIn.set();
  const projects = `${claude.home.config}/projects`;
  await Deno.writeTextFile(projects, "a file where a folder should be");
  // One process: what it left of its first run is not its own any more in its second one.
  const stdin = '"one"\n{"prompt": "two", "args": ["--quiet"]}\n';
  const list = await claude.print(["--jsonl"], { stdin, killed: true });
  const warnings = list.stderr.split(/(?<=\n)/u);
  for (const [index, warning] of warnings.entries()) {
    assertMatch(warning.replace(`line ${index + 1}: `, ""), keptFor("Not a directory"));
  }
  assertEquals([list.code, warnings.length], [0, 2]);
  await Deno.remove(projects);
  assertEquals((await claude.printHere(["three"])).code, 0);
  const prompts = [...claude.transcripts().values()].map((text) =>
    /"content":"(one|two|three)"/u.exec(text)?.[1]
  );
  assertEquals(prompts.toSorted(), ["one", "three", "two"]);
});
