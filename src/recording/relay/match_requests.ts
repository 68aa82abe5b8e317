import { createHash } from "node:crypto";
import { isJsonObject } from "../../json_object.ts";
import type { ExchangeRequest } from "./exchange.ts";

/** When two requests count as equal. */
export type Match = "exact" | "normalized" | "sequence";

/** Returns the key of a request: the SHA-256 of its method, path and body, in hexadecimal digits. */
export function keyOf({ method, path, body }: ExchangeRequest): string {
  return createHash("sha256").update(`${method} ${path}\n`).update(body).digest("hex");
}

/**
 * Returns the body of a request without values that differ in each run.
 *
 * @param ignored JSON pointers (RFC 6901) to values that are removed, together with objects that become empty
 */
export function normalizedBody(body: Uint8Array, ignored: readonly string[]): string {
  const text = new TextDecoder().decode(body);
  return maskVarying(ignored.length === 0 ? text : removePointers(text, ignored));
}

function removePointers(text: string, pointers: readonly string[]): string {
  try {
    const value: unknown = JSON.parse(text);
    for (const pointer of pointers) removeValue(value, splitPointer(pointer));
    return JSON.stringify(value);
  } catch {
    return text;
  }
}

/** Splits a JSON pointer. */
function splitPointer(pointer: string): readonly string[] {
  return pointer.split("/").slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Removes a value, and each object that becomes empty, because a request without the value also lacks the object. */
function removeValue(container: unknown, [name, ...names]: readonly string[]): void {
  if (typeof container !== "object" || container === null) return;
  if (name === undefined || !Object.hasOwn(container, name)) return;
  const fields = container as Record<string, unknown>;
  const value = fields[name];
  removeValue(value, names);
  const isNothing = isJsonObject(value) && Object.keys(value).length === 0;
  if (names.length === 0 || isNothing) delete fields[name];
}

/** Returns a JSON pointer. */
function pointerOf(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A part of a request that differs in each run of Claude Code, although the request has the same meaning. */
interface Mask {
  readonly what: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** The start of a word. In JSON it may follow an escape such as `\n`, which ends in a letter. */
const WORD_START = String.raw`(?:\b|(?<=\\[bfnrt]))`;

/** A hexadecimal digit. With the `i` flag, V8 takes twice as long. */
const HEX = String.raw`[\da-fA-F]`;

/**
 * Matches the first characters of a word. V8 finds them four times as fast if they come before the check for the
 * start of the word.
 */
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

/** The parts that `--match normalized` ignores, in this order. */
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
    what: "durations that tools report",
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
    what: "in a version, everything after its three numbers",
    pattern: /(?<=(?<![\d.])\d{1,4}\.\d{1,4}\.\d{1,6})[.-][\da-f]{3,40}\b/gu,
    replacement: "",
  },
];

/** Masks whose matches vary in length, and that are recognised without context. */
export const VARIABLE_LENGTH = new RegExp(
  [DATE_IN_WORDS, TEMPORARY].map(({ source }) => `(?:${source})`).join("|"),
  "gu",
);

/** Replaces every part that differs in each run. */
export function maskVarying(text: string): string {
  return MASKS.reduce(
    (rest, { pattern: words, replacement: stands }) => rest.replace(words, stands),
    text,
  );
}

/** The first difference between two JSON texts. */
export interface Difference {
  /** A JSON pointer; empty for the whole text, or if it is not JSON. */
  readonly pointer: string;
  /** The values on both sides, shortened; undefined for none. */
  readonly recorded: string | undefined;
  readonly asked: string | undefined;
}

/** The maximum number of shown characters of a value, and the number of them before the difference. */
const MAX_SHOWN = 120;
const CONTEXT = 30;

/** The maximum depth that is compared field by field. */
const DEEPEST = 100;

/** Returns the first difference of two texts, in the order of the recorded text; undefined if they are equal. */
export function firstDifference(recorded: string, asked: string): Difference | undefined {
  if (recorded === asked) return undefined;
  const left: Pair[] = [{ names: [], one: parseIfJson(recorded), other: parseIfJson(asked) }];
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
  // The texts differ only in white space or the order of keys.
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

function at(container: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function shortValues(one: unknown, other: unknown): Omit<Difference, "pointer"> {
  const [recorded, asked] = [tryStringify(one), tryStringify(other)];
  const from = recorded === undefined || asked === undefined
    ? 0
    : Math.max(0, commonLength(recorded, asked) - CONTEXT);
  return { recorded: excerpt(recorded, from), asked: excerpt(asked, from) };
}

function tryStringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is too deep";
  }
}

function excerpt(text: string | undefined, from: number): string | undefined {
  if (text === undefined) return undefined;
  const part = text.slice(from, from + MAX_SHOWN);
  return `${from > 0 ? "…" : ""}${part}${from + MAX_SHOWN < text.length ? "…" : ""}`;
}

/** Returns the length of the common beginning of two texts. */
export function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
