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

/** The parts to remove from cassettes, and the place to write them to. */
export interface ScrubCassetteOptions {
  /** Whether to blank prompts and answers. */
  readonly blanked: BlankedParts;
  readonly redactor: Redactor;
  /** Traces known before, such as those of this machine. */
  readonly known: Partial<KnownTraces>;
  /** The path of the scrubbed copy, a folder or a tape; by default the original is replaced. */
  readonly to?: string;
}

/** The number of changed lines or exchanges of each part. */
export type ScrubReport = Readonly<Record<string, number>>;

/**
 * Removes traces of machine and user, and secrets, from a cassette or a tape, in place or into a copy.
 *
 * @throws {CliError} if a part cannot be read, before anything is changed, or cannot be written
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

interface PartReport {
  /** Changed lines or exchanges. */
  readonly changed: number;
  /** Places where a secret is removed, now or before. */
  readonly secrets: number;
}

type Staging = Omit<ScrubCassetteOptions, "known" | "to"> & {
  readonly known: KnownTraces;
  readonly subagents: SubagentCalls;
  readonly staged: StagedFiles;
  /** Whether the original stays and everything is written to another place. */
  readonly isCopy: boolean;
  readonly place: (path: string) => string;
};

function linesOf(path: string): Iterable<ParsedLine> {
  return partLines(path) ?? [];
}

function scrubLines(
  { cast, tape }: CassetteParts,
  { known, redactor, blanked, subagents, staged }: Staging,
): Readonly<Record<string, PartReport>> {
  // One scrubber for both parts, because only the tape shows which answers are Claude Code's own messages.
  const scrubber = createPartScrubber({ known, redactor, blanked, subagents });
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
      (path, take) => scrubCast(linesOf(path), { path, scrubber, blanked, take }),
    ),
    [baseName(tape) ?? TAPE_FILE]: scrub(
      tape,
      (path, take) => scrubTape(linesOf(path), { path, scrubber, take }),
    ),
  };
  return definedOnly(scrubbed);
}

function scrubApi(
  { api }: CassetteParts,
  { known, redactor, blanked, staged, isCopy, place }: Staging,
): Readonly<Record<string, PartReport>> {
  if (api === undefined) return {};
  const parts = scrubbedParts(blanked);
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

function scrubMeta(
  { meta }: CassetteParts,
  { known, redactor, blanked, staged, report }: Staging & {
    readonly report: Readonly<Record<string, PartReport>>;
  },
): void {
  if (meta === undefined) return;
  const text = metaText(meta);
  const parsed = parseMeta(text, { path: meta });
  const scrubber = createPartScrubber({
    known,
    redactor,
    blanked: { prompts: false, answers: false },
  });
  // Keeps fields that this version does not know.
  const written = JSON.parse(text) as CassetteMeta;
  const secrets = Object.entries(report).map(([name, { secrets }]) => [name, secrets] as const);
  staged.begin(meta).write(encodeMeta({
    ...scrubber.value(blankFlagsIn(written, blanked)),
    scrubbed: Object.fromEntries(secrets),
    blanked: [...new Set([...parsed.blanked ?? [], ...scrubbedParts(blanked)])],
  }));
}

/** Blanks flags, which may have text of the user. */
function blankFlagsIn(meta: CassetteMeta, { prompts }: BlankedParts): CassetteMeta {
  return prompts && meta.flags !== undefined
    ? { ...meta, flags: blankFlags(meta.flags, blankText) }
    : meta;
}

function baseName(path: string | undefined): string | undefined {
  return path?.replace(/^.*\//u, "");
}

function scrubbedParts({ prompts, answers }: BlankedParts): readonly ScrubbedPart[] {
  return [
    "traces",
    ...(prompts ? ["prompts"] as const : []),
    ...(answers ? ["answers"] as const : []),
  ];
}

function definedOnly<Value>(
  values: Readonly<Record<string, Value | undefined>>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
}

/** A file that is being written. */
interface StagedFile {
  readonly write: (text: string) => void;
  /** Ends writing. */
  readonly end: () => void;
}

/** A file that is not in its place yet. */
interface Staged {
  readonly part: TempFile;
  /** Moves the file to its place. */
  readonly into: (from: string) => void;
  pending: string;
}

/**
 * The maximum number of files that stay open, locked, until all are written, so that no other process removes them as
 * stale. The rest are closed.
 */
const MOST_OPEN = 200;
/** Characters that are written at once. */
const BUFFER = 256 * 1024;

/**
 * Files of which the first one moves to its place once all are written. An error before that leaves everything as it
 * was. Each file is replaced at once.
 */
export class StagedFiles implements Disposable {
  readonly #staged: Staged[] = [];
  readonly #folders = new Set<string>();
  /** The action, for errors. */
  readonly #what: string;
  readonly #place: (path: string) => string;

  /**
   * @param what the action, such as `scrub hello`
   * @param options.place returns the place of the file that replaces a file; by default the same
   */
  constructor(
    what: string,
    { place = (path) => path }: { readonly place?: (path: string) => string } = {},
  ) {
    this.#what = what;
    this.#place = place;
  }

  /**
   * Begins a file. Removes files that killed writers left in its folder.
   *
   * @param original the original file, whose permissions it gets
   * @param into moves the file to its place once all are written; by default it renames it
   * @throws {CliError} if the file cannot be created
   */
  begin(original: string, into?: (from: string) => void): StagedFile {
    const target = this.#place(original);
    const folder = target.includes("/") ? target.replace(/(?<=.)\/[^/]*$|[^/]+$/u, "") : ".";
    const staged: Staged = {
      part: this.#attempt(() => {
        const { mode } = Deno.statSync(original);
        if (target !== original) Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!this.#folders.has(folder)) removeStaleTempFiles(folder);
        this.#folders.add(folder);
        // A file opened by its name could be a link of another user.
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
   * Moves all files to their places.
   *
   * @throws {CliError} if a file cannot be written, before any is moved, or if one cannot be moved
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
 * Moves the file of an exchange to the name that its key asks for. If the program is killed, either the old file or
 * the new one exists.
 *
 * @param options.old the file that it replaces; absent if none is replaced
 * @param options.key the request's key in hexadecimal digits
 * @param options.numbers the next free number of each key
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
  // An incomplete exchange (`.part`) becomes a complete one.
  if (old?.startsWith(begin) && old.endsWith(".json")) {
    Deno.renameSync(from, old);
    return;
  }
  for (let number = numbers.get(begin) ?? 0;; number++) {
    numbers.set(begin, number + 1);
    const path = `${begin}${number}.json`;
    if (linkIfFree(from, path)) break;
    // A killed scrub placed the same file before.
    if (isSame(from, path)) break;
  }
  if (old !== undefined) Deno.removeSync(old);
}

function isSame(one: string, other: string): boolean {
  return Deno.statSync(one).size === Deno.statSync(other).size &&
    Deno.readTextFileSync(one) === Deno.readTextFileSync(other);
}
