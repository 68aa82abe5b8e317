import { createHash } from "node:crypto";
import { isJsonObject } from "../../json_object.ts";
import type { ExchangeRequest } from "./exchange.ts";

/** Which requests are taken for one. */
export type Match = "exact" | "normalized" | "sequence";

/** The key of a request: SHA-256 of its method, path and body, in hexadecimal digits. */
export function keyOf({ method, path, body }: ExchangeRequest): string {
  return createHash("sha256").update(`${method} ${path}\n`).update(body).digest("hex");
}

/**
 * The body of a request as a text without what is another in each run.
 *
 * @param ignored places of the JSON that do not count, as JSON pointers (RFC 6901); nor does what holds nothing else
 */
export function normalizedBody(body: Uint8Array, ignored: readonly string[]): string {
  const text = new TextDecoder().decode(body);
  return maskVarying(ignored.length === 0 ? text : removePointers(text, ignored));
}

function removePointers(text: string, pointers: readonly string[]): string {
  try {
    const value: unknown = JSON.parse(text);
    for (const pointer of pointers) remove(value, namesOf(pointer));
    return JSON.stringify(value);
  } catch {
    return text;
  }
}

/** The names in a JSON pointer. */
function namesOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Removes a place, and each object that then holds nothing: where the place is absent, so may be what would hold it. */
function remove(holder: unknown, [name, ...names]: readonly string[]): void {
  if (typeof holder !== "object" || holder === null) return;
  if (name === undefined || !Object.hasOwn(holder, name)) return;
  const fields = holder as Record<string, unknown>;
  const held = fields[name];
  remove(held, names);
  const isNothing = isJsonObject(held) && Object.keys(held).length === 0;
  if (names.length === 0 || isNothing) delete fields[name];
}

/** Names a place in JSON as a pointer. */
function pointerOf(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** What is another in each run of Claude Code though it asks the same. */
interface Mask {
  readonly what: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** Where a word begins, in JSON too, where a line feed ends in a letter. */
const WORD_START = String.raw`(?:\b|(?<=\\[bfnrt]))`;

/** A hexadecimal digit; V8 takes twice as long where it is to look past their case by itself. */
const HEX = String.raw`[\da-fA-F]`;

/** Characters with which a word begins: V8 finds them four times as fast where it is asked for them first. */
function startingWith(begin: string): string {
  return `${begin}(?<=${WORD_START}${begin})`;
}

const DATE_IN_WORDS = new RegExp(
  String.raw`${WORD_START}(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?` +
    String
      .raw`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} (?:\d{1,2},? )?\d{4}\b`,
  "gu",
);
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"'`\\<>()[\]{},;:|]+/gu;

/** All that `--match normalized` looks past, in this order. */
export const MASKS: readonly Mask[] = [
  {
    what: "the line with which Claude Code says what it is",
    pattern: /x-anthropic-billing-header:[^"\\]*/gu,
    replacement: "x-anthropic-billing-header",
  },
  {
    what: "whether thoughts are shown, which follows from the format of the output",
    pattern: /"display":"(?<="thinking":\{"type":"[a-z]{1,20}","display":")[a-z]{1,20}"/gu,
    replacement: '"display":"<display>"',
  },
  {
    what: "ids of sessions and of anything else that is a UUID",
    pattern: new RegExp(
      String.raw`${startingWith(`${HEX}{3}`)}${HEX}{5}(?:-${HEX}{4}){3}-${HEX}{12}\b`,
      "gu",
    ),
    replacement: "<id>",
  },
  {
    what: "ids of machines and other hashes of 64 digits",
    pattern: new RegExp(String.raw`${startingWith(`${HEX}{3}`)}${HEX}{61}\b`, "gu"),
    replacement: "<hash>",
  },
  {
    what: "times and dates",
    pattern: new RegExp(
      String.raw`${startingWith(String.raw`\d`)}\d{3}-\d\d-\d\d` +
        String.raw`(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
      "gu",
    ),
    replacement: "<date>",
  },
  {
    what: "dates in words",
    pattern: DATE_IN_WORDS,
    replacement: "<date>",
  },
  {
    what: "how long something took, as a tool tells it",
    pattern: /(?<=duration_ms\W{1,4})\d{1,15}/gu,
    replacement: "<ms>",
  },
  {
    what: "ids of tasks in the background and of subagents",
    pattern: /(?<=(?:agentId: |with ID: |with to: '|task-id>|tasks\/))[ab][\da-z]{8,16}\b/gu,
    replacement: "<task>",
  },
  {
    what: "ports of this machine",
    pattern: /(?<=(?:127\.0\.0\.1|localhost|\[::1\]):)\d{1,5}\b/gu,
    replacement: "<port>",
  },
  {
    what: "the folder of a project's sessions",
    pattern: /(?<=\/projects\/)-[\w-]+/gu,
    replacement: "<project>",
  },
  {
    what: "temporary folders and what is in them",
    pattern: TEMPORARY,
    replacement: "<temp>",
  },
  {
    what: "what follows the three numbers of a version",
    pattern: /(?<=(?<![\d.])\d{1,4}\.\d{1,4}\.\d{1,6})[.-][\da-f]{3,40}\b/gu,
    replacement: "",
  },
];

/** What of these is of another length in another run, and can be told without what stands beside it. */
export const VARIABLE_LENGTH = new RegExp(
  [DATE_IN_WORDS, TEMPORARY].map(({ source }) => `(?:${source})`).join("|"),
  "gu",
);

/** A text without what is another in each run. */
export function maskVarying(text: string): string {
  return MASKS.reduce(
    (rest, { pattern: words, replacement: stands }) => rest.replace(words, stands),
    text,
  );
}

/** Where two texts of JSON differ first. */
export interface Difference {
  /** The place as a JSON pointer; empty for the whole, as for what is no JSON. */
  readonly pointer: string;
  /** What stands there on either side, in short; undefined for nothing. */
  readonly recorded: string | undefined;
  readonly asked: string | undefined;
}

/** Most characters of a value that are told, and how many of them stand ahead of where two texts part. */
const MAX_SHOWN = 120;
const CONTEXT = 30;

/** How deep a place may be that is named. */
const DEEPEST = 100;

/** The first place where two texts differ, in the order of the one that was recorded; undefined where they do not. */
export function firstDifference(recorded: string, asked: string): Difference | undefined {
  if (recorded === asked) return undefined;
  const left: Pair[] = [{ names: [], one: parsed(recorded), other: parsed(asked) }];
  for (let pair = left.pop(); pair !== undefined; pair = left.pop()) {
    const { names, one, other } = pair;
    if (one === other) continue;
    const isLast = names.length === DEEPEST || !isContainer(one) || !isContainer(other) ||
      Array.isArray(one) !== Array.isArray(other);
    if (isLast) {
      return { pointer: pointerOf(names), ...shortValues(one, other) };
    }
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    for (const key of keys.toReversed()) {
      left.push({ names: [...names, key], one: at(one, key), other: at(other, key) });
    }
  }
  // The order of keys, or white space.
  return { pointer: "", ...shortValues(recorded, asked) };
}

interface Pair {
  readonly names: readonly string[];
  readonly one: unknown;
  readonly other: unknown;
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function at(holder: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function shortValues(one: unknown, other: unknown): Omit<Difference, "pointer"> {
  const [recorded, asked] = [shown(one), shown(other)];
  const from = recorded === undefined || asked === undefined
    ? 0
    : Math.max(0, commonLength(recorded, asked) - CONTEXT);
  return { recorded: cut(recorded, from), asked: cut(asked, from) };
}

function shown(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is too deep";
  }
}

function cut(text: string | undefined, from: number): string | undefined {
  if (text === undefined) return undefined;
  const part = text.slice(from, from + MAX_SHOWN);
  return `${from > 0 ? "…" : ""}${part}${from + MAX_SHOWN < text.length ? "…" : ""}`;
}

/** How many characters two texts have in common at their beginning. */
export function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
