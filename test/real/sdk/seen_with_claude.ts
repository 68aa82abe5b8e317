import { asRecorded, type RecordedName } from "../as_recorded.ts";
import { RealClaude } from "../real_claude.ts";
import { playScenarios, type Seen } from "./play_scenarios.ts";
import type { SdkUser } from "./sdk_user.ts";
import { structuredReply } from "./structured_reply.ts";

/** What users see with the real Claude Code, as recorded of its version; with one of which nothing is, all is played. */
export async function seenWithClaude(
  real: RealClaude,
  { recorded, user }: { readonly recorded: RecordedName; readonly user: SdkUser },
): Promise<Seen> {
  const seen = await asRecorded(real, recorded, async () => {
    await using other = await RealClaude.set(real.version, { api: { reply: structuredReply } });
    // All of them: what is replayed from tapes is compared with this, too.
    return [...await playScenarios(user, { real: other, scenarios: [], executable: other.binary })];
  });
  return new Map(seen);
}
