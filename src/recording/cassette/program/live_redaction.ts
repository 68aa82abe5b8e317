import type { TapeEntry } from "../cassette.ts";
import { fillAlike, fillAsNobody } from "../../redaction/traces/fill_trace.ts";
import type { KnownTraces } from "../../redaction/traces/known_traces.ts";
import { collectTraces } from "../../redaction/traces/learn_traces.ts";
import { createTraceScrubber } from "../../redaction/traces/scrub_text.ts";

/** Takes out of what is written now what was taken out of what was written when it was recorded. */
export interface LiveRedaction {
  /** What the recording has of a text that is written now, if the same machine and user wrote it then. */
  readonly alike: (live: string) => string;
  /** A text as nobody would have written it, whoever it was: now, or when it was recorded. */
  readonly asNobody: {
    readonly live: (text: string) => string;
    readonly recorded: (text: string) => string;
  };
}

/** An address of mail of which no letter is left. */
const BLANKED_ADDRESS = /[x_%+-][x._%+-]*@[x-]+(?:\.[x-]+)+/gu;

/**
 * Creates it.
 *
 * @param options.blanked what was taken out of the tape besides secrets
 * @param options.known what is known of the machine on which it is played, and of its user
 * @param options.secrets takes secrets out
 */
export function createLiveRedaction(
  tape: readonly TapeEntry[],
  { blanked, known, secrets }: {
    readonly blanked: readonly string[];
    readonly known: Partial<KnownTraces>;
    readonly secrets: (text: string) => string;
  },
): LiveRedaction {
  if (!blanked.includes("traces")) {
    return { alike: secrets, asNobody: { live: secrets, recorded: (text) => text } };
  }
  const recorded = collectTraces();
  for (const entry of tape) if (entry.dir === "read") recorded.value(entry.frame);
  const [now, then] = [collectTraces(known).known(), recorded.known()];
  const alike = createTraceScrubber(now, fillAlike(now)).text;
  const [live, old] = [now, then].map((each) =>
    createTraceScrubber(each, fillAsNobody(each)).text
  ) as [
    (text: string) => string,
    (text: string) => string,
  ];
  return {
    alike: (text) => alike(secrets(text)),
    asNobody: {
      live: (text) => live(secrets(text)),
      recorded: (text) => old(text.replace(BLANKED_ADDRESS, "user@example.com")),
    },
  };
}
