import { API_FOLDER, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette/cassette_format.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { type ParsedLine, partLines } from "../cassette/read/part_lines.ts";
import { collectTraces, type KnownTraces, type TraceCollector } from "../redaction/known_traces.ts";
import { createSubagentCalls, type SubagentCalls } from "../redaction/blank_messages.ts";
import { readExchanges } from "../relay/exchange_folder.ts";
import { createExchangeScrubber } from "../relay/scrub_exchange.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** Where the parts of a cassette are that it has. */
export interface CassetteParts {
  readonly cast?: string;
  readonly tape?: string;
  readonly meta?: string;
  readonly api?: string;
}

/** The parts of what was found. A link is no part: what it leads to may be anybody's. */
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

/** Who learns from what a part holds. */
type Learner = Pick<TraceCollector, "text" | "value">;

/** Learns of whom a cast tells: by its header, its inputs and what was done. */
export function learnFromCast(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    const [, code, data] = Array.isArray(value) ? value as readonly unknown[] : [];
    if (code === undefined) collector.value(value);
    else if ((code === "h" || code === "d") && typeof data === "string") learnJson(data, collector);
  }
}

/** Learns of whom a tape tells: by its frames, and the lines of the caller. */
function learnFromTape(lines: Iterable<ParsedLine>, collector: Learner): void {
  for (const { value } of lines) {
    collector.value(value);
    const { data } = Object(value) as { readonly data?: unknown };
    if (typeof data === "string") learnJson(data, collector);
  }
}

/** Learns from a text of JSON, if it is one. */
function learnJson(text: string, collector: Learner): void {
  if (isTooDeep(text)) return;
  try {
    collector.value(JSON.parse(text));
  } catch {
    collector.text(text);
  }
}
