import { assertEquals, assertMatch } from "@std/assert";
import { projectSlug } from "../../src/transcript/project_slug.ts";
import { unlessLacking } from "../unless_lacking.ts";
import { MOUNT_LACK } from "./mount_lack.ts";
import { StandIn } from "./stand_in.ts";

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
  const run = await claude.print(args, { stdin, wrap: onSmallDisk, warns: true });
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  assertMatch(
    run.stderr,
    /^claude-print: Warning: Cannot copy the transcript to .*: No space left on device.*\n$/,
  );
  const { stdout } = await new Deno.Command("diff", {
    args: ["-r", `${path}/before`, `${path}/after`],
  }).output();
  assertEquals(new TextDecoder().decode(stdout), `Only in ${path}/after: ${slug(claude)}\n`);
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
  },
}));

Deno.test(unlessLacking(MOUNT_LACK, {
  name: "a full disk leaves a resumed transcript as it was",
  fn: async () => {
    await using claude = await StandIn.set();
    assertEquals((await claude.print(["--session-id", ID, "hello"])).code, 0);
    const stdin = "0123456789 abcdef\n".repeat(5000);
    const args = ["--resume", ID];
    const run = await claude.print(args, { stdin, wrap: onSmallDisk, warns: true });
    assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
    assertMatch(run.stderr, /^claude-print: Warning: Cannot copy the transcript to .*\n$/);
    const name = `${slug(claude)}/${ID}.jsonl`;
    const { path } = claude.home;
    assertEquals(
      await Deno.readTextFile(`${path}/after/${name}`),
      await Deno.readTextFile(`${path}/before/${name}`),
    );
  },
}));

Deno.test("transcripts that cannot be written are one warning, and the exit code stays", async () => {
  await using claude = await StandIn.set();
  await Deno.writeTextFile(`${claude.home.config}/projects`, "a file where a folder should be");
  const run = await claude.print(["hello"], { warns: true });
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  assertMatch(run.stderr, /^claude-print: Warning: Cannot copy the transcript to .*\n$/);
});
