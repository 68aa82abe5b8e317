import { API_FOLDER, CAST_FILE, TAPE_FILE } from "../cassette/cassette.ts";
import type { CassetteMeta } from "../cassette/cassette_meta.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { parseMeta } from "../cassette/read/parse_meta.ts";
import { partLines } from "../cassette/read/part_lines.ts";
import type { ParsedLine } from "../cassette/read/parse_lines.ts";
import { encodeMeta } from "../cassette/record/encode_cassette.ts";
import { createPartScrubber } from "../cassette/scrub/part_scrubber.ts";
import { scrubCast } from "../cassette/scrub/scrub_cast.ts";
import type { ScrubbedLine } from "../cassette/scrub/scrub_streams.ts";
import { scrubTape } from "../cassette/scrub/scrub_tape.ts";
import { REDACTED } from "../redaction/redact_pieces.ts";
import type { Redactor } from "../redaction/redact.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import type { SaidParts } from "../redaction/traces/blanked/said_parts.ts";
import type { KnownTraces } from "../redaction/traces/known_traces.ts";
import type { SubagentCalls } from "../redaction/traces/blanked/subagent_calls.ts";
import { encodeExchange, type ScrubbedPart } from "../relay/exchanges/exchange.ts";
import { readExchanges } from "../relay/exchanges/exchange_folder.ts";
import { placeExchange } from "../relay/exchanges/place_exchange.ts";
import { keyOf } from "../relay/exchanges/request_key.ts";
import { createExchangeScrubber } from "../relay/exchanges/scrub_alike.ts";
import { type CassetteParts, cassetteParts } from "./cassette_parts.ts";
import { blankText } from "../redaction/traces/blanked/blank_text.ts";
import { blankedFlags } from "../cassette/recorded_flags.ts";
import { learnFromCassette } from "./learn_from_cassette.ts";
import { metaText } from "./meta_text.ts";
import { StagedFiles } from "./staged_files.ts";

/** What is taken out of cassettes. */
export interface HygieneOptions {
  /** Whose words besides. */
  readonly said: SaidParts;
  readonly redactor: Redactor;
  /** What is known before, as of the machine that this program runs on. */
  readonly known: Partial<KnownTraces>;
  /** Where the scrubbed one is to be, the folder or the tape; in the place of the other one by default. */
  readonly to?: string;
}

/** In how many lines of each part, or exchanges, something was taken out. */
export type ScrubReport = Readonly<Record<string, number>>;

/**
 * Scrubs a cassette or a tape, where it is or into a copy: what tells of the machine that it was recorded on and of who
 * sat at it, and secrets that were left.
 *
 * @throws {CliError} when a part cannot be read, with nothing changed, or cannot be written
 */
export function scrubCassette(found: FoundCassette, options: HygieneOptions): ScrubReport {
  const parts = cassetteParts(found);
  const learned = learnFromCassette(parts, options);
  const { to = found.path } = options;
  const isCopy = to !== found.path;
  const place = (path: string) => to + path.slice(found.path.length);
  using staged = new StagedFiles(`scrub ${found.name}`, isCopy ? { place } : {});
  const staging = { ...options, ...learned, staged, isCopy, place };
  const report = { ...scrubLines(parts, staging), ...scrubApi(parts, staging) };
  scrubMeta(parts, { ...staging, report });
  staged.commit();
  return Object.fromEntries(Object.entries(report).map(([name, { changed }]) => [name, changed]));
}

/** What became of a part. */
interface PartReport {
  /** Lines, or exchanges, that have changed. */
  readonly changed: number;
  /** How often a secret is taken out of it, now or before. */
  readonly secrets: number;
}

type Staging = Omit<HygieneOptions, "known" | "to"> & {
  readonly known: KnownTraces;
  readonly subagents: SubagentCalls;
  readonly staged: StagedFiles;
  /** Whether what there is stays, and all that is scrubbed has another place. */
  readonly isCopy: boolean;
  readonly place: (path: string) => string;
};

function linesOf(path: string): Iterable<ParsedLine> {
  return partLines(path) ?? [];
}

function scrubLines(
  { cast, tape }: CassetteParts,
  { known, redactor, said, subagents, staged }: Staging,
): Readonly<Record<string, PartReport>> {
  // One for both: what Claude Code says in the model's place is known of the cast once the tape is read.
  const scrubber = createPartScrubber({ known, redactor, said, subagents });
  const scrub = (
    path: string | undefined,
    pass: (path: string, take: (line: ScrubbedLine) => void) => void,
  ): PartReport | undefined => {
    if (path === undefined) return undefined;
    const file = staged.begin(path);
    let [changed, secrets] = [0, 0];
    pass(path, (line) => {
      if (line.changed) changed++;
      secrets += line.text.split(REDACTED).length - 1;
      file.write(`${line.text}\n`);
    });
    return { changed, secrets };
  };
  const scrubbed = {
    [CAST_FILE]: scrub(
      cast,
      (path, take) => scrubCast(linesOf(path), { path, scrubber, said, take }),
    ),
    [nameOf(tape) ?? TAPE_FILE]: scrub(
      tape,
      (path, take) => scrubTape(linesOf(path), { path, scrubber, take }),
    ),
  };
  return present(scrubbed);
}

function scrubApi(
  { api }: CassetteParts,
  { known, redactor, said, staged, isCopy, place }: Staging,
): Readonly<Record<string, PartReport>> {
  if (api === undefined) return {};
  const parts = partsOf(said);
  const secrets = secretScrub(redactor.text);
  const numbers = new Map<string, number>();
  let changed = 0;
  let count = 0;
  const scrubber = createExchangeScrubber({ parts, known, secrets });
  for (const { name, exchange } of readExchanges(api)) {
    const scrubbed = scrubber.exchange(exchange);
    const [before, after] = [exchange, scrubbed].map(encodeExchange);
    count += (after ?? "").split(REDACTED).length - 1;
    if (after === undefined) continue;
    if (after !== before) changed++;
    else if (!isCopy) continue;
    const path = `${api}/${name}`;
    const key = keyOf(scrubbed.request);
    const put = (from: string) =>
      placeExchange(from, {
        folder: place(api),
        key,
        numbers,
        ...(isCopy ? {} : { old: path }),
      });
    const file = staged.begin(path, put);
    file.write(after);
    file.end();
  }
  return { [API_FOLDER]: { changed, secrets: count } };
}

/** What the cassette says of itself. */
function scrubMeta(
  { meta }: CassetteParts,
  { known, redactor, said, staged, report }: Staging & {
    readonly report: Readonly<Record<string, PartReport>>;
  },
): void {
  if (meta === undefined) return;
  const text = metaText(meta);
  const parsed = parseMeta(text, { path: meta });
  const scrubber = createPartScrubber({
    known,
    redactor,
    said: { prompts: false, answers: false },
  });
  // With the fields that this program does not know.
  const written = JSON.parse(text) as CassetteMeta;
  const secrets = Object.entries(report).map(([name, { secrets }]) => [name, secrets] as const);
  staged.begin(meta).write(encodeMeta({
    ...scrubber.value(withoutSaid(written, said)),
    scrubbed: Object.fromEntries(secrets),
    blanked: [...new Set([...parsed.blanked ?? [], ...partsOf(said)])],
  }));
}

/** Flags may hold what the user wrote. */
function withoutSaid(meta: CassetteMeta, { prompts }: SaidParts): CassetteMeta {
  return prompts && meta.flags !== undefined
    ? { ...meta, flags: blankedFlags(meta.flags, blankText) }
    : meta;
}

function nameOf(path: string | undefined): string | undefined {
  return path?.replace(/^.*\//u, "");
}

function partsOf({ prompts, answers }: SaidParts): readonly ScrubbedPart[] {
  return [
    "traces",
    ...(prompts ? ["prompts"] as const : []),
    ...(answers ? ["answers"] as const : []),
  ];
}

function present<Value>(
  values: Readonly<Record<string, Value | undefined>>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
}
