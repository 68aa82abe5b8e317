import { assertEquals } from "@std/assert";
import { writeClaudePrint } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { asRecorded, type RecordedName } from "../as_recorded.ts";
import { RealClaude } from "../real_claude.ts";
import { masked } from "./masked.ts";
import type { SdkUser } from "./sdk_user.ts";
import { structuredReply } from "./structured_reply.ts";

/** What the users of one executable have seen, scenario by scenario. */
type Seen = ReadonlyMap<string, readonly unknown[]>;

/** Plays scenarios with `claude-print`, and fails where a user sees another thing than with the real Claude Code. */
export async function sameForUsers(
  test: Deno.TestContext,
  { recorded, user, version, scenarios = [] }: {
    readonly recorded: RecordedName;
    readonly user: SdkUser;
    readonly version: string;
    /** Their names; all there are by default. */
    readonly scenarios?: readonly string[];
  },
): Promise<void> {
  await using real = await RealClaude.set(version, { api: { reply: structuredReply } });
  const theirs = await asRecorded(real, recorded, async () => {
    await using other = await RealClaude.set(version, { api: { reply: structuredReply } });
    // All of them: what is replayed from tapes is compared with this, too.
    return [...await play(user, { real: other, scenarios: [], executable: other.binary })];
  });
  const executable = await installClaudePrint(real);
  const ours = await play(user, { real, scenarios, executable });
  const expected = new Map(theirs);
  for (const [scenario, seen] of ours) {
    await test.step(scenario, () => assertEquals(seen, expected.get(scenario)));
  }
}

async function play(
  { command, argument }: SdkUser,
  { real: { home, binary }, scenarios, executable }: {
    readonly real: RealClaude;
    readonly scenarios: readonly string[];
    readonly executable: string;
  },
): Promise<Seen> {
  const told = JSON.stringify({ ...argument, executable, scenarios });
  const isClaude = executable === binary;
  const { code, stdout, stderr } = await startProgram([...command, told], {
    // What Claude Code leaves behind by itself does not count.
    env: { ...home.env, ...(isClaude ? { TMPDIR: `${home.path}/t` } : {}) },
    cwd: home.project,
  }).ended;
  assertEquals([code, stderr], [0, ""], stdout);
  return new Map(
    stdout.trimEnd().split("\n").map((line) => {
      const { name, seen } = JSON.parse(line) as {
        readonly name: string;
        readonly seen: readonly unknown[];
      };
      return [name, masked(seen, home.path)];
    }),
  );
}

async function installClaudePrint({ home, binary }: RealClaude): Promise<string> {
  const path = `${home.path}/claude-print`;
  await writeClaudePrint(path, { claude: binary });
  return path;
}
