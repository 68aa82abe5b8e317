import { assertEquals } from "@std/assert";
import type { LoggedRequest } from "../../../src/recording/learn/messages_api.ts";
import { readReplyScript, type Reply } from "../../../src/recording/learn/reply_script.ts";
import { writeClaudePrint } from "../../claude_print.ts";
import { asRecorded } from "../../real/as_recorded.ts";
import { RealClaude } from "../../real/real_claude.ts";
import { masked, type Sdk, type SdkUser } from "../../program/sdk/scenarios.ts";
import { startProgram } from "../../start_program.ts";

/** What the users of one executable have seen, scenario by scenario. */
export type Seen = ReadonlyMap<string, readonly unknown[]>;

/** Plays scenarios with an executable in the place of Claude Code's. */
export async function playScenarios(
  { command, argument }: SdkUser,
  { real: { home, binary }, scenarios, executable, env = {} }: {
    readonly real: Pick<RealClaude, "home" | "binary">;
    /** Their names; all scenarios if empty. */
    readonly scenarios: readonly string[];
    readonly executable: string;
    /** Variables over those of the home. */
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<Seen> {
  const given = JSON.stringify({ ...argument, executable, scenarios });
  const isClaude = executable === binary;
  const { code, stdout, stderr } = await startProgram([...command, given], {
    // What Claude Code itself leaves behind does not count.
    env: { ...home.env, ...(isClaude ? { TMPDIR: `${home.path}/t` } : {}), ...env },
    cwd: home.project,
  }).ended;
  assertEquals([code, stderr], [0, ""], stdout);
  return new Map(
    stdout.trimEnd().split("\n").map((line) => {
      const { name, seen } = JSON.parse(line);
      return [name, masked(seen, home.path)];
    }),
  );
}

/** Returns what users see with the real Claude Code, as it is recorded; of a version without a recording all is played. */
export async function seenWithClaude(real: RealClaude, sdk: Sdk, user: SdkUser): Promise<Seen> {
  const seen = await asRecorded(real, `sdk_${sdk}/scenarios`, async () => {
    await using other = await RealClaude.set(real.version, { api: { reply: structuredReply } });
    return [...await playScenarios(user, { real: other, scenarios: [], executable: other.binary })];
  });
  return new Map(seen);
}

/** Writes a `claude-print` that users of an SDK can name. */
export async function installClaudePrint({ home, binary }: RealClaude): Promise<string> {
  const path = `${home.path}/claude-print`;
  await writeClaudePrint(path, { claude: binary });
  return path;
}

const OUTPUT = "StructuredOutput";

/** The tool for structured answers has a longer name in the interactive Claude Code. */
export function structuredReply(
  { prompt = "", round = 0, body }: LoggedRequest,
): Reply | undefined {
  if (!prompt.includes(OUTPUT)) return undefined;
  const { tools } = body as { readonly tools: readonly { readonly name: string }[] };
  const name = tools.find(({ name }) => name.endsWith(OUTPUT))?.name ?? OUTPUT;
  return readReplyScript(prompt)[round]?.map((step) =>
    step.kind === "tool" && step.name === OUTPUT ? { ...step, name } : step
  );
}
