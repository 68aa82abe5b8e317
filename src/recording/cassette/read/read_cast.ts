import type { Cast, CastCode, CastEvent, CastHeader, CastReader } from "../cassette_format.ts";
import { damagedLine, type ParsedLine, parseLines, partLines } from "./part_lines.ts";
import { z } from "zod/mini";
import { LARGEST_SIDE } from "../../../conversation/terminal/screen.ts";
import { CAST_VERSION, headerSchema } from "./header_schema.ts";
import { inputSchema } from "./input_schema.ts";
import { isTooDeep, parseJson } from "../../../claude/wire/json_text.ts";
import { isJsonObject } from "../../../json_object.ts";

/**
 * Opens a cast whose events are read while they are iterated.
 *
 * @returns undefined if the file does not exist
 * @throws {CliError} if the header is damaged; for events while they are iterated
 */
export function openCast(path: string): CastReader | undefined {
  const lines = partLines(path);
  if (lines === undefined) return undefined;
  const first = lines.next();
  if (first.done) throw damagedLine(1, { path, what: "the header is missing" });
  const header = parseHeader(first.value, { path });
  return { header, events: parseEvents(lines, { path, header }) };
}

const CODES: readonly string[] = ["o", "i", "r", "m", "x", "h", "d"] satisfies readonly CastCode[];
/** Codes of the first recordings. `x` has another meaning in later ones. */
const FIRST_CODES: ReadonlyMap<string, CastCode> = new Map([["x", "h"], ["y", "d"]]);
const SIZE = /^([1-9]\d{0,3})x([1-9]\d{0,3})$/u;
/** 30 years in milliseconds: longer than any run. */
const LATEST_MS = 1e12;

/** A check without a schema, because a long cast has a million events. */
function isEvent(value: unknown): value is readonly [number, string, string] {
  return Array.isArray(value) && value.length === 3 && typeof value[0] === "number" &&
    typeof value[1] === "string" && typeof value[2] === "string";
}

/**
 * Parses a complete cast.
 *
 * @param options.path the file, for errors
 * @throws {CliError} if a line is invalid, with its number
 */
export function parseCast(text: string, options: { readonly path: string }): Cast {
  const { path } = options;
  const [first, ...rest] = parseLines(text, { path });
  if (first === undefined) throw damagedLine(1, { path, what: "the header is missing" });
  const header = parseHeader(first, { path });
  return { header, events: [...parseEvents(rest, { path, header })] };
}

/**
 * Parses the lines after the header. Skips events of other programs.
 *
 * @throws {CliError} for an invalid line, while iterating
 */
function* parseEvents(
  lines: Iterable<ParsedLine>,
  { path, header }: { readonly path: string; readonly header: CastHeader },
): Generator<CastEvent> {
  let last = 0;
  for (const line of lines) {
    const event = parseEvent(line, { path, header, last });
    last = event.at;
    const { code, data } = event;
    if (!isKnown(code)) continue;
    const wrong = problemOf(code, data);
    if (wrong !== undefined) throw damagedLine(line.number, { path, what: wrong });
    yield { ...event, code };
  }
}

/**
 * Parses the first line of a cast.
 *
 * @throws {CliError} if it is no header of this program
 */
export function parseHeader(
  { number, value }: ParsedLine,
  { path }: { readonly path: string },
): CastHeader {
  const header = headerSchema.safeParse(value);
  if (header.success) return header.data;
  throw damagedLine(number, { path, what: headerProblem(value, header.error) });
}

function headerProblem(value: unknown, error: z.core.$ZodError): string {
  const { version, claude_print } = isJsonObject(value) ? value : {};
  if (typeof version === "number" && version !== CAST_VERSION) {
    return `it is of version ${version} of asciicast, and this claude-print reads ${CAST_VERSION}`;
  }
  return isJsonObject(value) && claude_print === undefined
    ? "it was not recorded by claude-print"
    : `it is no header (${issueOf(error)})`;
}

/**
 * Parses a line after the first one, without checking its code and data.
 *
 * @param options.last the time of the previous event
 * @throws {CliError} if the line is no event, or its time is impossible
 */
export function parseEvent(
  { number, value }: ParsedLine,
  { path, header, last }: {
    readonly path: string;
    readonly header: CastHeader;
    readonly last: number;
  },
): Omit<CastEvent, "code"> & { readonly code: string } {
  if (!isEvent(value)) throw damagedLine(number, { path, what: "it is no event of a cast" });
  const [seconds, code, data] = value;
  const at = Math.round(seconds * 1e6) / 1e3;
  if (!(at >= last)) {
    throw damagedLine(number, { path, what: "it is earlier than the line before" });
  }
  if (at > LATEST_MS) throw damagedLine(number, { path, what: "it is later than any run lasts" });
  const isFirst = header.claude_print.output === undefined;
  return { at, code: isFirst ? FIRST_CODES.get(code) ?? code : code, data };
}

function isKnown(code: string): code is CastCode {
  return CODES.includes(code);
}

/** The reason why the data of an event is invalid; undefined if it is valid. */
function problemOf(code: CastCode, data: string): string | undefined {
  switch (code) {
    case "r":
      return isSize(data) ? undefined : "it names no size of a terminal";
    case "h": {
      if (isTooDeep(data)) return "it is nested too deeply";
      const input = inputSchema.safeParse(parseJson(data));
      return input.success ? undefined : `it is no input of a session (${issueOf(input.error)})`;
    }
    case "d":
      if (isTooDeep(data)) return "it is nested too deeply";
      return effectSchema.safeParse(parseJson(data)).success
        ? undefined
        : "it is no effect of a session";
    default:
      return undefined;
  }
}

function isSize(text: string): boolean {
  const [, cols, rows] = SIZE.exec(text) ?? [];
  return Math.max(Number(cols), Number(rows)) <= LARGEST_SIDE;
}

/** The first issue of a schema, with its place. */
function issueOf({ issues: [issue] }: z.core.$ZodError): string {
  const place = issue?.path.join(".") ?? "";
  return place === "" ? issue?.message ?? "" : `${place}: ${issue?.message}`;
}

/** A recorded effect. */
const effectSchema: z.ZodMiniType<
  {
    readonly type:
      | "look"
      | "answer"
      | "deliver"
      | "mcp-message"
      | "consult"
      | "kill"
      | "list-shells"
      | "follow-shell"
      | "leave-shell"
      | "report"
      | "end";
  }
> = z
  .discriminatedUnion("type", [
    z.looseObject({ type: z.literal("look") }),
    z.looseObject({ type: z.literal("answer"), id: z.string() }),
    z.looseObject({ type: z.literal("deliver"), prompt: z.string() }),
    z.looseObject({ type: z.literal("mcp-message"), server: z.string() }),
    z.looseObject({ type: z.literal("consult"), request: z.looseObject({ id: z.string() }) }),
    z.looseObject({ type: z.literal("follow-shell"), id: z.string() }),
    z.looseObject({ type: z.literal("leave-shell"), id: z.string() }),
    z.looseObject({ type: z.literal("kill"), signal: z.string(), tree: z.boolean() }),
    z.looseObject({ type: z.literal("list-shells") }),
    z.looseObject({
      type: z.literal("report"),
      report: z.looseObject({ exitCode: z.number() }),
    }),
    z.looseObject({ type: z.literal("end"), ending: z.looseObject({ kind: z.string() }) }),
  ]);
