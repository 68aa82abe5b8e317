import { CliError } from "../../cli_error.ts";
import { API_FOLDER, CAST_FILE, META_FILE, type TapeEntry } from "../cassette/cassette.ts";
import { play } from "../cassette/program/play_program.ts";
import { type PlayInput, startPlay } from "../cassette/program/play_state.ts";
import type { RecordedProgram } from "../cassette/program/program_step.ts";
import { readProgram } from "../cassette/program/read_program.ts";
import { recordedProgram } from "../cassette/program/recorded_program.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { parseMeta } from "../cassette/read/parse_meta.ts";
import { partLines } from "../cassette/read/part_lines.ts";
import { openToReplay } from "../cassette/read/open_cassette.ts";
import { createPartScrubber } from "../cassette/scrub/part_scrubber.ts";
import { scrubCast } from "../cassette/scrub/scrub_cast.ts";
import type { ScrubbedLine } from "../cassette/scrub/scrub_streams.ts";
import { scrubTape } from "../cassette/scrub/scrub_tape.ts";
import { replayCassette } from "../cassette/replay/replay_cassette.ts";
import { asText } from "../../json_object.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { KnownTraces } from "../redaction/traces/known_traces.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { encodeExchange } from "../relay/exchanges/exchange.ts";
import { readExchanges } from "../relay/exchanges/exchange_folder.ts";
import { keyOf } from "../relay/exchanges/request_key.ts";
import { createExchangeScrubber } from "../relay/exchanges/scrub_alike.ts";
import { findLeftovers } from "./find_leftovers.ts";
import { keptWithoutSecrets } from "./kept_without_secrets.ts";
import { metaText } from "./meta_text.ts";
import { type CassetteParts, cassetteParts } from "./cassette_parts.ts";

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
  if (cast !== undefined) check("world", () => worldProblems(found.path));
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

function worldProblems(folder: string): readonly string[] {
  return replayCassette(openToReplay(folder)).differences;
}

function programProblems(path: string): readonly string[] {
  const { tape, ...facts } = readProgram(path);
  if (tape.length === 0) return [`There is nothing on ${facts.path}`];
  // As it is played unless told otherwise: an error can be a decision, too.
  const program = recordedProgram(tape, { ...facts, mode: "verify" });
  return [...unanswered(program), ...playedToItself(tape, program)];
}

/** Questions to the caller that it neither answered nor had taken back. */
function unanswered({ steps }: RecordedProgram): readonly string[] {
  const settled = new Set(
    steps.flatMap((step) =>
      step.kind === "answer"
        ? [step.id]
        : step.kind === "frame" && step.frame.type === "control_cancel_request"
        ? [step.frame["request_id"]]
        : []
    ),
  );
  return steps.flatMap((step) =>
    step.kind === "ask" && !settled.has(step.id)
      ? [`There is no answer to the question "${asText(step.request["subtype"])}" (${step.id})`]
      : []
  );
}

/** What is told otherwise to a caller that writes what the recorded one wrote; of a tape without it nothing is known. */
function playedToItself(
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
  let state = startPlay(program);
  return inputs.flatMap((input) => {
    const played = play(state, input);
    state = played.state;
    return played.effects.flatMap((effect) => effect.type === "divergence" ? [effect.what] : []);
  });
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
    secrets: secretScrub(redactor.text, { deep: keptWithoutSecrets(redactor.text) }),
  });
  const problems: string[] = [];
  for (const { name, exchange } of readExchanges(folder)) {
    const scrubbed = scrubber.exchange(exchange);
    if (encodeExchange(scrubbed) === encodeExchange(exchange)) continue;
    problems.push(`A secret is left in ${API_FOLDER}/${name}`);
  }
  return problems;
}
