import { assertEquals } from "@std/assert";
import { writeClaudePrint } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import type { RealClaude } from "../real_claude.ts";
import { masked } from "./masked.ts";
import type { SdkUser } from "./sdk_user.ts";

/** What the users of one executable have seen, scenario by scenario. */
export type Seen = ReadonlyMap<string, readonly unknown[]>;

/** Plays scenarios with an executable in the place of Claude Code's. */
export async function playScenarios(
  { command, argument }: SdkUser,
  { real: { home, binary }, scenarios, executable, env = {} }: {
    readonly real: Pick<RealClaude, "home" | "binary">;
    /** Their names; all there are if there are none. */
    readonly scenarios: readonly string[];
    readonly executable: string;
    /** Variables over those of the home. */
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<Seen> {
  const told = JSON.stringify({ ...argument, executable, scenarios });
  const isClaude = executable === binary;
  const { code, stdout, stderr } = await startProgram([...command, told], {
    // What Claude Code leaves behind by itself does not count.
    env: { ...home.env, ...(isClaude ? { TMPDIR: `${home.path}/t` } : {}), ...env },
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

/** Writes a `claude-print` that users of an SDK can name. */
export async function installClaudePrint({ home, binary }: RealClaude): Promise<string> {
  const path = `${home.path}/claude-print`;
  await writeClaudePrint(path, { claude: binary });
  return path;
}
