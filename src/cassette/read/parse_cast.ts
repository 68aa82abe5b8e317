import { z } from "zod/mini";
import { LARGEST_SIDE } from "../../session/terminal/screen.ts";
import type { Cast, CastCode, CastEvent } from "../cast.ts";
import { damagedLine, parseLines } from "./parse_lines.ts";
import { headerSchema } from "./header_schema.ts";
import { inputSchema } from "./input_schema.ts";
import { isTooDeep } from "../../wire/json_text.ts";
import { isJsonObject } from "../../transcript/json_object.ts";

const CODES: readonly string[] = ["o", "i", "r", "m", "x", "h", "d"] satisfies readonly CastCode[];
/** Codes of the first recordings, one of which has another meaning by now. */
const FIRST_CODES: ReadonlyMap<string, CastCode> = new Map([["x", "h"], ["y", "d"]]);
const SIZE = /^([1-9]\d{0,3})x([1-9]\d{0,3})$/u;
/** No run lasts 30 years; larger numbers are not exact, or none. */
const LATEST_MS = 1e12;

const eventSchema = z.tuple([z.number(), z.string(), z.string()]);

/**
 * Reads the text of a cast's file.
 *
 * @param options.path the file, for errors
 * @throws {CliError} when a line is not what it has to be, with its number
 */
export function parseCast(text: string, options: { readonly path: string }): Cast {
  const { path } = options;
  const [first, ...rest] = parseLines(text, { path });
  if (first === undefined) throw damagedLine(1, { path, what: "the header is missing" });
  const header = headerSchema.safeParse(first);
  if (!header.success) {
    const isForeign = isJsonObject(first) && !("claude_print" in first);
    throw damagedLine(1, {
      path,
      what: isForeign
        ? "it was not recorded by claude-print"
        : `it is no header (${issueOf(header.error)})`,
    });
  }
  const isFirst = header.data.claude_print.output === undefined;
  let last = 0;
  const events = rest.flatMap((value, index): readonly CastEvent[] => {
    const line = index + 2;
    const event = eventSchema.safeParse(value);
    if (!event.success) throw damagedLine(line, { path, what: "it is no event of a cast" });
    const [seconds, code, data] = event.data;
    const at = Math.round(seconds * 1e6) / 1e3;
    if (!(at >= last)) {
      throw damagedLine(line, { path, what: "it is earlier than the line before" });
    }
    if (at > LATEST_MS) throw damagedLine(line, { path, what: "it is later than any run lasts" });
    last = at;
    const meant = isFirst ? FIRST_CODES.get(code) ?? code : code;
    if (!isKnown(meant)) return [];
    const wrong = problemOf(meant, data);
    if (wrong !== undefined) throw damagedLine(line, { path, what: wrong });
    return [{ at, code: meant, data }];
  });
  return { header: header.data, events };
}

function isKnown(code: string): code is CastCode {
  return CODES.includes(code);
}

/** Why the data of an event cannot be used, if it cannot. */
function problemOf(code: CastCode, data: string): string | undefined {
  switch (code) {
    case "r":
      return isSize(data) ? undefined : "it names no size of a terminal";
    case "h": {
      if (isTooDeep(data)) return "it is nested too deeply";
      const input = inputSchema.safeParse(parsedJson(data));
      return input.success ? undefined : `it is no input of a session (${issueOf(input.error)})`;
    }
    case "d":
      if (isTooDeep(data)) return "it is nested too deeply";
      return effectSchema.safeParse(parsedJson(data)).success
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

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first thing that a schema found wrong, by its place. */
function issueOf({ issues: [issue] }: z.core.$ZodError): string {
  const place = issue?.path.join(".") ?? "";
  return place === "" ? issue?.message ?? "" : `${place}: ${issue?.message}`;
}

/** An effect of the session machine as an event of a cast holds it. */
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
