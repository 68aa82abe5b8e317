import { partLines } from "../cassette/read/part_lines.ts";
import { learnFromCast, learnFromTape } from "../cassette/scrub/learn_from_parts.ts";
import type { KnownTraces } from "../redaction/traces/known_traces.ts";
import { collectTraces } from "../redaction/traces/learn_traces.ts";
import {
  createSubagentCalls,
  type SubagentCalls,
} from "../redaction/traces/blanked/subagent_calls.ts";
import { readExchanges } from "../relay/exchanges/exchange_folder.ts";
import { createExchangeScrubber } from "../relay/exchanges/scrub_alike.ts";
import type { CassetteParts } from "./cassette_parts.ts";

/** What a cassette says of the machine that it was recorded on, of who sat at it, and of subagents. */
export interface Learned {
  readonly known: KnownTraces;
  readonly subagents: SubagentCalls;
}

/**
 * Learns from all that is in a cassette or a tape.
 *
 * @param options.known what is known before, as of the machine that this program runs on
 */
export function learnFromCassette(
  { cast, tape, api }: CassetteParts,
  { known }: { readonly known: Partial<KnownTraces> },
): Learned {
  const collector = collectTraces(known);
  const subagents = createSubagentCalls();
  const learner = {
    text: collector.text,
    value: (value: unknown) => {
      collector.value(value);
      subagents.learn(value);
    },
  };
  if (cast !== undefined) learnFromCast(partLines(cast) ?? [], learner);
  if (tape !== undefined) learnFromTape(partLines(tape) ?? [], learner);
  if (api !== undefined) {
    const exchanges = createExchangeScrubber({ parts: [], known: {}, collector });
    for (const { exchange } of readExchanges(api)) exchanges.learn(exchange);
  }
  return { known: collector.known(), subagents };
}
