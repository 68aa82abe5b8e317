import { assertEquals } from "@std/assert";
import type { RecordedName } from "../as_recorded.ts";
import { RealClaude } from "../real_claude.ts";
import { installClaudePrint, playScenarios } from "./play_scenarios.ts";
import { seenWithClaude } from "./seen_with_claude.ts";
import type { SdkUser } from "./sdk_user.ts";
import { structuredReply } from "./structured_reply.ts";

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
  const expected = await seenWithClaude(real, { recorded, user });
  const executable = await installClaudePrint(real);
  const ours = await playScenarios(user, { real, scenarios, executable });
  // It stands in a file that a prompt mentions, which is to reach the model as it is.
  const isTold = real.api.turns.some(({ text }) => text.includes("what nobody is told"));
  assertEquals(isTold, false);
  for (const [scenario, seen] of ours) {
    await test.step(scenario, () => assertEquals(seen, expected.get(scenario)));
  }
}
