import {
  API_FOLDER,
  type CassetteMeta,
  CAST_FILE,
  encodeMeta,
  TAPE_FILE,
} from "../cassette/cassette_format.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { metaText, parseMeta } from "../cassette/read/read_meta.ts";
import { type ParsedLine, partLines } from "../cassette/read/part_lines.ts";
import { createPartScrubber } from "../cassette/part_scrubber.ts";
import { type ScrubbedLine, scrubCast, scrubTape } from "../cassette/scrub_lines.ts";
import { createSecretScrubber, REDACTED } from "../redaction/redact_pieces.ts";
import type { Redactor } from "../redaction/redact.ts";
import { type BlankedParts, blankText } from "../redaction/blank_text.ts";
import type { KnownTraces } from "../redaction/known_traces.ts";
import type { SubagentCalls } from "../redaction/blank_messages.ts";
import { encodeExchange, type ScrubbedPart } from "../relay/exchange.ts";
import {
  createTempFile,
  linkIfFree,
  readExchanges,
  removeStaleTempFiles,
  type TempFile,
} from "../relay/exchange_folder.ts";
import { keyOf } from "../relay/match_requests.ts";
import { createExchangeScrubber } from "../relay/scrub_exchange.ts";
import { type CassetteParts, cassetteParts, learnFromCassette } from "./cassette_parts.ts";
import { blankFlags } from "../cassette/recorded_flags.ts";
import { CliError } from "../../cli_error.ts";

/** What is taken out of cassettes. */
export interface ScrubCassetteOptions {
  /** Whose words besides. */
  readonly said: BlankedParts;
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
export function scrubCassette(found: FoundCassette, options: ScrubCassetteOptions): ScrubReport {
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

type Staging = Omit<ScrubCassetteOptions, "known" | "to"> & {
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
  const secrets = createSecretScrubber(redactor.text);
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
function withoutSaid(meta: CassetteMeta, { prompts }: BlankedParts): CassetteMeta {
  return prompts && meta.flags !== undefined
    ? { ...meta, flags: blankFlags(meta.flags, blankText) }
    : meta;
}

function nameOf(path: string | undefined): string | undefined {
  return path?.replace(/^.*\//u, "");
}

function partsOf({ prompts, answers }: BlankedParts): readonly ScrubbedPart[] {
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

/** A file that is written beside the one in whose place it is to be. */
interface StagedFile {
  readonly write: (text: string) => void;
  /** Nothing more is written. */
  readonly end: () => void;
}

/** A file that has no place yet. */
interface Staged {
  readonly part: TempFile;
  /** Puts it there. */
  readonly into: (from: string) => void;
  pending: string;
}

/** How many files are kept open until all are written, so that nobody takes them for lost ones; of more, some are closed. */
const MOST_OPEN = 200;
/** Text that is written at once, in UTF-16 units. */
const BUFFER = 256 * 1024;

/**
 * Files that are all written before the first of them is in its place: until then, and whatever goes wrong, everything is
 * as it was. Each file is in its place as a whole.
 */
export class StagedFiles implements Disposable {
  readonly #staged: Staged[] = [];
  readonly #folders = new Set<string>();
  /** What the files are for, as an error says it. */
  readonly #what: string;
  readonly #place: (path: string) => string;

  /**
   * @param what is being done, such as `scrub hello`
   * @param options.place where what comes of a file has its place: that of the file by default
   */
  constructor(
    what: string,
    { place = (path) => path }: { readonly place?: (path: string) => string } = {},
  ) {
    this.#what = what;
    this.#place = place;
  }

  /**
   * Begins a file. What writers that were killed have left in its folder is removed.
   *
   * @param beside the file that it comes of, with no more permissions than that
   * @param into puts the file in its place once all are written; by default in that which comes of `beside`
   * @throws {CliError} when it cannot be made or written
   */
  begin(beside: string, into?: (from: string) => void): StagedFile {
    const target = this.#place(beside);
    const folder = target.includes("/") ? target.replace(/(?<=.)\/[^/]*$|[^/]+$/u, "") : ".";
    const staged: Staged = {
      part: this.#attempt(() => {
        const { mode } = Deno.statSync(beside);
        if (target !== beside) Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!this.#folders.has(folder)) removeStaleTempFiles(folder);
        this.#folders.add(folder);
        // By its name it could by now be a link of somebody who may write to the folder.
        return createTempFile(folder, { mode: (mode ?? 0o600) & 0o777 });
      }),
      into: into ?? ((path) => Deno.renameSync(path, target)),
      pending: "",
    };
    this.#staged.push(staged);
    return {
      write: (text) => {
        staged.pending += text;
        if (staged.pending.length >= BUFFER) this.#attempt(() => flush(staged));
      },
      end: () => {
        if (this.#staged.length <= MOST_OPEN) return;
        this.#attempt(() => {
          flush(staged);
          staged.part.close();
        });
      },
    };
  }

  /**
   * Puts all files in their places.
   *
   * @throws {CliError} when one cannot be written, before any is in its place, or cannot be put there
   */
  commit(): void {
    this.#attempt(() => {
      for (const staged of this.#staged) if (staged.pending !== "") flush(staged);
      for (const { part, into } of this.#staged) into(part.path);
    });
  }

  #attempt<Value>(act: () => Value): Value {
    try {
      return act();
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      throw new CliError(`Cannot ${this.#what}: ${(cause as Error).message}`, {
        suggestion: "Give it folders of yours on a disk with room",
        cause,
      });
    }
  }

  [Symbol.dispose](): void {
    for (const { part } of this.#staged.splice(0)) part[Symbol.dispose]();
  }
}

const encoder = new TextEncoder();

function flush(staged: Staged): void {
  const bytes = encoder.encode(staged.pending);
  staged.pending = "";
  for (let at = 0; at < bytes.length;) at += staged.part.file.writeSync(bytes.subarray(at));
}

/**
 * Puts the file of an exchange in the place of another one, by the name that its key asks for. Whatever ends this program
 * meanwhile, one of both is there.
 *
 * @param options.old the file in whose place it is; absent for one that stays
 * @param options.key what its request is known by, in hexadecimal digits
 * @param options.numbers which number is the next of each key that files were placed by before
 */
export function placeExchange(
  from: string,
  { old, folder, key, numbers }: {
    readonly old?: string;
    readonly folder: string;
    readonly key: string;
    readonly numbers: Map<string, number>;
  },
): void {
  const begin = `${folder}/${key.slice(0, 16)}-`;
  // One that has broken off becomes like the others.
  if (old?.startsWith(begin) && old.endsWith(".json")) {
    Deno.renameSync(from, old);
    return;
  }
  for (let number = numbers.get(begin) ?? 0;; number++) {
    numbers.set(begin, number + 1);
    const path = `${begin}${number}.json`;
    if (linkIfFree(from, path)) break;
    // It was placed before by one who was killed then.
    if (isSame(from, path)) break;
  }
  if (old !== undefined) Deno.removeSync(old);
}

function isSame(one: string, other: string): boolean {
  return Deno.statSync(one).size === Deno.statSync(other).size &&
    Deno.readTextFileSync(one) === Deno.readTextFileSync(other);
}
