import { API_FOLDER, CAST_FILE, META_FILE } from "../cassette/cassette.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { partLines } from "../cassette/read/part_lines.ts";
import { createPartScrubber } from "../cassette/scrub/part_scrubber.ts";
import { scrubCast } from "../cassette/scrub/scrub_cast.ts";
import type { ScrubbedLine } from "../cassette/scrub/scrub_streams.ts";
import { scrubTape } from "../cassette/scrub/scrub_tape.ts";
import { createTraceFinder, type Trace } from "../redaction/traces/find_traces.ts";
import type { KnownTraces } from "../redaction/traces/known_traces.ts";
import type { SaidParts } from "../redaction/traces/blanked/said_parts.ts";
import { encodeExchange } from "../relay/exchanges/exchange.ts";
import { readExchanges } from "../relay/exchanges/exchange_folder.ts";
import { createExchangeScrubber } from "../relay/exchanges/scrub_alike.ts";
import type { CassetteParts } from "./cassette_parts.ts";
import { metaText } from "./meta_text.ts";
import { type Learned, learnFromCassette } from "./learn_from_cassette.ts";

const NOBODY: SaidParts = { prompts: false, answers: false };

const NAMES: Readonly<Record<Trace["kind"], string>> = {
  path: "a path",
  slug: "the folder of a project",
  user: "the name of a user",
  host: "the name of a machine",
  word: "a name",
  email: "an address of mail",
  id: "the number of an account",
};

/**
 * Finds what is left in a cassette of what was taken out of it, as it says itself: whatever scrubbing it again would
 * change. Each is told by its kind and its place, and not what it is.
 *
 * @param options.blanked what was taken out, as `meta.json` says
 * @param options.known what is known of the machine that this program runs on
 */
export function findLeftovers(
  found: FoundCassette,
  { parts, blanked, known }: {
    readonly parts: CassetteParts;
    readonly blanked: readonly string[];
    readonly known: Partial<KnownTraces>;
  },
): readonly string[] {
  const learned = learnFromCassette(parts, { known });
  return [
    ...(blanked.length === 0 ? [] : leftInLines(found, { parts, learned, blanked })),
    ...(parts.api === undefined ? [] : leftInApi(parts.api, learned)),
  ];
}

function leftInLines(
  found: FoundCassette,
  { parts: { cast, tape, meta }, learned, blanked }: {
    readonly parts: CassetteParts;
    readonly learned: Learned;
    readonly blanked: readonly string[];
  },
): readonly string[] {
  const { known, subagents } = learned;
  const said = { prompts: blanked.includes("prompts"), answers: blanked.includes("answers") };
  const kinds = new Set<Trace["kind"]>();
  const problems: string[] = [];
  const named = createTraceFinder(known).find(found.path.replace(/^.*\//u, ""));
  const [trace] = named.filter(({ kind }) => kind !== "path" && kind !== "slug");
  if (blanked.includes("traces") && trace !== undefined) {
    problems.push(`${upper(NAMES[trace.kind])} is left in what it is called`);
  }
  const scrubber = createPartScrubber({
    ...(blanked.includes("traces") ? { known, note: (kind) => void kinds.add(kind) } : {}),
    redactor: { text: (text) => text, openFrom: () => Infinity },
    said,
    subagents,
  });
  const take = (part: string) => ({ number, changed }: ScrubbedLine) => {
    if (changed) problems.push(`${inWords(kinds, said)} is left in line ${number} of ${part}`);
    kinds.clear();
  };
  if (cast !== undefined) {
    scrubCast(partLines(cast) ?? [], { path: cast, scrubber, said, take: take(CAST_FILE) });
  }
  if (tape !== undefined) {
    const name = tape.replace(/^.*\//u, "");
    scrubTape(partLines(tape) ?? [], { path: tape, scrubber, take: take(name) });
  }
  if (meta !== undefined) {
    kinds.clear();
    const written: unknown = JSON.parse(metaText(meta));
    if (JSON.stringify(scrubber.value(written)) !== JSON.stringify(written)) {
      problems.push(`${inWords(kinds, NOBODY)} is left in ${META_FILE}`);
    }
  }
  return problems;
}

function leftInApi(api: string, { known }: Learned): readonly string[] {
  const kinds = new Set<Trace["kind"]>();
  const problems: string[] = [];
  for (const { name, exchange } of readExchanges(api)) {
    const { scrubbed: parts = [] } = exchange;
    if (parts.length === 0) continue;
    const scrubber = createExchangeScrubber({ parts, known, note: (kind) => void kinds.add(kind) });
    kinds.clear();
    if (encodeExchange(scrubber.exchange(exchange)) === encodeExchange(exchange)) continue;
    const said = { prompts: parts.includes("prompts"), answers: parts.includes("answers") };
    problems.push(`${inWords(kinds, said)} is left in ${API_FOLDER}/${name}`);
  }
  return problems;
}

/** What is left: its kinds, or what nobody was to read. */
function inWords(kinds: ReadonlySet<Trace["kind"]>, { prompts, answers }: SaidParts): string {
  if (kinds.size > 0) return upper([...kinds].map((kind) => NAMES[kind]).join(" and "));
  if (!prompts && !answers) return "The number or name of an account";
  return prompts && answers ? "A prompt or an answer" : prompts ? "A prompt" : "An answer";
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
