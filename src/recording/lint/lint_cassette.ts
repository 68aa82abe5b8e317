import { CliError } from "../../cli_error.ts";
import { API_FOLDER, CAST_FILE, META_FILE, type TapeEntry } from "../cassette/cassette_format.ts";
import { Player, type PlayInput } from "../cassette/program/play_program.ts";
import {
  type RecordedProgram,
  recordedProgram,
  unansweredQuestions,
} from "../cassette/program/recorded_program.ts";
import { readProgram } from "../cassette/program/read_program.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { metaText, parseMeta } from "../cassette/read/read_meta.ts";
import { partLines } from "../cassette/read/part_lines.ts";
import { openForReplay } from "../cassette/read/open_cassette.ts";
import { createPartScrubber } from "../cassette/part_scrubber.ts";
import { type ScrubbedLine, scrubCast, scrubTape } from "../cassette/scrub_lines.ts";
import { replayCassette } from "../cassette/replay_cassette.ts";
import { asText } from "../../json_object.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { KnownTraces } from "../redaction/known_traces.ts";
import { createSecretScrubber, createValueRedactor } from "../redaction/redact_pieces.ts";
import { encodeExchange } from "../relay/exchange.ts";
import { readExchanges } from "../relay/exchange_folder.ts";
import { keyOf } from "../relay/match_requests.ts";
import { createExchangeScrubber } from "../relay/scrub_exchange.ts";
import {
  type CassetteParts,
  cassetteParts,
  type LearnedTraces,
  learnFromCassette,
} from "./cassette_parts.ts";
import { createTraceFinder, type Trace } from "../redaction/find_traces.ts";
import type { BlankedParts } from "../redaction/blank_text.ts";

interface CassetteLint {
  /** The kinds of replay that work. */
  readonly replays: readonly ReplayKind[];
  /** The problems, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * `world` replays the inputs to this program, `program` plays Claude Code for a caller, `api` plays the API for
 * Claude Code.
 */
export type ReplayKind = "world" | "program" | "api";

/** The maximum number of listed problems of one kind. */
const MOST_REPORTED = 5;

/**
 * Checks a cassette or a tape: whether each kind of replay works for which it has the parts, whether a secret is
 * left, and, if it was scrubbed, whether a trace is left.
 *
 * @param options.redactor finds secrets
 * @param options.known the traces of this machine
 */
export function lintCassette(
  found: FoundCassette,
  { redactor, known }: { readonly redactor: Redactor; readonly known: Partial<KnownTraces> },
): CassetteLint {
  const parts = cassetteParts(found);
  const replays: ReplayKind[] = [];
  const problems: string[] = [];
  const check = (way: ReplayKind | undefined, find: () => readonly string[]) => {
    const found = problemsOf(find);
    problems.push(...found.filter((problem) => !problems.includes(problem)));
    if (found.length === 0 && way !== undefined) replays.push(way);
  };
  const { cast, tape, meta, api } = parts;
  if (cast !== undefined) check("world", () => replayProblems(found.path));
  if (tape !== undefined) check("program", () => programProblems(found.path));
  if (api !== undefined) check("api", () => apiProblems(api));
  if (meta !== undefined || cast !== undefined || tape !== undefined) {
    check(undefined, () => secretsInLines(parts, redactor));
  }
  if (api !== undefined) check(undefined, () => secretsInApi(api, redactor));
  check(undefined, () => findLeftovers(found, { parts, blanked: blankedIn(parts), known }));
  return { replays, problems };
}

/** The problems that a check finds, or the error that stops it. */
function problemsOf(find: () => readonly string[]): readonly string[] {
  let found: readonly string[];
  try {
    found = find();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [error.message];
  }
  const more = found.length - MOST_REPORTED;
  return more > 0 ? [...found.slice(0, MOST_REPORTED), `And ${more} more of that kind`] : found;
}

function replayProblems(folder: string): readonly string[] {
  return replayCassette(openForReplay(folder)).differences;
}

function programProblems(path: string): readonly string[] {
  const { tape, ...facts } = readProgram(path);
  if (tape.length === 0) return [`There is nothing on ${facts.path}`];
  // In the default mode, in which an error may be an answer.
  const program = recordedProgram(tape, { ...facts, mode: "verify" });
  const unanswered = unansweredQuestions(program).map(({ id, request }) =>
    `There is no answer to the question "${asText(request["subtype"])}" (${id})`
  );
  return [...unanswered, ...selfPlayProblems(tape, program)];
}

/** Divergences of a play whose caller writes the recorded lines. A tape without caller lines has none. */
function selfPlayProblems(
  tape: readonly TapeEntry[],
  program: RecordedProgram,
): readonly string[] {
  const lines = tape.flatMap((entry) => entry.dir === "write" ? entry.data.split("\n") : []);
  if (lines.length === 0) return [];
  const inputs: readonly PlayInput[] = [
    { type: "start" },
    ...lines.map((line) => ({ type: "line", line }) as const),
    { type: "closed" },
  ];
  const player = new Player(program);
  return inputs.flatMap((input) => player.receive(input))
    .flatMap((effect) => effect.type === "divergence" ? [effect.what] : []);
}

function apiProblems(folder: string): readonly string[] {
  const problems: string[] = [];
  const known = new Set<string>();
  for (const { name, exchange } of readExchanges(folder)) {
    known.add(name);
    const key = keyOf(exchange.request).slice(0, 16);
    if (name.startsWith(`${key}-`)) continue;
    problems.push(
      `${API_FOLDER}/${name} has the key of another request: its own begins with ${key}`,
    );
  }
  if (known.size === 0) problems.push(`There is no exchange in ${API_FOLDER}`);
  for (const { name } of Deno.readDirSync(folder)) {
    // A killed writer leaves files that begin with a dot.
    if (known.has(name) || !/^\.|\.json$/u.test(name)) continue;
    problems.push(`${API_FOLDER}/${name} is no exchange`);
  }
  return problems;
}

function secretsInLines(
  { cast, tape, meta }: CassetteParts,
  redactor: Redactor,
): readonly string[] {
  const problems: string[] = [];
  const take = (part: string) => ({ number, changed }: ScrubbedLine) => {
    if (changed) problems.push(`A secret is left in line ${number} of ${part}`);
  };
  const deep = keepUnlessSecret(redactor.text);
  const scrubber = () => createPartScrubber({ redactor, blanked: NOTHING_BLANKED, deep });
  if (cast !== undefined) {
    scrubCast(partLines(cast) ?? [], {
      path: cast,
      scrubber: scrubber(),
      blanked: NOTHING_BLANKED,
      take: take(CAST_FILE),
    });
  }
  if (tape !== undefined) {
    const name = tape.replace(/^.*\//u, "");
    scrubTape(partLines(tape) ?? [], { path: tape, scrubber: scrubber(), take: take(name) });
  }
  if (meta !== undefined) {
    const text = metaText(meta);
    parseMeta(text, { path: meta });
    if (redactor.text(text) !== text) problems.push(`A secret is left in ${META_FILE}`);
  }
  return problems;
}

/** The parts that were blanked, as `meta.json` says. */
function blankedIn({ meta }: CassetteParts): readonly string[] {
  return meta === undefined ? [] : parseMeta(metaText(meta), { path: meta }).blanked ?? [];
}

function secretsInApi(folder: string, redactor: Redactor): readonly string[] {
  const scrubber = createExchangeScrubber({
    parts: [],
    known: {},
    secrets: createSecretScrubber(redactor.text, { deep: keepUnlessSecret(redactor.text) }),
  });
  const problems: string[] = [];
  for (const { name, exchange } of readExchanges(folder)) {
    const scrubbed = scrubber.exchange(exchange);
    if (encodeExchange(scrubbed) === encodeExchange(exchange)) continue;
    problems.push(`A secret is left in ${API_FOLDER}/${name}`);
  }
  return problems;
}

/**
 * Creates the replacement for values that are nested too deeply to be scrubbed: the value itself, or a mark if it has
 * a secret at any depth.
 */
function keepUnlessSecret(redact: (text: string) => string): (value: object) => unknown {
  const redactFields = createValueRedactor(redact);
  /** Checks one level; objects inside are checked by themselves. */
  const hasSecret = (item: object): boolean => {
    const flat = Object.entries(item).filter(([, field]) => typeof field === "string");
    const fields = Array.isArray(item) ? flat.map(([, text]) => text) : Object.fromEntries(flat);
    return Object.keys(item).some((name) => redact(name) !== name) ||
      JSON.stringify(redactFields(fields)) !== JSON.stringify(fields);
  };
  return (value) => {
    const left: unknown[] = [value];
    while (left.length > 0) {
      const item = left.pop();
      if (typeof item !== "object" || item === null) continue;
      if (hasSecret(item)) return "[redacted]";
      for (const field of Object.values(item)) left.push(field);
    }
    return value;
  };
}

const NOTHING_BLANKED: BlankedParts = { prompts: false, answers: false };

const TRACE_NAMES: Readonly<Record<Trace["kind"], string>> = {
  path: "a path",
  slug: "the folder of a project",
  user: "the name of a user",
  host: "the name of a machine",
  word: "a name",
  email: "an address of mail",
  id: "the number of an account",
};

/**
 * Finds traces, prompts and answers that are left in a cassette from which they were removed: everything that
 * scrubbing it again would change. Reports kind and place, never the text.
 *
 * @param options.blanked what was removed, as `meta.json` says
 * @param options.known the traces of this machine
 */
function findLeftovers(
  found: FoundCassette,
  { parts, blanked, known }: {
    readonly parts: CassetteParts;
    readonly blanked: readonly string[];
    readonly known: Partial<KnownTraces>;
  },
): readonly string[] {
  const learned = learnFromCassette(parts, { known });
  return [
    ...(blanked.length === 0 ? [] : tracesInLines(found, { parts, learned, blanked })),
    ...(parts.api === undefined ? [] : tracesInApi(parts.api, learned)),
  ];
}

function tracesInLines(
  found: FoundCassette,
  { parts: { cast, tape, meta }, learned, blanked }: {
    readonly parts: CassetteParts;
    readonly learned: LearnedTraces;
    readonly blanked: readonly string[];
  },
): readonly string[] {
  const { known, subagents } = learned;
  const blankedParts = {
    prompts: blanked.includes("prompts"),
    answers: blanked.includes("answers"),
  };
  const kinds = new Set<Trace["kind"]>();
  const problems: string[] = [];
  const named = createTraceFinder(known).find(found.path.replace(/^.*\//u, ""));
  const [trace] = named.filter(({ kind }) => kind !== "path" && kind !== "slug");
  if (blanked.includes("traces") && trace !== undefined) {
    problems.push(`${capitalize(TRACE_NAMES[trace.kind])} is left in what it is called`);
  }
  const scrubber = createPartScrubber({
    ...(blanked.includes("traces") ? { known, onTrace: (kind) => void kinds.add(kind) } : {}),
    redactor: { text: (text) => text, openFrom: () => Infinity },
    blanked: blankedParts,
    subagents,
  });
  const take = (part: string) => ({ number, changed }: ScrubbedLine) => {
    if (changed) {
      problems.push(
        `${describeLeftover(kinds, blankedParts)} is left in line ${number} of ${part}`,
      );
    }
    kinds.clear();
  };
  if (cast !== undefined) {
    scrubCast(partLines(cast) ?? [], {
      path: cast,
      scrubber,
      blanked: blankedParts,
      take: take(CAST_FILE),
    });
  }
  if (tape !== undefined) {
    const name = tape.replace(/^.*\//u, "");
    scrubTape(partLines(tape) ?? [], { path: tape, scrubber, take: take(name) });
  }
  if (meta !== undefined) {
    kinds.clear();
    const written: unknown = JSON.parse(metaText(meta));
    if (JSON.stringify(scrubber.value(written)) !== JSON.stringify(written)) {
      problems.push(`${describeLeftover(kinds, NOTHING_BLANKED)} is left in ${META_FILE}`);
    }
  }
  return problems;
}

function tracesInApi(api: string, { known }: LearnedTraces): readonly string[] {
  const kinds = new Set<Trace["kind"]>();
  const problems: string[] = [];
  for (const { name, exchange } of readExchanges(api)) {
    const { scrubbed: parts = [] } = exchange;
    if (parts.length === 0) continue;
    const scrubber = createExchangeScrubber({ parts, known, note: (kind) => void kinds.add(kind) });
    kinds.clear();
    if (encodeExchange(scrubber.exchange(exchange)) === encodeExchange(exchange)) continue;
    const blankedParts = { prompts: parts.includes("prompts"), answers: parts.includes("answers") };
    problems.push(`${describeLeftover(kinds, blankedParts)} is left in ${API_FOLDER}/${name}`);
  }
  return problems;
}

/** Names what is left: kinds of traces, or a prompt or an answer. */
function describeLeftover(
  kinds: ReadonlySet<Trace["kind"]>,
  { prompts, answers }: BlankedParts,
): string {
  if (kinds.size > 0) return capitalize([...kinds].map((kind) => TRACE_NAMES[kind]).join(" and "));
  if (!prompts && !answers) return "The number or name of an account";
  return prompts && answers ? "A prompt or an answer" : prompts ? "A prompt" : "An answer";
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
