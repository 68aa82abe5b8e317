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
  type Learned,
  learnFromCassette,
} from "./cassette_parts.ts";
import { createTraceFinder, type Trace } from "../redaction/find_traces.ts";
import type { BlankedParts } from "../redaction/blank_text.ts";

/** What is the matter with a cassette. */
export interface CassetteLint {
  /** The ways in which it can be replayed, and is as it has to be for that. */
  readonly replays: readonly Way[];
  /** What is wrong, a sentence each. */
  readonly problems: readonly string[];
}

/** As the world to this program's machines, as the program to its caller, as the API to Claude Code. */
export type Way = "world" | "program" | "api";

/** Of so many problems of a kind each is told. */
const MOST_TOLD = 5;

/**
 * Looks a cassette or a tape through: whether it replays in each of the ways for which it has the parts, whether a secret
 * was left in it, and, where it was scrubbed, whether something else was.
 *
 * @param options.redactor knows secrets
 * @param options.known what is known of the machine that this program runs on
 */
export function lintCassette(
  found: FoundCassette,
  { redactor, known }: { readonly redactor: Redactor; readonly known: Partial<KnownTraces> },
): CassetteLint {
  const parts = cassetteParts(found);
  const replays: Way[] = [];
  const problems: string[] = [];
  const check = (way: Way | undefined, find: () => readonly string[]) => {
    const told = problemsOf(find);
    problems.push(...told.filter((problem) => !problems.includes(problem)));
    if (told.length === 0 && way !== undefined) replays.push(way);
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

/** What is found, or why it cannot be looked for. */
function problemsOf(find: () => readonly string[]): readonly string[] {
  let found: readonly string[];
  try {
    found = find();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [error.message];
  }
  const more = found.length - MOST_TOLD;
  return more > 0 ? [...found.slice(0, MOST_TOLD), `And ${more} more of that kind`] : found;
}

function replayProblems(folder: string): readonly string[] {
  return replayCassette(openForReplay(folder)).differences;
}

function programProblems(path: string): readonly string[] {
  const { tape, ...facts } = readProgram(path);
  if (tape.length === 0) return [`There is nothing on ${facts.path}`];
  // As it is played unless told otherwise: an error can be a decision, too.
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
    // What a writer that was killed has left begins with a dot.
    if (known.has(name) || !/^\.|\.json$/u.test(name)) continue;
    problems.push(`${API_FOLDER}/${name} is no exchange`);
  }
  return problems;
}

function secretsInLines(
  { cast, tape, meta }: CassetteParts,
  redactor: Redactor,
): readonly string[] {
  const said = { prompts: false, answers: false };
  const problems: string[] = [];
  const take = (part: string) => ({ number, changed }: ScrubbedLine) => {
    if (changed) problems.push(`A secret is left in line ${number} of ${part}`);
  };
  const deep = keptWithoutSecrets(redactor.text);
  const scrubber = () => createPartScrubber({ redactor, said, deep });
  if (cast !== undefined) {
    scrubCast(partLines(cast) ?? [], {
      path: cast,
      scrubber: scrubber(),
      said,
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

/** What was taken out of a cassette, as it says itself. */
function blankedIn({ meta }: CassetteParts): readonly string[] {
  return meta === undefined ? [] : parseMeta(metaText(meta), { path: meta }).blanked ?? [];
}

function secretsInApi(folder: string, redactor: Redactor): readonly string[] {
  const scrubber = createExchangeScrubber({
    parts: [],
    known: {},
    secrets: createSecretScrubber(redactor.text, { deep: keptWithoutSecrets(redactor.text) }),
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
 * What is made of a value that is nested too deeply to be scrubbed, where somebody only looks for secrets: itself, unless
 * there is one in it, however deep.
 */
function keptWithoutSecrets(redact: (text: string) => string): (value: object) => unknown {
  const redactFields = createValueRedactor(redact);
  /** One level of a value: what is in its objects is looked at by itself. */
  const hasSecret = (item: object): boolean => {
    const flat = Object.entries(item).filter(([, held]) => typeof held === "string");
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
      for (const held of Object.values(item)) left.push(held);
    }
    return value;
  };
}

const NOBODY: BlankedParts = { prompts: false, answers: false };

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
function inWords(kinds: ReadonlySet<Trace["kind"]>, { prompts, answers }: BlankedParts): string {
  if (kinds.size > 0) return upper([...kinds].map((kind) => NAMES[kind]).join(" and "));
  if (!prompts && !answers) return "The number or name of an account";
  return prompts && answers ? "A prompt or an answer" : prompts ? "A prompt" : "An answer";
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
