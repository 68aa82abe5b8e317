import { API_FOLDER, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette/cassette_format.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { type ParsedLine, partLines } from "../cassette/read/part_lines.ts";
import { collectTraces, type KnownTraces, type TraceCollector } from "../redaction/known_traces.ts";
import { createSubagentCalls, type SubagentCalls } from "../redaction/blank_messages.ts";
import { readExchanges } from "../relay/exchange_folder.ts";
import { createExchangeScrubber } from "../relay/scrub_exchange.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** The paths of the parts that a cassette has. */
export interface CassetteParts {
  readonly cast?: string;
  readonly tape?: string;
  readonly meta?: string;
  readonly api?: string;
}

/** Finds the parts of a cassette or tape. Ignores links, which may lead to files of others. */
export function cassetteParts({ kind, path }: FoundCassette): CassetteParts {
  if (kind === "tape") return { tape: path };
  const part = (name: string, is: "file" | "folder") => {
    const place = `${path}/${name}`;
    const stat = lstat(place);
    if (stat === undefined || stat.isSymlink) return undefined;
    return stat.isDirectory === (is === "folder") ? place : undefined;
  };
  const parts = {
    cast: part(CAST_FILE, "file"),
    tape: part(TAPE_FILE, "file"),
    meta: part(META_FILE, "file"),
    api: part(API_FOLDER, "folder"),
  };
  const present = Object.entries(parts).filter(([, place]) => place !== undefined);
  return Object.fromEntries(present);
}

function lstat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Traces of the machine and user of a recording, and its calls of subagents. */
export interface LearnedTraces {
  readonly known: KnownTraces;
  readonly subagents: SubagentCalls;
}

/**
 * Collects traces from all parts of a cassette or a tape.
 *
 * @param options.known traces known before, such as those of this machine
 */
export function learnFromCassette(
  { cast, tape, api }: CassetteParts,
  { known }: { readonly known: Partial<KnownTraces> },
): LearnedTraces {
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

type Learner = Pick<TraceCollector, "text" | "value">;

/** Learns from the header, the inputs and the effects of a cast. */
export function learnFromCast(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    const [, code, data] = Array.isArray(value) ? value as readonly unknown[] : [];
    if (code === undefined) collector.value(value);
    else if ((code === "h" || code === "d") && typeof data === "string") learnJson(data, collector);
  }
}

/** Learns from the frames and the caller lines of a tape. */
function learnFromTape(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    collector.value(value);
    const { data } = Object(value) as { readonly data?: unknown };
    if (typeof data === "string") learnJson(data, collector);
  }
}

/** Learns from a JSON value, or from a text that is none. */
function learnJson(text: string, collector: Learner): void {
  if (isTooDeep(text)) return;
  try {
    collector.value(JSON.parse(text));
  } catch {
    collector.text(text);
  }
}
